package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

var errIdle = errors.New("the stream was silent for too long")

// stream reads one response of the model at a time: it builds the message, sends the chunks to the
// caller, and starts each call as soon as its arguments are complete. It belongs to the loop's
// goroutine. Its words, each with one meaning:
//
//   - read takes a whole stream in, take one chunk of it.
//   - lookUp sends what was posted meanwhile and ends the stream of a cancelled run.
//   - breakOff ends the stream for a reason.
//   - retract tells the caller that what it saw of the response is void.
//   - salvage makes a message of what arrived before the stream broke.
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
}

// reset prepares for the response of a step.
func (s *stream) reset(step int) {
	s.batch.reset()
	s.builder.reset(step, s.cfg.NewID)
}

// read takes in a stream to its end and starts the calls that are left.
func (s *stream) read(ctx context.Context, chunks iter.Seq2[Chunk, error]) (*Response, error) {
	b := &s.builder
	b.maxArgs = s.cfg.Limits.ArgBytes
	s.size, s.maxSize, s.broken = 0, s.cfg.Limits.ResponseBytes, nil
	if s.maxSize < 0 {
		s.maxSize = math.MaxInt
	}
	chunks(s.onChunk)
	s.out.flush() // what routers did comes before what becomes of the answer
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
	if s.out.waiting.Load() && s.broken == nil && !s.lookUp() { // such as the routing that this chunk is the outcome of
		return false
	}
	if err != nil {
		return s.breakOff(err)
	}
	s.watch.alive()
	b := &s.builder
	if d, ok := chunk.(TextDelta); ok && b.open == openText && !b.ended { // by far the most common
		b.text.add(d.Text)
		s.size += len(d.Text) + 1 // a chunk counts even when it is empty: an endless stream of them must end
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

// breakOff ends the stream for a reason, the first one. What a model yields all the same is too
// much from now on, and closed to the response.
func (s *stream) breakOff(why error) bool {
	if s.broken == nil {
		s.broken = why
	}
	s.maxSize, s.builder.ended = -1, true
	return false
}

// addChunk adds any chunk to the response and starts the call it completes. It returns the chunk to
// send on, or nil.
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
		if c.id != start.ID { // the event must carry the id that the result will
			start.ID = c.id
			chunk = start
		}
	} else if done != nil {
		s.start(done)
	}
	return chunk
}

// start runs a call whose arguments are complete. One with too many of them is answered without.
func (s *stream) start(c *callBuilder) {
	if c.over {
		s.batch.refuse(c, fmt.Sprintf("The arguments are %d bytes long; at most %d are accepted, so the call was not run and they were dropped. Send less at a time.", c.size, s.cfg.Limits.ArgBytes))
		return
	}
	go s.invoker.run(s.batch.ready(c))
}

// startRest starts, at the end of a response, the calls that were not started while it streamed. A
// call that the output limit cut is answered without being run.
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

// maxCalls is how many calls one response may hold; a model that asks for more is broken, and each
// costs a goroutine.
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

// typed gives an error of the stream its type; a stream cut by the watchdog is a timeout.
func (s *stream) typed(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) && s.ctx.Err() == nil {
		return &ModelError{Kind: ErrTimeout, Err: fmt.Errorf("%w: no chunk for %s", errIdle, s.cfg.Retry.IdleTimeout)}
	}
	return AsModelError(err)
}

// retract declares void what the caller saw of the response, if it saw any.
func (s *stream) retract() {
	if len(s.builder.parts) > 0 || s.builder.open != openNone {
		s.out.send(StreamReset{})
	}
}

// salvage keeps what arrived of a response that broke after some of its calls began: whole text,
// signed thinking and the calls that were complete. The model sees their results and goes on from
// there.
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
