package agenttest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// streamed is the outcome of one stream.
type streamed struct {
	chunks   []agent.Chunk
	response *agent.Response
	fault    error // a violated rule of the contract
}

// stream runs one request and checks the rules that apply to every stream. The returned error is
// the model's.
func stream(ctx context.Context, m agent.Model, req *agent.Request) (*streamed, error) {
	before := cloneRequest(req)
	got := &streamed{}
	var rules streamRules
	tap := agent.ModelFunc(func(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			for c, err := range m.Stream(ctx, req) {
				rules.see(c, err)
				if err == nil {
					got.chunks = append(got.chunks, c)
				}
				if !yield(c, err) {
					return
				}
			}
		}
	})
	resp, err := agent.Generate(ctx, tap, req)
	got.response = resp
	got.fault = rules.fault
	if diff := cmp.Diff(before, req); diff != "" {
		got.fault = errors.Join(got.fault, fmt.Errorf("the model changed the request (-before +after):\n%s", clip(diff)))
	}
	return got, err
}

// streamRules checks a stream while it is read.
type streamRules struct {
	fault    error
	started  []int
	ids      []string
	finished bool
	failed   bool
}

func (r *streamRules) see(c agent.Chunk, err error) {
	switch {
	case r.fault != nil:
	case r.failed:
		r.fault = errors.New("the stream went on after an error")
	case err != nil:
		r.failed = true
		if me := (*agent.ModelError)(nil); !errors.As(err, &me) {
			r.fault = fmt.Errorf("the stream's error is a %T, want a *agent.ModelError: %w", err, err)
		}
	case r.finished:
		r.fault = fmt.Errorf("the stream went on after Finish with %#v", c)
	default:
		r.fault = r.chunk(c)
	}
}

func (r *streamRules) chunk(c agent.Chunk) error {
	switch c := c.(type) {
	case nil:
		return errors.New("the stream holds a nil chunk")
	case agent.ToolCallStart:
		if slices.Contains(r.started, c.Index) {
			return fmt.Errorf("call index %d is started twice", c.Index)
		}
		if c.ID == "" || slices.Contains(r.ids, c.ID) {
			return fmt.Errorf("call id %q is empty or used twice", c.ID)
		}
		if c.Index != len(r.started) {
			return fmt.Errorf("call index %d does not follow %v", c.Index, r.started)
		}
		r.started, r.ids = append(r.started, c.Index), append(r.ids, c.ID)
	case agent.ToolCallDelta:
		if !slices.Contains(r.started, c.Index) {
			return fmt.Errorf("arguments for call index %d, which was not started", c.Index)
		}
	case agent.Finish:
		r.finished = true
		if c.Reason == "" {
			return errors.New("the finish has no reason")
		}
	}
	return nil
}

// cloneRequest copies a request and all the slices in it.
func cloneRequest(r *agent.Request) *agent.Request {
	c := *r
	c.Messages = slices.Clone(r.Messages)
	for i := range c.Messages {
		c.Messages[i].Parts = cloneParts(c.Messages[i].Parts)
	}
	c.Tools = slices.Clone(r.Tools)
	for i := range c.Tools {
		c.Tools[i].Schema = slices.Clone(c.Tools[i].Schema)
	}
	c.Stop = slices.Clone(r.Stop)
	return &c
}

func cloneParts(parts []agent.Part) []agent.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		switch p := p.(type) {
		case agent.Image:
			p.Data = slices.Clone(p.Data)
			out[i] = p
		case agent.Thinking:
			p.Redacted = slices.Clone(p.Redacted)
			out[i] = p
		case agent.ToolCall:
			p.Args = slices.Clone(p.Args)
			out[i] = p
		case agent.ToolResult:
			p.Parts = cloneParts(p.Parts)
			out[i] = p
		case agent.Opaque:
			p.Data = slices.Clone(p.Data)
			out[i] = p
		}
	}
	return out
}
