package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
)

// Sampler is a model that forwards requests and keeps some of those that ask for an edit, for
// [Decode].
type Sampler struct {
	agent.Model
	Keep int // maximum number of requests; 0 means 40

	mu   sync.Mutex
	seen map[string]bool
	kept []*agent.Request
}

// Stream implements [agent.Model].
func (s *Sampler) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	if len(req.Extra["beam"]) > 0 {
		s.keep(req)
	}
	return s.Model.Stream(ctx, req)
}

// Tokenize calls the model's tokenizer so that the harness can count prompt tokens. It returns nil
// if the model has none.
func (s *Sampler) Tokenize(text string, special bool) []int32 {
	if t, ok := s.Model.(harness.Counter); ok {
		return t.Tokenize(text, special)
	}
	return nil
}

// Search calls the model's Search.
func (s *Sampler) Search(ctx context.Context, req *agent.Request) (*moe.Search, error) {
	m, ok := s.Model.(harness.Searcher)
	if !ok {
		return nil, fmt.Errorf("measure: search: the model has no list of answers: %w", errors.ErrUnsupported)
	}
	s.keep(req)
	return m.Search(ctx, req)
}

// keep keeps the first request about a function at a point where an edit may be made.
func (s *Sampler) keep(req *agent.Request) {
	var edit bool
	for _, t := range req.Tools {
		edit = edit || t.Name == repair.ToolEdit
	}
	if !edit {
		return
	}
	last := ""
	for _, m := range req.Messages {
		if m.Role == agent.RoleTool {
			last = fmt.Sprint(m.Parts)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.Keep
	if limit == 0 {
		limit = 40
	}
	if s.seen[last] || len(s.kept) >= limit {
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[last] = true
	r := *req
	r.Extra = maps.Clone(req.Extra)
	delete(r.Extra, "beam") // use greedy decoding, for which drafts are made
	delete(r.Extra, "avoid_calls")
	s.kept = append(s.kept, &r)
}

// Requests returns the requests that were kept.
func (s *Sampler) Requests() []*agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

// Metered is a model that reports statistics of its drafts, as *moe.Model does.
type Metered interface {
	agent.Model
	EachMetric(emit func(name, help string, counter bool, labels map[string]string, value float64))
}

// Speed is a model's answering speed.
type Speed struct {
	Answers, Tokens   int64
	Took              time.Duration // time for the answers, measured from the first token; their prompts were computed before
	FreeTokens        int64         // tokens of text that no grammar constrains
	FreeTook          time.Duration
	Drafted, Accepted float64
}

// Decoding compares a model with drafts and without.
type Decoding struct {
	With, Without Speed
	Same          int // number of answers, of With.Answers, that are identical
}

// Decode answers requests with both models, one after the other.
func Decode(ctx context.Context, with, without Metered, requests []*agent.Request) (*Decoding, error) {
	d := &Decoding{}
	a, err := d.With.measure(ctx, with, requests)
	if err != nil {
		return nil, err
	}
	b, err := d.Without.measure(ctx, without, requests)
	if err != nil {
		return nil, err
	}
	for i := range a {
		if a[i] == b[i] {
			d.Same++
		}
	}
	return d, nil
}

// measure answers requests twice and times the second answer, whose prompt is in the cache.
func (s *Speed) measure(ctx context.Context, m Metered, requests []*agent.Request) ([]string, error) {
	drafted, accepted := drafts(m)
	var answers []string
	free := &agent.Request{Messages: []agent.Message{agent.UserText("go on")}, MaxOutput: 300}
	for _, r := range append(requests[:len(requests):len(requests)], free) {
		for turn := range 2 {
			begin := time.Now()
			resp, err := agent.Generate(ctx, m, r)
			if err != nil {
				return nil, fmt.Errorf("measure: decode: %w", err)
			}
			took := time.Since(begin)
			switch {
			case turn == 0:
				text, err := json.Marshal(calls(resp))
				if err != nil {
					return nil, err
				}
				answers = append(answers, string(text))
			case r == free:
				s.FreeTokens, s.FreeTook = resp.Usage.Output, took
			default:
				s.Answers++
				s.Tokens += resp.Usage.Output
				s.Took += took
			}
		}
	}
	d, a := drafts(m)
	s.Drafted, s.Accepted = d-drafted, a-accepted
	return answers, nil
}

// calls returns the content of an answer, without the ids of its calls.
func calls(resp *agent.Response) []string {
	said := []string{resp.Message.Text()}
	for _, c := range resp.Message.Calls() {
		said = append(said, c.Name, string(c.Args))
	}
	return said
}

func drafts(m Metered) (drafted, accepted float64) {
	m.EachMetric(func(name, _ string, _ bool, _ map[string]string, value float64) {
		switch {
		case strings.HasSuffix(name, "_drafted_total"):
			drafted += value
		case strings.HasSuffix(name, "_accepted_total"):
			accepted += value
		}
	})
	return drafted, accepted
}
