package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// attempt is one request to one member. It is created by begin, read to its end by stream, and
// reported by end. Between stream and end, a router decides whether to keep the answer. An attempt
// is for one goroutine at a time.
//
// The method stream puts the chunks into order, even if those of the member are not: only the usage
// known by then comes before the first content, nothing comes after the finish, and the finish is
// passed on only when the member is done, so that a late usage still comes before it. A panic of
// the member counts as an error like any other.
type attempt struct {
	pool  *pool
	m     *member
	req   *agent.Request
	ctx   context.Context // for the member; ends in agent.EndRoute
	began time.Time

	first    time.Duration // until the first content arrived; 0 before
	took     time.Duration // until the stream ended
	usage    agent.Usage
	reported bool        // the usage is the member's own, not an estimate
	held     agent.Chunk // usage that was not passed on yet; nil if none
	written  int         // bytes of content
	thought  int         // bytes of reasoning in it
	content  bool        // some content has arrived
	finish   agent.Chunk
	finished bool
	sent     bool // the request was passed to the member
	refused  bool // the member failed before any content, other than because its context ended, or nothing was sent
	left     bool // the reader stopped reading
	passing  bool // the reader is running
	err      *agent.ModelError
	yield    func(agent.Chunk, error) bool
	timer    *time.Timer // cancels the attempt unless content arrives in time; nil if there is no limit
}

// errSlow is the cancellation cause of an attempt whose answer did not begin in time.
var errSlow = errors.New("the answer did not begin in time")

// errNotSent marks the error of a request that never reached a provider because its context ended:
// it costs nothing.
var errNotSent error = notSentError{}

type notSentError struct{}

func (notSentError) Error() string { return "the request was not sent" }

// NotSent reports to package agent that the request costs nothing.
func (notSentError) NotSent() bool { return true }

// expect makes the attempt fail unless content arrives within d. The caller must call release when
// the stream has ended.
func (a *attempt) expect(d time.Duration) (release func()) {
	ctx, cancel := context.WithCancelCause(a.ctx)
	a.ctx = ctx
	a.timer = time.AfterFunc(d, func() { cancel(errSlow) })
	return func() {
		a.timer.Stop()
		cancel(nil)
	}
}

// begin announces a request to m. The parameter reason is for people to read; n is the number of
// the attempt within one call of the router, from 1.
func (p *pool) begin(ctx context.Context, m *member, req *agent.Request, reason string, n int) *attempt {
	a := new(attempt)
	p.beginIn(ctx, a, m, req, reason, n)
	return a
}

// beginIn is like begin, for an attempt embedded in another struct.
func (p *pool) beginIn(ctx context.Context, a *attempt, m *member, req *agent.Request, reason string, n int) {
	ctx = agent.BeginRoute(ctx, agent.Routing{Router: p.name, Model: m.Name, Reason: reason, Attempt: n})
	*a = attempt{pool: p, m: m, req: req, ctx: ctx, began: p.now()}
}

// stream reads the answer and passes its chunks, never an error, to yield. It returns the error
// with which the answer failed, or nil if the answer is complete or the reader left.
func (a *attempt) stream(yield func(agent.Chunk, error) bool) *agent.ModelError {
	a.yield = yield
	a.read()
	if a.finished && !a.left { // whatever follows a finish, even an error, is not part of the answer
		a.err = nil
		if !a.pass(nil) || !a.yieldChunk(a.finish) {
			a.left = true
		}
	}
	a.took = a.pool.now().Sub(a.began)
	a.refused = a.err != nil && !a.content && (!a.interrupted(a.err) || errors.Is(a.err, errNotSent))
	if !a.finished && !a.left {
		a.err = a.failure()
		if a.content && !a.pass(nil) {
			a.left = true
		}
	}
	if a.err != nil {
		a.m.learn(a.pool.now(), a.err)
	}
	return a.err
}

// read runs the member's stream.
func (a *attempt) read() {
	defer func() {
		if a.passing {
			return // the reader's own panic propagates
		}
		if v := recover(); v != nil {
			a.err = modelErrorf(agent.ErrUnknown, "the model panicked: %v", v)
		}
	}()
	if a.ctx.Err() != nil {
		return
	}
	a.sent = true
	a.m.Model.Stream(a.ctx, a.req)(a.take)
}

