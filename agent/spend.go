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

// guess estimates the tokens of a response that came without usage, at four bytes each, so that Limits.Tokens holds for
// such models too.
func (r *run) guess(resp *Response) int64 {
	if resp.Usage != (Usage{}) {
		return 0
	}
	return r.session.estimate() + int64(partsSize(resp.Message.Parts)/4)
}

// chargeFailed counts the usage that a failed attempt reported before it broke: it is paid for all the same.
func (r *run) chargeFailed() error {
	u := r.builder.usage
	if u == (Usage{}) {
		return nil
	}
	r.builder.usage = Usage{}
	cost := r.priceOf(u)
	r.charge(u, cost, 0)
	return r.session.addSpend(u, cost)
}
