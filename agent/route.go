package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Routing reports that a router has chosen a model and is about to call it. Every Routing is
// followed by one [Routed] with the same ID.
type Routing struct {
	ID     int64 // counts the attempts of a trace from 1
	Parent int64 // the attempt that contains this one, if a router is a member of another router; 0 for none

	Router  string // name of the router
	Model   string // name of the member it chose, which may be a router itself
	Reason  string // why, in a few words for a person
	Attempt int    // which attempt of the router's call this is, from 1
}

// Routed reports how an attempt ended and what it cost. Costs are counted once: each attempt at a
// model reports its own cost; an attempt at another router, whose attempts are reported
// individually, reports none.
type Routed struct {
	Routing
	Usage        Usage         // tokens of the attempt; zero if Nested
	MicroDollars int64         // cost of the tokens; zero if Nested, and for a member without a price
	Duration     time.Duration // from the request to the end of the stream
	Err          error         // why it failed; nil if its answer was complete
	Kept         bool          // the caller received its chunks, including its Usage
	Nested       bool          // the member was a router
	Estimated    bool          // no usage was reported: Usage is an estimate
}

// RouteTrace receives every attempt that routers make. Its functions may be nil, and are called
// from any goroutine: the losing request of a hedge ends on a goroutine of its own.
type RouteTrace struct {
	Routing func(Routing) // before the attempt
	Routed  func(Routed)  // after it; its cost must be paid whatever its outcome

	ids atomic.Int64
}

// routeScope is an attempt in progress or a trace, found by routers in their context. It is itself
// a context, so that an attempt needs only one allocation.
type routeScope struct {
	context.Context
	parent *routeScope // the enclosing attempt or trace; nil for the outermost trace
	trace  *RouteTrace // set for a trace; nil for an attempt
	info   Routing

	mu     sync.Mutex
	ended  bool
	nested bool
	held   []Routed // attempts that ended inside this one, and count as kept if this one does
}

type routeKey struct{}

// Value returns the scope itself for its key.
func (s *routeScope) Value(key any) any {
	if key == (routeKey{}) {
		return s
	}
	return s.Context.Value(key)
}

func routeScopeFrom(ctx context.Context) *routeScope {
	s, _ := ctx.Value(routeKey{}).(*routeScope)
	return s
}

// WithRouteTrace returns a context whose model calls report the attempts of routers to t. If ctx
// already has a trace, both receive the reports, t first.
func WithRouteTrace(ctx context.Context, t *RouteTrace) context.Context {
	return &routeScope{Context: ctx, parent: routeScopeFrom(ctx), trace: t}
}

// ContextRouteTrace returns the trace that routers called with ctx report to, or nil.
func ContextRouteTrace(ctx context.Context) *RouteTrace {
	for s := routeScopeFrom(ctx); s != nil; s = s.parent {
		if s.trace != nil {
			return s.trace
		}
	}
	return nil
}

// BeginRoute reports that a router is about to call a member, and returns the context to call it
// with; [EndRoute] must follow. It fills in r.ID and r.Parent. Without a trace in ctx it does
// nothing.
func BeginRoute(ctx context.Context, r Routing) context.Context {
	above := routeScopeFrom(ctx)
	if above == nil {
		return ctx
	}
	s := &routeScope{Context: ctx, parent: above, info: r}
	outermost := above
	for p := above; p != nil; p = p.parent {
		if p.trace == nil && s.info.Parent == 0 {
			p.mu.Lock()
			p.nested = true
			p.mu.Unlock()
			s.info.Parent = p.info.ID
		}
		outermost = p
	}
	s.info.ID = outermost.trace.ids.Add(1)
	for p := above; p != nil; p = p.parent {
		if p.trace != nil && p.trace.Routing != nil {
			p.trace.Routing(s.info)
		}
	}
	return s
}

// EndRoute reports the end of the attempt for which [BeginRoute] returned ctx. It fills in
// r.Routing and r.Nested, and reports an attempt only once, however often it is called. If the
// member is a router, its own attempts have been reported by then; one whose answer was kept by
// that router counts as kept only if this attempt does.
func EndRoute(ctx context.Context, r Routed) {
	s := routeScopeFrom(ctx)
	if s == nil || s.trace != nil {
		return
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	held := s.held
	s.held = nil
	r.Routing, r.Nested = s.info, s.nested
	s.mu.Unlock()
	for _, h := range held {
		h.Kept = h.Kept && r.Kept
		s.parent.tell(h)
	}
	if r.Nested {
		r.Usage, r.MicroDollars, r.Estimated = Usage{}, 0, false
	}
	s.parent.tell(r)
}

// tell reports an ended attempt to the traces from s upwards. Kept attempts inside an attempt that
// is still in progress are not reported yet, since their answers may still be discarded.
func (s *routeScope) tell(r Routed) {
	for ; s != nil; s = s.parent {
		switch {
		case s.trace != nil:
			if s.trace.Routed != nil {
				s.trace.Routed(r)
			}
		case r.Kept:
			if s.hold(r) {
				return
			}
			r.Kept = false // too late to be anyone's answer
		}
	}
}

func (s *routeScope) hold(r Routed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.held = append(s.held, r)
	}
	return !s.ended
}

// ReportsCost reports whether every call of m reports its cost to the [RouteTrace] in its context.
// A router has a method of this name that returns true if each of its members has a price.
func ReportsCost(m Model) bool {
	c, ok := m.(interface{ ReportsCost() bool })
	return ok && c.ReportsCost()
}

// Route is one attempt of a router in the form kept in the session's log.
type Route struct {
	ID           int64     `json:"id"`
	Parent       int64     `json:"parent,omitempty"`
	Router       string    `json:"router"`
	Model        string    `json:"model"`
	Reason       string    `json:"reason,omitempty"`
	Attempt      int       `json:"attempt,omitempty"`
	Usage        Usage     `json:"usage,omitzero"`
	MicroDollars int64     `json:"micro_dollars,omitempty"`
	Milliseconds int64     `json:"ms,omitempty"`
	ErrorKind    ErrorKind `json:"error_kind,omitempty"`
	Error        string    `json:"error,omitempty"`
	Kept         bool      `json:"kept,omitempty"`
	Nested       bool      `json:"nested,omitempty"`
	Estimated    bool      `json:"estimated,omitempty"`
}

// Route returns the log's form of an attempt.
func (r *Routed) Route() Route {
	out := Route{ID: r.ID, Parent: r.Parent, Router: r.Router, Model: r.Model, Reason: r.Reason, Attempt: r.Attempt, Usage: r.Usage,
		MicroDollars: r.MicroDollars, Milliseconds: r.Duration.Milliseconds(), Kept: r.Kept, Nested: r.Nested, Estimated: r.Estimated}
	if r.Err != nil {
		out.ErrorKind, out.Error = AsModelError(r.Err).Kind, validText(r.Err.Error())
	}
	return out
}
