package router

// stateKey identifies a state: the candidates' attempts so far, in four bits per candidate, and the
// set of candidates that may still try.
type stateKey struct {
	tried uint64
	open  uint32
}

func keyOf(tried []Tried, open uint32) stateKey {
	k := stateKey{open: open}
	for _, t := range tried {
		v := uint64(t.Verdict) + 1
		switch {
		case t.Absent:
			v = 5
		case t.Broken:
			v = 4
		}
		k.tried |= v << (4 * t.Candidate)
	}
	return k
}

// lookahead computes the values of the states that may follow, each only once: the order of the
// attempts that led to a state does not matter.
type lookahead struct {
	e    *Escalation
	seen map[stateKey]float64
}

// attempt returns the value of letting candidate j try next and continuing as well as possible.
func (l *lookahead) attempt(tried []Tried, b belief, open uint32, j int) float64 {
	_, dollars := b.expect(j)
	value := -dollars
	for _, v := range [...]Verdict{Passed, Rejected} {
		next := belief{odds: b.odds, check: b.check, weights: append([]float64(nil), b.weights...)}
		right, wrong := b.check.likelihood(v)
		p := next.shift(next.weights, j, right, wrong)
		if p <= 1e-12 {
			continue
		}
		next.normalise()
		value += p * l.value(append(tried[:len(tried):len(tried)], Tried{Candidate: j, Verdict: v}), next, open&^(1<<j))
	}
	return value
}

// value returns the value of a state: the value of stopping there or of the best attempt, whichever
// is higher.
func (l *lookahead) value(tried []Tried, b belief, open uint32) float64 {
	key := keyOf(tried, open)
	if v, ok := l.seen[key]; ok {
		return v
	}
	_, right := b.best(tried)
	best := l.e.cfg.Worth * right
	if attempts(tried) < l.e.cfg.Attempts && l.e.cfg.Worth-best > 1e-9 {
		for j := range l.e.cfg.Candidates {
			if open&(1<<j) != 0 {
				best = max(best, l.attempt(tried, b, open, j))
			}
		}
	}
	l.seen[key] = best
	return best
}

// Expect returns the decider's own expectation: the share of tasks that are solved in the end, and
// the dollars per task. It needs Odds and ignores the cost limit. Without Odds it returns zeros.
func (e *Escalation) Expect() (resolved, dollars float64) {
	if e.cfg.Odds == nil {
		return 0, 0
	}
	return e.expect(nil, e.cfg.Odds.believe(e.cfg.Check, nil), 0)
}

func (e *Escalation) expect(tried []Tried, b belief, spent float64) (resolved, dollars float64) {
	s := e.Next(tried, spent)
	if s.Candidate < 0 {
		return s.Right, 0
	}
	_, dollars = b.expect(s.Candidate)
	for _, v := range [...]Verdict{Passed, Rejected} {
		next := belief{odds: b.odds, check: b.check, weights: append([]float64(nil), b.weights...)}
		right, wrong := b.check.likelihood(v)
		p := next.shift(next.weights, s.Candidate, right, wrong)
		if p <= 1e-12 {
			continue
		}
		next.normalise()
		r, d := e.expect(append(tried[:len(tried):len(tried)], Tried{Candidate: s.Candidate, Verdict: v}), next, spent+s.Dollars)
		resolved, dollars = resolved+p*r, dollars+p*d
	}
	return resolved, dollars
}

// Blend is a mixture of two worths, one of which is drawn for each task. As the worth grows, the
// average cost increases in jumps; only a mixture can spend an amount in between.
type Blend struct {
	Low, High float64 // dollars that a right answer is worth
	Share     float64 // share of the tasks that use High
}

// Pick returns the worth for one task, given a number drawn uniformly from [0,1).
func (b Blend) Pick(u float64) float64 {
	if u < b.Share {
		return b.High
	}
	return b.Low
}

// WorthFor returns the worths with which an escalation, according to its odds, solves the most
// tasks at an average cost of at most the given dollars per task. If even the cheapest way costs
// more, it returns the worth of the cheapest way.
func WorthFor(cfg EscalationConfig, dollars float64) (Blend, error) {
	spends := func(worth float64) (float64, error) {
		cfg.Worth = worth
		e, err := NewEscalation(cfg)
		if err != nil {
			return 0, err
		}
		_, d := e.Expect()
		return d, nil
	}
	b := Blend{Low: 1e-6, High: 1000 * max(dollars, 0.001)}
	low, err := spends(b.Low)
	if err != nil {
		return b, err
	}
	high, err := spends(b.High)
	for range 40 {
		if err != nil || high <= dollars || low > dollars {
			break
		}
		mid := (b.Low + b.High) / 2
		var d float64
		if d, err = spends(mid); d <= dollars {
			b.Low, low = mid, d
		} else {
			b.High, high = mid, d
		}
	}
	switch {
	case high <= dollars:
		b.Share = 1
	case low <= dollars && high > low:
		b.Share = (dollars - low) / (high - low)
	}
	return b, err
}
