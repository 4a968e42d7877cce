package router

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
)

// RateLimitConfig describes a [RateLimit].
type RateLimitConfig struct {
	Model agent.Model // required

	Requests int // requests per minute; 0 means no limit
	Tokens   int // tokens per minute, of prompts and answers; 0 means no limit
	// Burst is the part of the allowance that may be used at once, given as the length of time in
	// which it accrues. 0 means a minute, as with providers.
	Burst time.Duration
	// CachedFree excludes tokens read from a prompt cache from the count, as some providers do.
	CachedFree bool

	Queue   int           // requests that may wait; others are refused; 0 means 64, negative means none
	MaxWait time.Duration // limit of a request's waiting time; a request that would wait longer is refused at once; 0 means a minute

	// Now and Sleep are the clock; nil means the system's.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// RateLimit is a model that delays requests so that the wrapped model gets no more requests than
// its provider allows. A RateLimit is safe for concurrent use.
//
//   - There are token buckets for requests and for tokens. The tokens of a request are estimated
//     when it is sent, and corrected when its usage is known.
//   - Requests wait in order of arrival, within the limits of ctx and MaxWait. A request that could
//     not be sent in time is refused at once, with an error of kind [agent.ErrRateLimit] that has
//     the time to wait before a retry.
//   - If the provider refuses a request, all requests are delayed for as long as it asks. If it
//     names no time, the delay is one second, then two, and so on up to a minute.
type RateLimit struct {
	cfg      RateLimitConfig
	requests *rate.Limiter // nil for no limit
	tokens   *rate.Limiter

	mu      sync.Mutex
	waiting int
	until   time.Time // nothing is sent before this time
	refused int       // consecutive refusals that named no time
	credit  int       // tokens that were reserved but not used
	answer  float64   // tokens per answer, a moving average
}

// NewRateLimit checks cfg and returns a limited model.
func NewRateLimit(cfg RateLimitConfig) (*RateLimit, error) {
	if cfg.Model == nil {
		return nil, errors.New("router: new rate limit: Model is nil; set it to the model to hold back")
	}
	if cfg.Requests < 0 || cfg.Tokens < 0 || cfg.Burst < 0 || cfg.MaxWait < 0 {
		return nil, errors.New("router: new rate limit: Requests, Tokens, Burst and MaxWait must be 0 or more")
	}
	cfg.Burst = cmp.Or(cfg.Burst, time.Minute)
	cfg.MaxWait = cmp.Or(cfg.MaxWait, time.Minute)
	cfg.Queue = cmp.Or(cfg.Queue, 64)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = wait.For
	}
	return &RateLimit{cfg: cfg, requests: bucket(cfg.Requests, cfg.Burst), tokens: bucket(cfg.Tokens, cfg.Burst)}, nil
}

func bucket(perMinute int, burst time.Duration) *rate.Limiter {
	if perMinute == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(perMinute)/60), max(1, int(float64(perMinute)*burst.Minutes())))
}

// Name returns the name of the wrapped model.
func (l *RateLimit) Name() string { return agent.ModelName(l.cfg.Model) }

// Capabilities returns those of the wrapped model.
func (l *RateLimit) Capabilities() agent.Capabilities {
	c, _ := agent.CapabilitiesOf(l.cfg.Model)
	return c
}

// ReportsCost reports whether the wrapped model reports its cost.
func (l *RateLimit) ReportsCost() bool { return agent.ReportsCost(l.cfg.Model) }

// Blocked returns how long the RateLimit will refuse requests, or 0 if it would send a request or
// let it wait.
func (l *RateLimit) Blocked() time.Duration {
	now := l.cfg.Now()
	l.mu.Lock()
	d := max(0, l.until.Sub(now))
	full := l.full()
	l.mu.Unlock()
	for _, b := range []*rate.Limiter{l.requests, l.tokens} {
		if b != nil {
			d = max(d, time.Duration((1-b.TokensAt(now))/float64(b.Limit())*float64(time.Second)))
		}
	}
	if d <= l.cfg.MaxWait && (d == 0 || !full) {
		d = 0
	}
	if inner, ok := l.cfg.Model.(blocker); ok {
		d = max(d, inner.Blocked())
	}
	return d
}

// full reports whether no more requests may wait. l.mu is held.
func (l *RateLimit) full() bool { return l.waiting >= max(0, l.cfg.Queue) }

// Stream sends the request when the limits allow it.
func (l *RateLimit) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		reserved, err := l.enter(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		s := limitedStream{l: l, req: req, reserved: reserved, yield: yield}
		defer s.leave()
		l.cfg.Model.Stream(ctx, req)(s.take)
	}
}

// enter waits until the request may be sent, and returns the number of tokens reserved for it.
func (l *RateLimit) enter(ctx context.Context, req *agent.Request) (int, *agent.ModelError) {
	n := 0
	l.mu.Lock()
	if l.tokens != nil {
		d := demandOf(req)
		n = d.tokens - req.MaxOutput + int(l.answer)
	}
	now := l.cfg.Now()
	t := l.reserve(now, n)
	wait := max(t.delay(now), l.until.Sub(now))
	if wait <= 0 {
		l.mu.Unlock()
		return n, l.ended(ctx, now, &t)
	}
	if err := l.refusal(ctx, now, wait); err != nil {
		t.cancel(now)
		l.credit += t.credit
		l.mu.Unlock()
		return 0, err
	}
	l.waiting++
	l.mu.Unlock()
	err := l.wait(ctx, now, wait)
	l.mu.Lock()
	l.waiting--
	if err != nil {
		t.cancel(l.cfg.Now())
		l.credit += t.credit
	}
	l.mu.Unlock()
	return n, err
}

