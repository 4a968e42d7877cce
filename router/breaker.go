package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// BreakerConfig describes a [Breaker]. A zero field takes the default in its comment.
type BreakerConfig struct {
	Model agent.Model // required

	Failures int           // failures in a row that open the breaker; 5
	Rate     float64       // share of failures among the last Window answers that also opens the breaker; 0.5
	Window   int           // answers that Rate considers; 20, at most 64
	Open     time.Duration // how long the breaker stays open the first time; doubled at every failed probe; 5 s
	MaxOpen  time.Duration // maximum of that duration; 2 minutes
	Probes   int           // good answers in a row that close the breaker again; 1

	// Counts reports whether an error counts as a failure. Nil counts errors that indicate an
	// outage: overloaded, server, network, timeout, incomplete and unknown errors, wrong
	// credentials, and rate limits.
	Counts func(err *agent.ModelError) bool

	Now func() time.Time // nil means time.Now
}

// BreakerState is a state of a [Breaker].
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // requests pass
	BreakerOpen     BreakerState = "open"      // requests are refused at once
	BreakerHalfOpen BreakerState = "half-open" // one request at a time passes, as a probe
)

// Breaker is a circuit breaker: a model that stops calling the wrapped model while that model is
// failing. So nobody waits for the model's timeouts, and the model can recover. A refused request
// gets an error of kind [agent.ErrOverloaded] with the time to wait before a retry. Routers pass
// over a member whose breaker is open without trying it. A Breaker is safe for concurrent use.
type Breaker struct {
	cfg BreakerConfig

	mu       sync.Mutex
	state    BreakerState
	until    time.Time     // the time when an open breaker lets a probe pass
	wait     time.Duration // how long the breaker was opened for
	row      int           // failures in a row
	recent   uint64        // the last answers, one bit each, 1 for a failure
	seen     int           // number of valid bits in recent
	probing  bool
	probed   int
	opened   int64 // number of openings so far: an answer to a request from before the last opening is ignored
	lastKind agent.ErrorKind
}

// NewBreaker checks cfg and returns a closed breaker.
func NewBreaker(cfg BreakerConfig) (*Breaker, error) {
	if cfg.Model == nil {
		return nil, errors.New("router: new breaker: Model is nil; set it to the model to guard")
	}
	if cfg.Failures < 0 || cfg.Rate < 0 || cfg.Rate > 1 || cfg.Window < 0 || cfg.Window > 64 || cfg.Open < 0 || cfg.MaxOpen < 0 || cfg.Probes < 0 {
		return nil, errors.New("router: new breaker: a field is out of range; Rate is a share, Window at most 64, the others 0 or more")
	}
	cfg.Failures = cmp.Or(cfg.Failures, 5)
	cfg.Rate = cmp.Or(cfg.Rate, 0.5)
	cfg.Window = cmp.Or(cfg.Window, 20)
	cfg.Open = cmp.Or(cfg.Open, 5*time.Second)
	cfg.MaxOpen = cmp.Or(cfg.MaxOpen, 2*time.Minute)
	cfg.Probes = cmp.Or(cfg.Probes, 1)
	if cfg.Counts == nil {
		cfg.Counts = isOutage
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Breaker{cfg: cfg, state: BreakerClosed}, nil
}

// isOutage reports whether an error is the provider's fault and not the request's.
func isOutage(err *agent.ModelError) bool {
	switch err.Kind {
	case agent.ErrContextLength, agent.ErrInvalid, agent.ErrUnsupported, agent.ErrFilter, agent.ErrCanceled:
		return false
	}
	return true
}

// Name returns the name of the wrapped model.
func (b *Breaker) Name() string { return agent.ModelName(b.cfg.Model) }

// Capabilities returns those of the wrapped model.
func (b *Breaker) Capabilities() agent.Capabilities {
	c, _ := agent.CapabilitiesOf(b.cfg.Model)
	return c
}

// ReportsCost reports whether the wrapped model reports its cost.
func (b *Breaker) ReportsCost() bool { return agent.ReportsCost(b.cfg.Model) }

// State returns the breaker's state.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == BreakerOpen && !b.cfg.Now().Before(b.until) {
		return BreakerHalfOpen
	}
	return b.state
}

// Blocked returns how long the breaker will continue to refuse requests, or 0 if it lets one pass.
func (b *Breaker) Blocked() time.Duration {
	b.mu.Lock()
	d := b.refusal(b.cfg.Now())
	b.mu.Unlock()
	if inner, ok := b.cfg.Model.(blocker); ok {
		d = max(d, inner.Blocked())
	}
	return d
}

