package agent

import "fmt"

// charge adds what a model call cost to the run, and to every run above it as it is spent, so that sub-agents that run
// side by side cannot each use up the whole of what is left. Guess counts tokens that no usage was reported for.
func (r *run) charge(u Usage, cost, guess int64) {
	for p := r; p != nil; p = p.agent.parent {
		p.mu.Lock()
		p.spent = p.spent.Add(u)
		p.cost += cost
		p.guessed += guess
		p.mu.Unlock()
	}
}

// foldSpend copies what was spent into the result.
func (r *run) foldSpend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Usage, r.res.MicroDollars = r.spent, r.cost
}

// used returns the tokens and micro-dollars that count against the limits.
func (r *run) used() (tokens, cost int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spent.Total() + r.guessed, r.cost
}

// overspent reports whether the tokens or the money of the run are used up.
func (r *run) overspent() (StopReason, string) {
	l := &r.agent.cfg.Limits
	tokens, cost := r.used()
	switch {
	case l.Tokens > 0 && tokens >= l.Tokens:
		return StopTokens, fmt.Sprintf("the limit of %d tokens was reached", l.Tokens)
	case l.MicroDollars > 0 && cost >= l.MicroDollars:
		return StopCost, fmt.Sprintf("the cost limit of $%.2f was reached", float64(l.MicroDollars)/1e6)
	}
	return "", ""
}

func (r *run) priceOf(u Usage) int64 {
	if r.agent.price == nil {
		return 0
	}
	return r.agent.price.Cost(u)
}

// guess estimates the tokens of a response that came without usage, so that Limits.Tokens holds for such models too.
func (r *run) guess(resp *Response) int64 {
	if resp.Usage != (Usage{}) {
		return 0
	}
	return r.session.estimate() + int64(partsTokens(resp.Message.Parts))
}

// chargeFailed counts what a failed attempt reported before it broke: it is paid for all the same.
func (r *run) chargeFailed() error {
	u := r.builder.usage
	r.builder.usage = Usage{}
	meta, err := r.settleTab(u)
	if err != nil || meta.free() {
		return err
	}
	r.charge(meta.usage, meta.cost, 0)
	return r.session.addSpend(meta.usage, meta.cost, meta.routes...)
}

// stepMeta is what a model call cost.
type stepMeta struct {
	usage  Usage
	cost   int64
	finish FinishReason
	routes []Route
}

// free reports whether there is nothing to record.
func (m *stepMeta) free() bool { return m.usage == Usage{} && m.cost == 0 && len(m.routes) == 0 }

// addSpend records tokens spent by something else than a model call that gave the session a message, and the attempts
// of routers that they were spent on.
func (s *Session) addSpend(u Usage, microDollars int64, routes ...Route) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(&Entry{Type: EntrySpend, Usage: &u, MicroDollars: microDollars, Routes: routes}); err != nil {
		return err
	}
	s.usage = s.usage.Add(u)
	s.cost += microDollars
	return nil
}