// ended cancels a ticket if ctx is done, and returns the error.
func (l *RateLimit) ended(ctx context.Context, now time.Time, t *ticket) *agent.ModelError {
	if ctx.Err() == nil {
		return nil
	}
	t.cancel(now)
	return notSent(ctx)
}

// refusal returns the reason why a request may not wait. l.mu is held.
func (l *RateLimit) refusal(ctx context.Context, now time.Time, wait time.Duration) *agent.ModelError {
	deadline, ok := ctx.Deadline()
	var why string
	switch {
	case ctx.Err() != nil:
		return notSent(ctx)
	case l.full():
		why = "as many requests wait as may"
	case wait > l.cfg.MaxWait:
		why = "it would wait longer than allowed"
	case ok && deadline.Before(now.Add(wait)):
		why = "the deadline is before its turn"
	default:
		return nil
	}
	err := modelErrorf(agent.ErrRateLimit, "router: rate limit of %s: %s: its turn is in %s", l.Name(), why, wait.Round(time.Millisecond))
	err.RetryAfter = wait
	return err
}

// wait sleeps until the request's turn, and longer if the provider refuses another request in the
// meantime.
func (l *RateLimit) wait(ctx context.Context, began time.Time, d time.Duration) *agent.ModelError {
	for d > 0 {
		if err := l.cfg.Sleep(ctx, d); err != nil || ctx.Err() != nil {
			return notSent(ctx)
		}
		now := l.cfg.Now()
		l.mu.Lock()
		d = l.until.Sub(now)
		var err *agent.ModelError
		if d > 0 && now.Add(d).Sub(began) > l.cfg.MaxWait {
			err = modelErrorf(agent.ErrRateLimit, "router: rate limit of %s: the provider asked to wait while the request did", l.Name())
			err.RetryAfter = d
		}
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// notSent returns the error of a request whose context ended while it waited.
func notSent(ctx context.Context) *agent.ModelError {
	return modelErrorf(agent.ErrCanceled, "%w: %w", errNotSent, context.Cause(ctx))
}

// ticket is a reservation in the buckets.
type ticket struct {
	held   []*rate.Reservation
	credit int // tokens taken from the RateLimit's credit
}

// reserve takes one request and n tokens. If n is more than a bucket holds, it is taken in several
// parts. l.mu is held.
func (l *RateLimit) reserve(now time.Time, n int) ticket {
	var t ticket
	if l.requests != nil {
		t.held = append(t.held, l.requests.ReserveN(now, 1))
	}
	if l.tokens != nil {
		t.credit = min(l.credit, n)
		l.credit -= t.credit
		t.held = take(t.held, l.tokens, now, n-t.credit)
	}
	return t
}

// maxParts limits a single request to this many times the size of the bucket.
const maxParts = 16

func take(held []*rate.Reservation, b *rate.Limiter, now time.Time, n int) []*rate.Reservation {
	for i := 0; n > 0 && i < maxParts; i++ {
		k := min(n, b.Burst())
		held = append(held, b.ReserveN(now, k))
		n -= k
	}
	return held
}

func (t *ticket) delay(now time.Time) time.Duration {
	var d time.Duration
	for _, r := range t.held {
		d = max(d, r.DelayFrom(now))
	}
	return d
}

// cancel returns the reservations, the last one first, as the buckets require.
func (t *ticket) cancel(now time.Time) {
	for i := len(t.held) - 1; i >= 0; i-- {
		t.held[i].CancelAt(now)
	}
}

// limitedStream observes a stream of a request that was let through.
type limitedStream struct {
	l        *RateLimit
	req      *agent.Request
	reserved int
	yield    func(agent.Chunk, error) bool
	usage    agent.Usage
	reported bool
	written  int
	err      *agent.ModelError
}

func (s *limitedStream) take(c agent.Chunk, err error) bool {
	if err != nil {
		s.err = agent.AsModelError(err)
	} else if u, ok := c.(agent.Usage); ok {
		s.usage, s.reported = u, true
	} else {
		n, _ := contentSize(c)
		s.written += n
	}
	return s.yield(c, err)
}

// leave settles the reservation with the actual usage, and learns from a refusal.
func (s *limitedStream) leave() {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.cfg.Now()
	refused := s.err != nil && s.err.Kind == agent.ErrRateLimit
	switch {
	case refused && s.err.RetryAfter > 0:
		l.holdUntil(now.Add(min(s.err.RetryAfter, maxRetryAfter)))
	case refused:
		l.holdUntil(now.Add(min(time.Second<<min(l.refused, 6), time.Minute)))
		l.refused++
	case s.err == nil:
		l.refused = 0
	}
	if l.tokens == nil {
		return
	}
	used := s.used()
	if s.err == nil {
		l.answer += (float64(s.answered()) - l.answer) / 8
	}
	if more := used - s.reserved; more > 0 {
		take(nil, l.tokens, now, more)
	} else {
		l.credit = min(l.credit-more, l.tokens.Burst())
	}
}

func (l *RateLimit) holdUntil(t time.Time) {
	if t.After(l.until) {
		l.until = t
	}
}

// answered returns the tokens of the answer.
func (s *limitedStream) answered() int {
	if s.reported {
		return int(s.usage.Output)
	}
	return s.written / bytesPerToken
}

// used returns the tokens that count against the limit.
func (s *limitedStream) used() int {
	switch {
	case s.reported:
		n := max(s.usage.Total(), 0)
		if s.l.cfg.CachedFree {
			n -= min(max(s.usage.CachedInput, 0), n)
		}
		return int(n)
	case s.err != nil && s.written == 0: // refused: nothing was used
		return 0
	}
	d := demandOf(s.req)
	return d.tokens - s.req.MaxOutput + s.answered()
}