// refusal is like Blocked, but requires that b.mu is held.
func (b *Breaker) refusal(now time.Time) time.Duration {
	switch {
	case b.state == BreakerOpen:
		return max(0, b.until.Sub(now))
	case b.state == BreakerHalfOpen && b.probing:
		return probeWait
	}
	return 0
}

// probeWait is the time that callers are asked to wait while another request probes.
const probeWait = time.Second

// Stream asks the wrapped model, unless the breaker is open.
func (b *Breaker) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		opened, err := b.enter()
		if err != nil {
			yield(nil, err)
			return
		}
		g := breakerStream{b: b, ctx: ctx, opened: opened, yield: yield}
		defer g.leave() // also if the reader panics, so that a probe always ends
		b.cfg.Model.Stream(ctx, req)(g.take)
	}
}

// enter lets a request pass, or returns an error with the time to wait before a retry.
func (b *Breaker) enter() (int64, *agent.ModelError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.refusal(b.cfg.Now()); d > 0 {
		err := modelErrorf(agent.ErrOverloaded, "router: breaker of %s: it is %s after %d failures, the last %s; not asked for another %s",
			b.Name(), b.state, b.row, b.lastKind, d.Round(time.Millisecond))
		err.RetryAfter = d
		return 0, err
	}
	if b.state == BreakerOpen {
		b.state, b.probed = BreakerHalfOpen, 0
	}
	if b.state == BreakerHalfOpen {
		b.probing = true
	}
	return b.opened, nil
}

// breakerStream is one stream that was let through.
type breakerStream struct {
	b        *Breaker
	ctx      context.Context
	opened   int64
	yield    func(agent.Chunk, error) bool
	finished bool
	left     bool
	err      *agent.ModelError
}

func (g *breakerStream) take(c agent.Chunk, err error) bool {
	if err != nil {
		g.err = agent.AsModelError(err)
	} else if _, ok := c.(agent.Finish); ok {
		g.finished = true
	}
	g.left = err == nil // if yield does not return, or returns false
	more := g.yield(c, err)
	g.left = g.left && !more
	return more
}

// leave reports to the breaker how the stream ended.
func (g *breakerStream) leave() {
	err := g.err
	switch {
	case g.finished:
		err = nil
	case g.left || g.ctx.Err() != nil: // such an end is not evidence about the model
		g.b.leave(g.opened, true, nil)
		return
	case err == nil:
		err = modelErrorf(agent.ErrIncomplete, "the stream ended before the answer was finished")
	}
	g.b.leave(g.opened, err != nil && err.Kind == agent.ErrCanceled, err)
}

// leave counts an answer. If the parameter nothing is true, the answer is no evidence about the
// model and only frees its place as a probe.
func (b *Breaker) leave(opened int64, nothing bool, err *agent.ModelError) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if opened != b.opened {
		return
	}
	if b.state == BreakerHalfOpen {
		b.probing = false
	}
	if nothing || b.state == BreakerOpen {
		return
	}
	failed := err != nil && b.cfg.Counts(err)
	if b.state == BreakerHalfOpen {
		b.judgeProbe(failed, err)
		return
	}
	b.recent = b.recent<<1 | bit(failed)
	b.seen = min(b.seen+1, b.cfg.Window)
	if !failed {
		b.row = 0
		return
	}
	b.row++
	b.lastKind = err.Kind
	window := b.recent << (64 - b.cfg.Window) // without the bits older than the window
	if b.row >= b.cfg.Failures || (b.seen == b.cfg.Window && float64(bits.OnesCount64(window)) >= b.cfg.Rate*float64(b.cfg.Window)) {
		b.wait = b.cfg.Open
		b.open(err)
	}
}

// judgeProbe closes the breaker, or opens it for longer.
func (b *Breaker) judgeProbe(failed bool, err *agent.ModelError) {
	if failed {
		b.row++
		b.lastKind = err.Kind
		b.wait = min(2*b.wait, max(b.cfg.MaxOpen, b.cfg.Open))
		b.open(err)
		return
	}
	if b.probed++; b.probed >= b.cfg.Probes {
		b.state, b.row, b.seen, b.recent = BreakerClosed, 0, 0, 0
	}
}

// open starts to refuse requests, for b.wait or for as long as the provider asked. b.mu is held.
func (b *Breaker) open(err *agent.ModelError) {
	wait := max(b.wait, min(err.RetryAfter, maxRetryAfter))
	b.state, b.until, b.probing = BreakerOpen, b.cfg.Now().Add(wait), false
	b.opened++
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// String describes the breaker's state, for logs.
func (b *Breaker) String() string {
	return fmt.Sprintf("breaker of %s (%s)", b.Name(), b.State())
}
