package agent

import "sync"

// routeTab is a run's account of the routers that its model calls go through. An attempt whose
// answer the run never sees is charged as soon as it is reported; the cost of the answer that is
// kept is charged with the answer itself.
type routeTab struct {
	trace   RouteTrace
	session *Session
	account *account
	out     *mailbox

	mu      sync.Mutex // guards the fields below: routers report from any goroutine
	kept    Usage      // usage of the attempts in the current call whose chunks the run receives
	cost    int64
	routed  bool    // a router reported an attempt of the current call
	guessed bool    // some of kept is an estimate
	priced  bool    // at least one had a price
	pending []Route // for the log entry that records the call
	err     error   // error of writing an entry
	lost    quote   // attempts of the current call whose answers were discarded
	model   string  // that gave the answer of the current call
}

// open subscribes the run to the reports of its routers.
func (t *routeTab) open() {
	t.trace.Routing = func(ev Routing) { t.out.post(ev) }
	t.trace.Routed = t.record
}

// record handles an attempt that ended, on any goroutine.
func (t *routeTab) record(ev Routed) {
	ev.Usage.clamp()
	ev.MicroDollars = max(ev.MicroDollars, 0)
	lost := !ev.Kept && !ev.Nested
	t.mu.Lock()
	t.routed = true
	if lost {
		t.lost = quote{usage: t.lost.usage.Add(ev.Usage), cost: t.lost.cost + ev.MicroDollars, estimated: t.lost.estimated || ev.Estimated}
	}
	if ev.Kept && !ev.Nested {
		t.model = ev.Model
		t.guessed = t.guessed || ev.Estimated
		t.kept, t.cost, t.priced = t.kept.Add(ev.Usage), t.cost+ev.MicroDollars, true
	}
	if !lost && t.session.log != nil {
		t.pending = append(t.pending, ev.Route())
	}
	t.mu.Unlock()
	if lost {
		if err := t.account.spend(&stepMeta{usage: ev.Usage, cost: ev.MicroDollars, routes: []Route{ev.Route()}, estimated: ev.Estimated}); err != nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
		}
	}
	t.out.post(ev)
}

// reset prepares for the next model call.
func (t *routeTab) reset() {
	t.mu.Lock()
	t.kept, t.cost, t.priced, t.routed, t.guessed = Usage{}, 0, false, false, false
	t.lost, t.model = quote{}, ""
	t.mu.Unlock()
}

// quote is the cost of a model call, as an [Op] reports it.
type quote struct {
	usage     Usage
	cost      int64
	estimated bool
	model     string // the member of a router that answered; empty if none reported
}

// quote returns what bill would return for usage u, with the attempts that were charged already
// since the last quote.
func (t *routeTab) quote(u Usage) quote {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept != (Usage{}) {
		u = t.kept
	}
	cost := t.cost
	if !t.priced && t.account.price != nil {
		cost = t.account.price.Cost(u)
	}
	q := quote{u.Add(t.lost.usage), cost + t.lost.cost, t.guessed || t.lost.estimated, t.model}
	t.lost = quote{}
	return q
}

// reported reports whether a router has reported attempts of the current call, so that its usage
// must not be estimated once more.
func (t *routeTab) reported() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.routed
}

// bill returns the cost to the run of a model call that reported usage u, and empties the tab. The
// reports of a router take precedence: it has the price of the model that answered, and estimates
// usage that a model did not report.
func (t *routeTab) bill(u Usage) (meta stepMeta, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept != (Usage{}) {
		u = t.kept
	}
	meta = stepMeta{usage: u, cost: t.cost, routes: t.pending, estimated: t.guessed}
	if !t.priced {
		meta.cost = t.account.priceOf(u)
	}
	err = t.err
	t.kept, t.cost, t.priced, t.guessed, t.pending, t.err = Usage{}, 0, false, false, nil, nil
	return meta, err
}
