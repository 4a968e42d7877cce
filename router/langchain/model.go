package langchain

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// model adapts a langchaingo model to agent.Model.
type model struct {
	llm         llms.Model
	traits      traits
	maxOutput   int
	callOptions []llms.CallOption
	edits       []func(*agent.Capabilities)
}

// Model returns llm as an [agent.Model]. Its Capabilities method declares what langchaingo cannot
// do, see [agent.CapabilitiesOf]. It is safe for concurrent use if llm is.
func Model(llm llms.Model, opts ...Option) agent.Model {
	m := &model{llm: llm, traits: traitsOf(llm)}
	for _, o := range opts {
		o(m)
	}
	return m
}

var errStopped = errors.New("langchain: the consumer left the stream")

// Stream sends req and yields the response. Every error is an [*agent.ModelError].
func (m *model) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if m.llm == nil {
			yield(nil, m.fail(agent.ErrInvalid, errors.New("the langchaingo model is nil; pass one to langchain.Model")))
			return
		}
		messages, options, err := m.request(req)
		if err != nil {
			yield(nil, err)
			return
		}
		if ctx.Err() != nil {
			yield(nil, m.failed(ctx, ctx.Err()))
			return
		}
		m.run(ctx, req, messages, options, yield)
	}
}

// run makes the call in its own goroutine and passes its chunks on, because some clients call back
// from a goroutine that is not the caller's. It returns when the call has ended.
func (m *model) run(ctx context.Context, req *agent.Request, messages []llms.MessageContent, options []llms.CallOption, yield func(agent.Chunk, error) bool) {
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &streaming{chunks: make(chan agent.Chunk), thinker: m.thinker()}
	if !m.traits.noStream && len(req.Tools) == 0 {
		options = append(options, s.options(callCtx)...)
	}
	var (
		res *llms.ContentResponse
		err error
	)
	go func() {
		defer close(s.chunks)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("langchaingo panicked: %v", p)
			}
		}()
		res, err = m.llm.GenerateContent(callCtx, messages, options...)
	}()
	left := false
	for c := range s.chunks {
		if !left && !yield(c, nil) {
			left = true
			cancel()
		}
	}
	if left {
		return
	}
	switch {
	case ctx.Err() != nil: // a cancelled stream may be reported as a success
		yield(nil, m.failed(ctx, ctx.Err()))
	case err != nil:
		yield(nil, m.failed(ctx, err))
	default:
		m.finish(req, res, s, yield)
	}
}

// streaming passes on what a client passes to its callbacks while a call runs.
type streaming struct {
	chunks  chan agent.Chunk
	thinker string // whose reasoning it is
	text    []byte // all text passed on so far
	think   int    // bytes of thinking passed on so far
}

// options returns the call options that make a client stream. The reasoning callback receives the
// text a second time, which is ignored.
func (s *streaming) options(ctx context.Context) []llms.CallOption {
	send := func(c agent.Chunk) error {
		select {
		case s.chunks <- c:
			return nil
		case <-ctx.Done():
			return errStopped
		}
	}
	return []llms.CallOption{
		llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			if len(chunk) == 0 {
				return nil
			}
			s.text = append(s.text, chunk...)
			return send(agent.TextDelta{Text: string(chunk)})
		}),
		llms.WithStreamingReasoningFunc(func(_ context.Context, reasoning, _ []byte) error {
			if len(reasoning) == 0 {
				return nil
			}
			s.think += len(reasoning)
			return send(agent.ThinkingDelta{Text: string(reasoning), Provider: s.thinker})
		}),
	}
}
