package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

var errIdle = errors.New("the stream was silent for too long")

// stream reads the model's responses, one at a time: it builds the message, sends the chunks to the
// caller, and starts each call as soon as its arguments are complete. It belongs to the loop's
// goroutine. Each of its verbs has one meaning:
//
//   - read processes a whole stream, take one chunk of it.
//   - lookUp sends what was posted meanwhile and ends the stream of a cancelled run.
//   - breakOff ends the stream for a reason.
//   - retract tells the caller that what it received of the response is void.
//   - salvage builds a message from what arrived before the stream broke.
type stream struct {
	ctx     context.Context // of the run
	cfg     *Config
	batch   *batch
	invoker *invoker
	out     *mailbox
	watch   *watchdog

	builder responseBuilder
	onChunk func(Chunk, error) bool // take, bound once
	size    int                     // bytes of the response so far
	maxSize int
	broken  error // what ended the stream early
	unsent  bool  // the model says that it did not send the request
}

// reset prepares for the response of a step.
func (s *stream) reset(step int) {
	s.batch.reset()
	s.builder.reset(step, s.batch.tools, s.cfg.NewID)
}

// read processes a stream to its end and starts the remaining calls.
func (s *stream) read(ctx context.Context, chunks iter.Seq2[Chunk, error]) (*Response, error) {
	b := &s.builder
	b.maxArgs = s.cfg.Limits.ArgBytes
	s.size, s.maxSize, s.broken, s.unsent = 0, s.cfg.Limits.ResponseBytes, nil, false
	if s.maxSize < 0 {
		s.maxSize = math.MaxInt
	}
	chunks(s.onChunk)
	s.out.flush() // reports of routers are sent before the outcome of the answer
	if s.broken != nil {
		return nil, s.typed(ctx, s.broken)
	}
	if err := b.complete(ctx); err != nil {
		return nil, s.typed(ctx, err)
	}
	s.startRest()
	return b.response(), nil
}

// take is the body of the loop over a stream.
func (s *stream) take(chunk Chunk, err error) bool {
	if err != nil {
		s.unsent = notSent(err)
	}
	if s.out.waiting.Load() && s.broken == nil && !s.lookUp() { // for example the Routing event that led to this chunk
		return false
	}
	if err != nil {
		return s.breakOff(err)
	}
	s.watch.alive()
	b := &s.builder
	if d, ok := chunk.(TextDelta); ok && b.open == openText && !b.ended { // by far the most common case
		b.text.add(d.Text)
		s.size += len(d.Text) + 1 // a chunk counts even if it is empty: an endless stream of empty chunks must end
	} else if chunk = s.addChunk(chunk); chunk == nil && s.size <= s.maxSize {
		return !s.out.waiting.Load() || s.lookUp()
	}
	if s.size > s.maxSize {
		return s.breakOff(&ModelError{Kind: ErrInvalid, Err: fmt.Errorf("the response is longer than Config.Limits.ResponseBytes (%d)", s.maxSize)})
	}
	if !s.out.send(chunk) {
		return s.breakOff(errLeft)
	}
	return !s.out.waiting.Load() || s.lookUp()
}

// lookUp sends what was posted and ends the stream of a model that ignores its context.
func (s *stream) lookUp() bool {
	s.out.flush()
	if s.ctx.Err() != nil {
		return s.breakOff(context.Cause(s.ctx))
	}
	return true
}

// breakOff ends the stream; only the first reason counts. Anything that the model still yields
// afterwards is ignored.
func (s *stream) breakOff(why error) bool {
	if s.broken == nil {
		s.broken = why
	}
	s.maxSize, s.builder.ended = -1, true
	return false
}

