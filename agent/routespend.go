package agent

import "sync"

// routeTab is a run's account with the routers that its model calls go through. What an attempt spent whose answer the
// run never sees is charged as it is told; the cost of the answer that is kept waits for the answer itself.
type routeTab struct {
	trace RouteTrace

	mu      sync.Mutex
	kept    Usage // of the attempts of the call in progress whose chunks the run is given
	cost    int64
	priced  bool    // there were any
	pending []Route // for the log entry that records the call
	err     error   // an entry could not be written
}

// openTab makes the run hear of its routers.
func (r *run) openTab() {
	t := &r.routes
	t.trace.Routing = func(ev Routing) { r.post(ev) }
	t.trace.Routed = r.routed
}

// routed takes in an attempt that ended, on any goroutine.
func (r *run) routed(ev Routed) {
	ev.Usage.clamp()
	ev.MicroDollars = max(ev.MicroDollars, 0)
	t := &r.routes
	lost := !ev.Kept && !ev.Nested
	t.mu.Lock()
	if ev.Kept && !ev.Nested {
		t.kept, t.cost, t.priced = t.kept.Add(ev.Usage), t.cost+ev.MicroDollars, true
	}
	if !lost && r.session.log != nil {
		t.pending = append(t.pending, ev.Route())
	}
	t.mu.Unlock()
	if lost {
		r.charge(ev.Usage, ev.MicroDollars, 0)
		if err := r.session.addSpend(ev.Usage, ev.MicroDollars, ev.Route()); err != nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
		}
	}
	r.post(ev)
}

// resetTab prepares for the next model call.
func (r *run) resetTab() {
	t := &r.routes
	t.mu.Lock()
	t.kept, t.cost, t.priced = Usage{}, 0, false
	t.mu.Unlock()
}

// settleTab says what a model call cost that reported usage u to the run, once: the tab is empty afterwards. A router
// knows better: it has the price of the model that answered, and estimates what a model did not come to report.
func (r *run) settleTab(u Usage) (meta stepMeta, err error) {
	t := &r.routes
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept != (Usage{}) {
		u = t.kept
	}
	meta = stepMeta{usage: u, cost: t.cost, routes: t.pending}
	if !t.priced {
		meta.cost = r.priceOf(u)
	}
	err = t.err
	t.kept, t.cost, t.priced, t.pending, t.err = Usage{}, 0, false, nil, nil
	return meta, err
}
