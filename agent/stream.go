package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"
)

var errIdle = errors.New("the stream was silent for too long")

// ask sends the request until a response is complete, retrying what may be retried. A response whose tools began is
// never asked for again: what had arrived of it is kept instead.
func (r *run) ask() (*Response, error) {
	compacted := false
	for {
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		resp, err := r.stream()
		if err == nil {
			r.failures, r.watch.stalls = 0, 0
			return resp, nil
		}
		if r.hasBegun() { // also when the run was cancelled: what was done must be in the history
			if !r.watch.stalled {
				r.cut = AsModelError(err)
			}
			return r.salvage(), nil
		}
		if err := r.chargeFailed(); err != nil {
			return nil, err
		}
		if r.ctx.Err() != nil {
			return nil, context.Cause(r.ctx)
		}
		if r.canceled() {
			return nil, errCanceled
		}
		if r.watch.stalled {
			r.resetStream()
			continue
		}
		me := AsModelError(err)
		if me.Kind == ErrContextLength && r.agent.cfg.Compactor != nil && !compacted {
			compacted = true
			r.resetStream()
			if err := r.compact(r.overflowBudget()); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.backoff(me); err != nil {
			return nil, err
		}
		r.resetStream()
	}
}

// resetStream tells the consumer that what it saw of the response is void, if it saw any.
func (r *run) resetStream() {
	if len(r.builder.parts) > 0 || r.builder.open != openNone {
		r.emit(StreamReset{})
	}
}

// backoff waits before the next attempt, or returns the error when there should be none.
func (r *run) backoff(me *ModelError) error {
	cfg := &r.agent.cfg.Retry
	r.failures++
	if !me.Kind.Retryable() || r.failures > cfg.Max || me.RetryAfter > cfg.MaxWait {
		return me
	}
	delay := min(cfg.Base, cfg.Cap)
	for i := 1; i < r.failures && delay < cfg.Cap; i++ {
		delay = min(2*delay, cfg.Cap)
	}
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
	r.builder.reset(r.res.Steps+1, r.agent.cfg.NewID)
	r.watch.stalled = false
	r.resetTab()
	r.fillRequest()
	if r.agent.handle == nil {
		return r.streamOnce(r.ctx, &r.req)
	}
	clone := r.req // middleware may change the request of this call, not of the next
	op := &Op{Session: r.session, Step: r.res.Steps + 1, Request: &clone}
	asked := false
	var first *Response
	var failed error
	op.run = func(ctx context.Context, op *Op) (err error) {
		switch {
		case asked && r.hasBegun(): // what runs already cannot be asked for again: the outcome stands
		case asked:
			if err := r.askAgain(); err != nil {
				return err
			}
			fallthrough
		default:
			asked = true
			first, failed = r.streamOnce(ctx, op.Request)
		}
		op.Response = first
		return failed
	}
	if err := r.agent.handle(r.ctx, op); err != nil {
		return nil, err
	}
	switch {
	case op.Response == nil:
		return nil, errors.New("agent: middleware returned without an error and without a response; call next, or set Op.Response")
	case !asked:
		return r.playResponse(op.Response)
	case !r.sameCalls(op.Response.Message.Calls()):
		return nil, errors.New("agent: middleware changed the calls of a response that was streamed already; change or refuse the calls as they run")
	}
	return op.Response, nil
}

// askAgain prepares for middleware that calls next once more, before any call began.
func (r *run) askAgain() error {
	r.resetStream()
	err := r.chargeFailed()
	r.clearBatch()
	r.builder.reset(r.res.Steps+1, r.agent.cfg.NewID)
	return err
}

// playResponse takes a response that middleware made itself, such as a cached one, as if it had been streamed.
func (r *run) playResponse(resp *Response) (*Response, error) {
	return r.read(r.ctx, func(yield func(Chunk, error) bool) {
		for i, p := range resp.Message.Parts {
			switch p := p.(type) {
			case Text:
				yield(TextDelta{Text: p.Text}, nil)
			case Thinking:
				yield(ThinkingDelta(p), nil)
			case Opaque:
				yield(p, nil)
			case ToolCall:
				yield(ToolCallStart{Index: i, ID: p.ID, Name: p.Name}, nil)
				yield(ToolCallDelta{Index: i, Args: string(p.Args)}, nil)
			}
		}
		yield(resp.Usage, nil)
		yield(Finish{Reason: resp.Finish}, nil)
	})
}

// sameCalls reports whether calls are those of the batch.
func (r *run) sameCalls(calls []ToolCall) bool {
	if len(calls) != len(r.batch) {
		return false
	}
	for i, c := range r.batch {
		if c.tc.ID != calls[i].ID {
			return false
		}
	}
	return true
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
	ctx = WithRouteTrace(ctx, &r.routes.trace)
	return r.read(ctx, r.agent.cfg.Model.Stream(ctx, req))
}

// read takes in a stream to its end and starts the calls that are left.
func (r *run) read(ctx context.Context, stream iter.Seq2[Chunk, error]) (*Response, error) {
	b := &r.builder
	b.maxArgs = r.agent.cfg.Limits.ArgBytes
	r.size, r.maxSize, r.broken = 0, r.agent.cfg.Limits.ResponseBytes, nil
	if r.maxSize < 0 {
		r.maxSize = math.MaxInt
	}
	stream(r.onChunk)
	r.drain() // what routers did comes before what becomes of the answer
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
	if r.queued.Load() && r.broken == nil && !r.pause() { // such as the routing that this chunk is the outcome of
		return false
	}
	if err != nil {
		return r.breakOff(err)
	}
	r.watch.alive()
	b := &r.builder
	if d, ok := chunk.(TextDelta); ok && b.open == openText && !b.ended { // by far the most common
		b.text.add(d.Text)
		r.size += len(d.Text) + 1 // a chunk counts even when it is empty: an endless stream of them must end
	} else if chunk = r.takeOther(chunk); chunk == nil && r.size <= r.maxSize {
		return !r.queued.Load() || r.pause()
	}
	if r.size > r.maxSize {
		return r.breakOff(&ModelError{Kind: ErrInvalid, Err: fmt.Errorf("the response is longer than Config.Limits.ResponseBytes (%d)", r.maxSize)})
	}
	if !r.emit(chunk) {
		return r.breakOff(errLeft)
	}
	return !r.queued.Load() || r.pause()
}

// pause sends what is queued and ends the stream of a model that ignores its context.
func (r *run) pause() bool {
	r.drain()
	if r.ctx.Err() != nil {
		return r.breakOff(context.Cause(r.ctx))
	}
	return true
}

// breakOff ends the stream for a reason, the first one. What a model yields all the same is too much from now on, and
// closed to the response.
func (r *run) breakOff(why error) bool {
	if r.broken == nil {
		r.broken = why
	}
	r.maxSize, r.builder.ended = -1, true
	return false
}

// takeOther adds any chunk to the response and starts the call it completes. It returns the chunk to send on, or nil.
func (r *run) takeOther(chunk Chunk) Chunk {
	b := &r.builder
	r.size += chunkSize(chunk) + 1
	if b.ended && isContent(chunk) {
		return nil // after Finish only a late Usage counts
	}
	n := len(b.calls)
	done := b.add(chunk)
	if len(b.calls) > maxCalls {
		r.breakOff(&ModelError{Kind: ErrInvalid, Err: fmt.Errorf("the response asks for more than %d tool calls", maxCalls)})
		return nil
	}
	if _, ok := chunk.(ToolCallDelta); ok && len(b.calls) > n { // arguments of a call that never started
		c := &b.calls[n]
		r.announce(c)
		r.emit(ToolCallStart{Index: c.index, ID: c.id, Name: c.name})
	}
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

// maxCalls is how many calls one response may hold; a model that asks for more is broken, and each costs a goroutine.
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

// streamError types an error of the stream; a stream cut by the watchdog is a timeout.
func (r *run) streamError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errIdle) && r.ctx.Err() == nil {
		return &ModelError{Kind: ErrTimeout, Err: fmt.Errorf("%w: no chunk for %s", errIdle, r.agent.cfg.Retry.IdleTimeout)}
	}
	return AsModelError(err)
}

// salvage keeps what arrived of a response that broke after some of its calls began: whole text, signed thinking and
// the calls that were complete. The model sees their results and goes on from there.
func (r *run) salvage() *Response {
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
	return resp
}