// take handles one element of the member's stream.
func (a *attempt) take(c agent.Chunk, err error) bool {
	if a.left || a.err != nil {
		return false
	}
	if err != nil {
		a.err = agent.AsModelError(err)
		return false
	}
	switch u := c.(type) {
	case nil:
		return true
	case agent.Usage:
		a.usage, a.reported, a.held = u, true, c
		return true
	case agent.Finish:
		if !a.finished {
			a.finish, a.finished = c, true
		}
		return true
	}
	if a.finished {
		return true
	}
	n, any := contentSize(c)
	a.written += n
	if _, ok := c.(agent.ThinkingDelta); ok {
		a.thought += n
	}
	if !a.content {
		if !any {
			return true
		}
		a.content = true
		if a.timer != nil {
			a.timer.Stop()
		}
		a.first = a.pool.now().Sub(a.began)
	}
	if !a.pass(c) {
		a.left = true
	}
	return !a.left
}

// pass passes the held usage and then c, if any, to the reader.
func (a *attempt) pass(c agent.Chunk) bool {
	if held := a.held; held != nil {
		a.held = nil
		if !a.yieldChunk(held) {
			return false
		}
	}
	return c == nil || a.yieldChunk(c)
}

func (a *attempt) yieldChunk(c agent.Chunk) bool {
	a.passing = true
	more := a.yield(c, nil)
	a.passing = false
	return more
}

// interrupted reports whether an error of the member means that its context ended.
func (a *attempt) interrupted(err *agent.ModelError) bool {
	return a.ctx.Err() != nil && (err.Kind == agent.ErrCanceled || errors.Is(err, a.ctx.Err()) || errors.Is(err, context.Cause(a.ctx)))
}

// failure returns the error of a stream that did not finish.
func (a *attempt) failure() *agent.ModelError {
	switch {
	case a.ctx.Err() != nil: // even if the member reports another error
		if context.Cause(a.ctx) == errSlow {
			return &agent.ModelError{Kind: agent.ErrTimeout, Err: errSlow}
		}
		if a.err != nil && (a.err.Kind == agent.ErrCanceled || a.err.Kind == agent.ErrTimeout) {
			return a.err
		}
		return &agent.ModelError{Kind: agent.ErrCanceled, Err: context.Cause(a.ctx)}
	case a.err == nil:
		return modelErrorf(agent.ErrIncomplete, "the stream ended before the answer was finished")
	case a.err.Kind == agent.ErrCanceled: // the member reports a cancellation that did not happen here
		return &agent.ModelError{Kind: agent.ErrNetwork, Status: a.err.Status, Provider: a.err.Provider, RequestID: a.err.RequestID, Err: a.err}
	}
	return a.err
}

// end reports the attempt. The parameter kept reports whether its output was passed to the caller
// of the router.
func (a *attempt) end(kept bool) {
	r := agent.Routed{Duration: a.took, Kept: kept}
	if a.err != nil {
		r.Err = a.err
	}
	r.Usage, r.Estimated = a.spent()
	if a.m.Price != nil {
		r.MicroDollars = a.m.Price.Cost(r.Usage)
	}
	agent.EndRoute(a.ctx, r)
}

// spent returns the usage that the attempt is billed for. If a stream broke or was cut off by the
// router, a provider bills the part that it had written. If the provider did not report that usage,
// it is estimated.
func (a *attempt) spent() (u agent.Usage, estimated bool) {
	u = a.usage
	for _, n := range []*int64{&u.Input, &u.CachedInput, &u.CacheWrite, &u.Output, &u.Reasoning} {
		*n = max(*n, 0)
	}
	cut := a.sent && !a.refused && !a.finished && (a.left || a.ctx.Err() != nil)
	if !a.content && !a.finished && !cut { // the member refused
		return u, false
	}
	if !a.reported {
		d := demandOf(a.req)
		u.Input, estimated = int64(d.tokens-a.req.MaxOutput), true
	}
	if written := int64((a.written + bytesPerToken - 1) / bytesPerToken); (!a.reported || !a.finished) && u.Output < written {
		u.Output, estimated = written, true
	}
	if thought := int64(a.thought / bytesPerToken); estimated && u.Reasoning < thought {
		u.Reasoning = thought
	}
	return u, estimated
}

// contentSize returns the number of bytes in a chunk that were generated, and whether the chunk is
// content at all.
func contentSize(c agent.Chunk) (n int, content bool) {
	switch c := c.(type) {
	case agent.TextDelta:
		return len(c.Text), c.Text != ""
	case agent.ThinkingDelta:
		return len(c.Text), c.Text != "" || c.Signature != "" || c.Redacted != nil
	case agent.ToolCallStart:
		return len(c.Name), true
	case agent.ToolCallDelta:
		return len(c.Args), true
	case agent.Opaque:
		return len(c.Data), true
	}
	return 0, false
}

func modelErrorf(kind agent.ErrorKind, format string, args ...any) *agent.ModelError {
	return &agent.ModelError{Kind: kind, Err: fmt.Errorf(format, args...)}
}
