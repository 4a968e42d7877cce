package router

// Judgement is the result of checking an attempt. It is not an agent.Verdict, which decides
// whether a tool call may run.
type Judgement uint8

// Verdict is the old name of Judgement.
//
// Deprecated: use [Judgement].
type Verdict = Judgement

// The judgements. The zero value means that there is no opinion, for example because the check
// could not run.
const (
	Unchecked Judgement = iota
	Passed
	Rejected
)

// String names the judgement.
func (v Judgement) String() string {
	switch v {
	case Passed:
		return "passed"
	case Rejected:
		return "rejected"
	}
	return "unchecked"
}

func verdictOf(ok bool) Judgement {
	if ok {
		return Passed
	}
	return Rejected
}

// Check holds the error rates of a check. The zero value is a check without errors.
type Check struct {
	FalseAccept float64 // share of wrong attempts that the check passes
	FalseReject float64 // share of right attempts that the check rejects
}

// likelihood returns the probability of v for a right and for a wrong attempt.
func (c Check) likelihood(v Judgement) (right, wrong float64) {
	switch v {
	case Passed:
		return 1 - c.FalseReject, c.FalseAccept
	case Rejected:
		return c.FalseReject, 1 - c.FalseAccept
	}
	return 1, 1
}

// Tried is a candidate's attempt at the current task.
type Tried struct {
	Candidate int
	Verdict   Judgement
	Broken    bool // it returned nothing usable and is known to be wrong
	Absent    bool // it could not try, for example because it was unreachable, so nothing is learned from it
}

// belief is the state of Odds after some verdicts. The weights of the kinds sum to 1.
type belief struct {
	odds    *Odds
	check   Check
	weights []float64
}

// believe applies Bayes' rule to what was tried.
func (o *Odds) believe(check Check, tried []Tried) belief {
	b := belief{odds: o, check: check, weights: make([]float64, len(o.kinds))}
	for i := range o.kinds {
		b.weights[i] = o.kinds[i].weight
	}
	for _, t := range tried {
		right, wrong := b.chances(t)
		b.shift(b.weights, t.Candidate, right, wrong)
	}
	b.normalise()
	return b
}

// chances returns the probability of the outcome in t for a right and for a wrong attempt.
func (b belief) chances(t Tried) (right, wrong float64) {
	switch {
	case t.Absent:
		return 1, 1
	case t.Broken:
		return 0, 1
	}
	return b.check.likelihood(t.Verdict)
}

// shift multiplies the weights by the likelihood of an observation about a candidate and returns
// their sum.
func (b belief) shift(weights []float64, candidate int, right, wrong float64) float64 {
	sum := 0.0
	for i := range weights {
		p := b.odds.kinds[i].resolve[candidate]
		weights[i] *= p*right + (1-p)*wrong
		sum += weights[i]
	}
	return sum
}

// normalise makes the weights sum to 1. If the observation was impossible (such as a perfect check
// that passed an unsolvable task), the original weights are kept.
func (b *belief) normalise() {
	sum := 0.0
	for _, w := range b.weights {
		sum += w
	}
	if sum <= 0 {
		for i := range b.weights {
			b.weights[i] = b.odds.kinds[i].weight
			sum += b.weights[i]
		}
	}
	for i := range b.weights {
		b.weights[i] /= sum
	}
}

// expect returns the probability that an untried candidate solves the task, and the expected cost.
func (b belief) expect(candidate int) (resolve, dollars float64) {
	for i, w := range b.weights {
		resolve += w * b.odds.kinds[i].resolve[candidate]
		dollars += w * b.odds.kinds[i].dollars[candidate]
	}
	return resolve, dollars
}

// right returns the probability that an attempt which is already part of the belief is right.
func (b belief) right(t Tried) float64 {
	right, wrong := b.chances(t)
	sum := 0.0
	for i, w := range b.weights {
		p := b.odds.kinds[i].resolve[t.Candidate]
		if all := p*right + (1-p)*wrong; all > 0 {
			sum += w * p * right / all
		}
	}
	return sum
}

// best returns the candidate whose attempt is most likely right, and its probability. If two are
// equally likely, it returns the later one. If no attempt is usable, the candidate is -1.
func (b belief) best(tried []Tried) (candidate int, right float64) {
	candidate = -1
	for _, t := range tried {
		if t.Broken || t.Absent {
			continue
		}
		if p := b.right(t); candidate < 0 || p >= right {
			candidate, right = t.Candidate, p
		}
	}
	return candidate, right
}
