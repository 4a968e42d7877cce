package router

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// FallbackConfig describes a [Fallback].
type FallbackConfig struct {
	Name    string   // of the router; empty means "fallback"
	Members []Member // in order of preference

	// Hold keeps an answer back until it is complete. If the answer breaks off, another member is
	// then asked without the caller noticing. The disadvantage is that nothing is streamed.
	Hold bool
	// Begin limits how long a member's answer may take to begin; after that the member counts as
	// failed. 0 means no limit.
	Begin time.Duration
	// Next reports whether an error of one member sends the request to the next. Nil does so for
	// every error except the end of the caller's context.
	Next func(err *agent.ModelError) bool
	// Cooldown limits how long a conversation avoids a member whose answer broke off in the
	// middle. 0 means a minute.
	Cooldown time.Duration

	Now func() time.Time // nil means time.Now
}

// Fallback is a model that sends each request to the first of its members that can answer it. A
// Fallback is safe for concurrent use.
//
//   - A member that cannot take the request (no tools, no images, too small a window) is passed
//     over, and so is a member that asked not to be called for some time, until that time is over.
//   - A failure before the first content sends the same request to the next member; only the trace
//     shows it. A prompt that is too long for one member goes only to members with a larger window.
//     If there is none, the error is [agent.ErrContextLength], upon which the loop compacts.
//   - A failure after content was passed on is returned as a retryable error. The next request of
//     the same conversation begins with the member after the one that broke. [FallbackConfig.Hold]
//     avoids this.
//   - If all fail, the error has the most helpful kind, and contains the error of each member.
type Fallback struct {
	*pool
	cfg    FallbackConfig
	broken broken
}

// NewFallback checks cfg and returns a router.
func NewFallback(cfg FallbackConfig) (*Fallback, error) {
	p, err := newPool("fallback", cfg.Name, cfg.Members, cfg.Now)
	if err != nil {
		return nil, err
	}
	if cfg.Cooldown < 0 || cfg.Begin < 0 {
		return nil, errors.New("router: new fallback: Cooldown and Begin must be 0 or more")
	}
	if cfg.Cooldown == 0 {
		cfg.Cooldown = time.Minute
	}
	return &Fallback{pool: p, cfg: cfg}, nil
}

// Stream answers with the first member that can.
func (f *Fallback) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		c := chain{pool: f.pool, ctx: ctx, req: req, yield: yield, hold: f.cfg.Hold, next: f.cfg.Next, patience: f.cfg.Begin}
		c.demand = f.demand(req)
		begin := 0
		if !f.broken.empty() {
			if bad := f.broken.find(sessionKey(req), f.now()); bad >= 0 {
				begin, c.reason = bad+1, "the last answer of the one before it broke"
			}
		}
		if c.run(f.members, begin) == outcomeBroken {
			f.broken.note(sessionKey(req), c.last.index, f.now(), f.cfg.Cooldown)
		}
	}
}

// chain asks members in turn until one answers. Every router that may ask several members is built
// on it.
type chain struct {
	pool     *pool
	ctx      context.Context
	req      *agent.Request
	yield    func(agent.Chunk, error) bool
	hold     bool
	next     func(*agent.ModelError) bool
	patience time.Duration // time to wait for the first content; 0 means no limit
	reason   string        // for choosing the first member
	demand   demand

	skip    [2]*member                   // members that were already asked
	watch   interface{ ended(*attempt) } // receives every attempt that ended; nil for nobody
	counted *member                      // the member whose load already includes this call, for routers that consider loads
	loads   bool                         // whether this router considers loads

	failed  failures
	n       int
	window  int     // size of the largest window that was too small
	last    *member // the last member asked
	pending []agent.Chunk
	now     attempt // the current attempt
}

type outcome uint8

const (
	outcomeAnswered outcome = iota
	outcomeFailed           // only the error was passed on
	outcomeBroken           // content was passed on, and then the error
	outcomeLeft             // the reader left, or its context ended
)

