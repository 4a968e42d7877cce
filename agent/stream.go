package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

var errIdle = errors.New("the stream was silent for too long")

// ask sends the request until a response is complete, retrying what may be retried. A response whose tools began is
// never asked for again: what had arrived of it is kept instead.
func (r *run) ask() (*Response, error) {
	compacted := false
	for attempt := 0; ; attempt++ {
		resp, err := r.stream()
		if err == nil {
			r.failures = 0
			return resp, nil
		}
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		if r.hasBegun() {
			return r.salvage(err)
		}
		if r.watch.stalled {
			r.emit(StreamReset{})
			continue
		}
		me := AsModelError(err)
		if me.Kind == ErrContextLength && r.agent.cfg.Compactor != nil && !compacted {
			compacted = true
			if err := r.compact(r.overflowBudget()); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.backoff(me); err != nil {
			return nil, err
		}
		if len(r.builder.parts) > 0 || r.builder.open != openNone {
			r.emit(StreamReset{})
		}
	}
}

// backoff waits before the next attempt, or returns the error when there should be none.
func (r *run) backoff(me *ModelError) error {
	cfg := &r.agent.cfg.Retry
	r.failures++
	if !me.Kind.Retryable() || r.failures > cfg.Max || me.RetryAfter > cfg.MaxWait {
		return me
	}
	delay := min(cfg.Base<<min(r.failures-1, 20), cfg.Cap)
	delay = delay/2 + time.Duration(r.agent.cfg.Random()*float64(delay)/2)
	delay = max(delay, me.RetryAfter)
	r.emit(RetryWait{Attempt: r.failures, Delay: delay, Err: me})
	if r.left {
		return errLeft
	}
	return r.agent.cfg.Sleep(r.ctx, delay)
}

// stream sends the request once.
func (r *run) stream() (*Response, error) {
	r.clearBatch()
	r.fillRequest()
	if r.agent.handle == nil {
		return r.streamOnce(r.ctx, &r.req)
	}
	clone := r.req // middleware may change the request of this call, not of the next
	op := &Op{Session: r.session, Step: r.res.Steps + 1, Request: &clone}
	op.run = func(ctx context.Context, op *Op) (err error) {
		op.Response, err = r.streamOnce(ctx, op.Request)
		return err
	}
	if err := r.agent.handle(r.ctx, op); err != nil {
		return nil, err
	}
	if op.Response == nil {
		return nil, errors.New("agent: middleware returned without an error and without calling the model; call next")
	}
	return op.Response, nil
}

// fillRequest describes the next model call. Its slices are views: nothing of the history is copied.
func (r *run) fillRequest() {
	c := &r.agent.cfg
	r.req = Request{
		System: c.System, Messages: r.session.Messages(), Tools: r.toolset.specs,
		Output: c.Output, MaxOutput: c.MaxOutput, Temperature: c.Temperature, Stop: c.Stop,
		Effort: c.Effort, Seed: c.Seed, Purpose: c.Purpose, SessionID: r.session.meta.ID, Epoch: r.session.Epoch(),
	}
	if r.plan {
		r.req.Purpose = PurposePlan
		r.req.System = planSystem(c.System)
	}
}

// streamOnce reads one stream to its end. It is what middleware wraps.
func (r *run) streamOnce(ctx context.Context, req *Request) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.watch.watch(r.agent.cfg.Retry.IdleTimeout, cancel)
	defer r.watch.unwatch()

	b := &r.builder
	b.reset(r.res.Steps + 1)
	r.size, r.maxSize, r.broken = 0, r.agent.cfg.Limits.ResponseBytes, nil
	if r.maxSize < 0 {
		r.maxSize = math.MaxInt
	}
	r.agent.cfg.Model.Stream(ctx, req)(r.onChunk)
	if r.broken != nil {
		return nil, r.streamError(ctx, r.broken)
	}
	if err := b.complete(ctx); err != nil {
		return nil, r.streamError(ctx, err)
	}
	r.submitRest()
	return b.response(), nil
}

// take is the body of the loop over a stream.
func (r *run) take(chunk Chunk, err error) bool {
	if err != nil {
		r.broken = err
		return false
	}
	r.watch.alive()
	b := &r.builder
	if d, ok := chunk.(TextDelta); ok && b.open == openText && !b.ended { // by far the most common
		b.text.add(d.Text)
		r.size += len(d.Text)
	} else if chunk = r.takeOther(chunk); chunk == nil {
		return true
	}
	if r.size > r.maxSize {
		r.broken = &ModelError{Kind: ErrInvalid, Err: fmt.Errorf("the response is longer than Config.Limits.ResponseBytes (%d)", r.maxSize)}
		return false
	}
	if !r.emit(chunk) {
		r.broken = errLeft
		return false
	}
	if r.queued.Load() {
		r.drain()
	}
	return !r.left
}

// takeOther adds any chunk to the response and starts the call it completes. It returns the chunk to send on, or nil.
func (r *run) takeOther(chunk Chunk) Chunk {
	b := &r.builder
	if b.ended && isContent(chunk) {
		return nil // after Finish only a late Usage counts
	}
	r.size += chunkSize(chunk)
	done := b.add(chunk)
	if start, ok := chunk.(ToolCallStart); ok {
		c := &b.calls[len(b.calls)-1]
		r.announce(c)
		if c.id != start.ID { // the event must carry the id that the result will
			start.ID = c.id
			chunk = start
		}
	} else if done != nil {
		r.submitSized(done)
	}
	return chunk
}

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
	}
	return 64
}

// streamError types an error of the stream; a stream cut by the watchdog is a timeout.
func (r *run) streamError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) && r.ctx.Err() == nil {
		return &ModelError{Kind: ErrTimeout, Err: fmt.Errorf("%w: no chunk for %s", errIdle, r.agent.cfg.Retry.IdleTimeout)}
	}
	return AsModelError(err)
}

// salvage keeps what arrived of a response that broke after some of its calls began: whole text, signed thinking and
// the calls that were complete. The model sees their results and goes on from there.
func (r *run) salvage(cause error) (*Response, error) {
	resp := r.builder.response()
	var parts []Part
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case Thinking:
			if p.Signature == "" && p.Redacted == nil {
				continue
			}
		case ToolCall:
			if !r.submitted(p.ID) {
				continue
			}
		}
		parts = append(parts, p)
	}
	resp.Message.Parts = parts
	resp.Finish = FinishTools
	r.dropUnsubmitted()
	r.cut = AsModelError(cause)
	return resp, nil
}
