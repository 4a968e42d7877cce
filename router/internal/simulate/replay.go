package simulate

// Attempt is a policy's record of a model's attempt at a task: which model, and the check's
// verdict.
type Attempt struct {
	Model  int
	Passed bool
}

// Policy chooses the models for one task. Next receives the attempts so far and their cost. It
// returns the model that tries next, or -1 to stop, and the attempt to hand in if it stops.
type Policy interface {
	Next(tried []Attempt, spent float64) (next, best int)
}

// Check holds the error rates of a check.
type Check struct {
	FalseAccept float64 // share of wrong attempts that it passes
	FalseReject float64 // share of right attempts that it rejects
}

// Score is the result of a policy on one task, or on average: the share that is resolved and the
// dollars spent.
type Score struct{ Resolved, Dollars float64 }

// Replay runs a policy on a task and returns its expected score over all possible verdicts of the
// check. A model that is missing in the table produces nothing and costs nothing.
func Replay(t *Task, p Policy, c Check) Score {
	return replay(t, p, c, nil, 0, 1)
}

// negligible is the probability below which a sequence of verdicts is left out.
const negligible = 1e-9

func replay(t *Task, p Policy, c Check, tried []Attempt, spent, chance float64) Score {
	next, best := p.Next(tried, spent)
	if next < 0 || next >= len(t.Results) || len(tried) >= len(t.Results) {
		var s Score
		if best >= 0 && best < len(t.Results) && t.Results[best].Resolved {
			s.Resolved = 1
		}
		return s
	}
	r := t.Results[next]
	pass := c.FalseAccept
	if r.Resolved {
		pass = 1 - c.FalseReject
	}
	if r.Missing {
		pass = 0
	}
	s := Score{Dollars: r.Dollars}
	for _, way := range [...]struct {
		passed bool
		p      float64
	}{{true, pass}, {false, 1 - pass}} {
		if way.p*chance < negligible {
			continue
		}
		after := replay(t, p, c, append(tried[:len(tried):len(tried)], Attempt{Model: next, Passed: way.passed}), spent+r.Dollars, chance*way.p)
		s.Resolved += way.p * after.Resolved
		s.Dollars += way.p * after.Dollars
	}
	return s
}

// Single is the policy that always asks one model.
type Single int

// Next asks the model once.
func (s Single) Next(tried []Attempt, _ float64) (next, best int) {
	if len(tried) == 0 {
		return int(s), -1
	}
	return -1, int(s)
}

// Random returns the expected score of asking a model drawn at random.
func Random(t *Task) Score {
	var s Score
	for i := range t.Results {
		one := Replay(t, Single(i), Check{})
		s.Resolved += one.Resolved / float64(len(t.Results))
		s.Dollars += one.Dollars / float64(len(t.Results))
	}
	return s
}

// Oracle returns the score of a policy that knows the outcomes: the cheapest model that resolves
// the task, or the cheapest of all if none does.
func Oracle(t *Task) Score {
	best := -1
	for i, r := range t.Results {
		if r.Missing {
			continue
		}
		if best < 0 || (r.Resolved && !t.Results[best].Resolved) ||
			(r.Resolved == t.Results[best].Resolved && r.Dollars < t.Results[best].Dollars) {
			best = i
		}
	}
	if best < 0 {
		return Score{}
	}
	return Replay(t, Single(best), Check{})
}
