package agent

import (
	"context"
	"errors"
	"fmt"
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
	op := Op{Session: r.session, Step: r.res.Steps + 1, Request: &r.req, run: r.streamOp}
	if r.agent.handle != nil {
		clone := r.req // middleware may change the request of this call, not of the next
		op.Request = &clone
	}
	if err := r.agent.do(r.ctx, &op); err != nil {
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

// streamOp is the model operation that middleware wraps.
func (r *run) streamOp(ctx context.Context, op *Op) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.watch.watch(r.agent.cfg.Retry.IdleTimeout, cancel)
	defer r.watch.unwatch()

	b := &r.builder
	b.reset(r.res.Steps + 1)
	limit, size := r.agent.cfg.Limits.ResponseBytes, 0
	for chunk, err := range r.agent.cfg.Model.Stream(ctx, op.Request) {
		if err != nil {
			return r.streamError(ctx, err)
		}
		if b.ended && isContent(chunk) {
			continue // after Finish only a late Usage counts
		}
		size += chunkSize(chunk)
		if limit > 0 && size > limit {
			return &ModelError{Kind: ErrInvalid, Err: fmt.Errorf("the response is longer than Config.Limits.ResponseBytes (%d)", limit)}
		}
		if !r.take(chunk) {
			return errLeft
		}
	}
	if err := b.complete(ctx); err != nil {
		return r.streamError(ctx, err)
	}
	op.Response = b.response()
	return r.submitRest()
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

// take adds a chunk to the response, starts the call it completes, and passes it on.
func (r *run) take(chunk Chunk) bool {
	b := &r.builder
	done := b.add(chunk)
	if start, ok := chunk.(ToolCallStart); ok {
		c := &b.calls[len(b.calls)-1]
		r.announce(c)
		if c.id != start.ID { // the event must carry the id that the result will
			start.ID = c.id
			chunk = start
		}
	} else if done != nil {
		r.submit(done)
	}
	if !r.emit(chunk) {
		return false
	}
	if r.queued.Load() {
		r.drain()
	}
	return !r.left
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