// addChunk adds any chunk to the response and starts the call it completes. It returns the chunk to
// pass on, or nil.
func (s *stream) addChunk(chunk Chunk) Chunk {
	b := &s.builder
	s.size += chunkSize(chunk) + 1
	if b.ended && isContent(chunk) {
		return nil // after Finish only a late Usage counts
	}
	n := len(b.calls)
	done := b.add(chunk)
	if len(b.calls) > maxCalls {
		s.breakOff(&ModelError{Kind: ErrInvalid, Err: fmt.Errorf("the response asks for more than %d tool calls", maxCalls)})
		return nil
	}
	if _, ok := chunk.(ToolCallDelta); ok && len(b.calls) > n { // arguments of a call that never started
		c := &b.calls[n]
		s.batch.announce(c, b.step)
		s.out.send(ToolCallStart{Index: c.index, ID: c.id, Name: c.name})
	}
	if start, ok := chunk.(ToolCallStart); ok {
		c := &b.calls[len(b.calls)-1]
		s.batch.announce(c, b.step)
		if c.id != start.ID || c.name != start.Name { // the event must have the same id and name as the history
			start.ID, start.Name = c.id, c.name
			chunk = start
		}
	} else if done != nil {
		s.start(done)
	}
	return chunk
}

// start runs a call whose arguments are complete. If the arguments are too long, the call is
// answered without running.
func (s *stream) start(c *callBuilder) {
	if c.over {
		s.batch.refuse(c, fmt.Sprintf("The arguments are %d bytes long; at most %d are accepted, so the call was not run and they were dropped. Send less at a time.", c.size, s.cfg.Limits.ArgBytes))
		return
	}
	go s.invoker.run(s.batch.ready(c))
}

// startRest starts, at the end of a response, the calls that were not started while it streamed. A
// call that was cut off by the output limit is answered without running.
func (s *stream) startRest() {
	b := &s.builder
	for i := range b.calls {
		c := &b.calls[i]
		if c.taken {
			continue
		}
		if c.truncated() || (b.finish == FinishLength && !c.scan.Complete() && !c.over) {
			where := ""
			if b.finish == FinishLength {
				where = " at the output limit"
			}
			s.batch.refuse(c, "The arguments were cut off"+where+", so the call was not run. Send it again in smaller pieces, such as several edits instead of one large write.")
			continue
		}
		s.start(c)
	}
}

// maxCalls is the maximum number of calls in one response. A model that requests more is broken,
// and each call costs a goroutine.
const maxCalls = 4096

func isContent(c Chunk) bool { _, usage := c.(Usage); return !usage }

func chunkSize(c Chunk) int {
	switch c := c.(type) {
	case TextDelta:
		return len(c.Text)
	case ToolCallDelta:
		return len(c.Args)
	case ThinkingDelta:
		return len(c.Text) + len(c.Signature) + len(c.Redacted)
	case Opaque:
		return len(c.Data)
	case ToolCallStart:
		return 64 + len(c.ID) + len(c.Name)
	}
	return 64
}

// typed converts an error of the stream to its type; a stream ended by the watchdog is a timeout.
func (s *stream) typed(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) && s.ctx.Err() == nil {
		return &ModelError{Kind: ErrTimeout, Err: fmt.Errorf("%w: no chunk for %s", errIdle, s.cfg.Retry.IdleTimeout)}
	}
	return AsModelError(err)
}

// retract sends a [StreamReset] if the caller received anything of the response.
func (s *stream) retract() {
	if len(s.builder.parts) > 0 || s.builder.open != openNone {
		s.out.send(StreamReset{})
	}
}

// salvage keeps what arrived of a response that broke after some of its calls began: complete text,
// signed thinking and complete calls. The model sees their results and continues from there.
func (s *stream) salvage() *Response {
	resp := s.builder.response()
	var parts []Part
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case Thinking:
			if p.Signature == "" && p.Redacted == nil {
				continue
			}
		case ToolCall:
			if !s.batch.holds(p.ID) {
				continue
			}
		}
		parts = append(parts, p)
	}
	resp.Message.Parts = parts
	resp.Finish = FinishTools
	s.batch.dropArriving()
	return resp
}