// run asks ms in order, starting with the one at begin and wrapping around.
func (c *chain) run(ms []*member, begin int) outcome {
	c.failed.router = c.pool.name
	for i := range ms {
		m := ms[(begin+i)%len(ms)]
		if m == c.skip[0] || m == c.skip[1] {
			continue
		}
		if err := c.passOver(m); err != nil {
			c.failed.add(m, err)
			continue
		}
		if out, over := c.ask(m); over {
			return out
		}
	}
	if m := c.pool.doubtful(c.demand); c.n == 0 && m != nil && c.failed.err().Kind == agent.ErrContextLength {
		c.reason = "the largest window, since the size is an estimate"
		if out, over := c.ask(m); over {
			return out
		}
	}
	c.yield(nil, c.failed.err())
	return outcomeFailed
}

// passOver returns the reason why m is not even asked, or nil if m may be asked.
func (c *chain) passOver(m *member) *agent.ModelError {
	if !m.fits(c.demand) {
		return m.unfit(c.demand)
	}
	if c.window > 0 && m.MaxContext > 0 && m.MaxContext <= c.window {
		return modelErrorf(agent.ErrContextLength, "its window of %d tokens is no larger than one that was too small", m.MaxContext)
	}
	if d := m.blocked(c.pool.now()); d > 0 {
		return blockedError(d)
	}
	return nil
}

// ask sends the request to m and reports whether the call is over.
func (c *chain) ask(m *member) (outcome, bool) {
	c.n++
	c.last = m
	if c.loads {
		defer c.load(m).Add(-1)
	}
	a := &c.now
	c.pool.beginIn(c.ctx, a, m, c.req, c.why(), c.n)
	if c.patience > 0 {
		defer a.expect(c.patience)()
	}
	pass := c.yield
	if c.hold {
		pass = c.keep
	}
	err := a.stream(pass)
	if c.watch != nil {
		c.watch.ended(a)
	}
	if c.hold && err == nil && !a.left {
		a.left = !c.release()
	}
	shown := a.content && !c.hold
	a.end(err == nil || shown)
	switch {
	case a.left:
		return outcomeLeft, true
	case err == nil:
		return outcomeAnswered, true
	case shown:
		return c.broke(err), true
	case c.ctx.Err() != nil:
		c.yield(nil, callerEnded(c.ctx, err))
		return outcomeFailed, true
	}
	c.failed.add(m, err)
	c.pending = nil
	if err.Kind == agent.ErrContextLength {
		c.window = max(c.window, m.MaxContext)
	}
	if c.next != nil && !c.next(err) {
		c.yield(nil, err)
		return outcomeFailed, true
	}
	return outcomeFailed, false
}

// load adds the request to the load of m and returns the counter.
func (c *chain) load(m *member) *atomic.Int32 {
	if m == c.counted {
		c.counted = nil
	} else {
		m.load.Add(1)
	}
	return &m.load
}

// why returns the reason for the attempt that is about to begin.
func (c *chain) why() string {
	if n := len(c.failed.list); n > 0 && c.reason == "" {
		f := &c.failed.list[n-1]
		return fmt.Sprintf("after %s: %s", f.member, f.err.Kind)
	}
	reason := c.reason
	c.reason = ""
	if reason == "" {
		reason = "first choice"
	}
	return reason
}

// broke passes on the error of an answer that broke off after its reader had seen some of it. If
// the caller ended the answer, the member is not to blame.
func (c *chain) broke(err *agent.ModelError) outcome {
	switch {
	case c.ctx.Err() != nil:
		c.yield(nil, callerEnded(c.ctx, err))
		return outcomeLeft
	case len(c.pool.members) > 1:
		err = goOn(err)
	}
	c.yield(nil, err)
	return outcomeBroken
}

// keep holds a chunk back.
func (c *chain) keep(chunk agent.Chunk, _ error) bool {
	if c.pending == nil {
		c.pending = make([]agent.Chunk, 0, 32)
	}
	c.pending = append(c.pending, chunk)
	return true
}

// release passes on the chunks that were held back, and reports whether the reader took them all.
func (c *chain) release() bool {
	for _, chunk := range c.pending {
		if !c.yield(chunk, nil) {
			return false
		}
	}
	return true
}
