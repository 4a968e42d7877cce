package router

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// maxCandidates limits the number of candidates that are weighed against each other: a task has up
// to 3^n states for n candidates.
const maxCandidates = 8

// maxMemo limits the number of decisions that an Escalation remembers.
const maxMemo = 1 << 14

// EscalationConfig describes an [Escalation].
type EscalationConfig struct {
	Candidates int   // number of candidates; 0 takes the number from Odds
	Odds       *Odds // model of the candidates' success; if nil or InOrder, candidates are tried in order until one passes
	InOrder    bool
	Check      Check // error rates of the check

	// Worth is the value of a right answer in dollars; 0 means 1. Another attempt is made if the
	// value that it is expected to add exceeds its cost. Worth has no effect if candidates are
	// tried in order.
	Worth float64

	Attempts int     // limit of attempts per task; 0 means one attempt per candidate
	Dollars  float64 // no attempt is begun if it is expected to raise a task's cost above this; 0 means no limit
}

// Escalation decides which candidate tries a task next and when to stop. It maximises the expected
// value by looking ahead over all possible sequences of attempts. It holds no state of a task and
// may be shared; [Cascade], [CascadeRuns] and the developers' simulator of outcomes use it.
type Escalation struct {
	cfg EscalationConfig

	mu   sync.Mutex
	memo map[stateKey]Step // earlier decisions; states repeat from task to task
}

// Step is the next thing to do for a task.
type Step struct {
	Candidate int     // who tries next; -1 to stop
	Best      int     // the attempt that is most likely right, -1 if none is usable
	Right     float64 // probability that Best is right; 0 if Odds is nil and no check passed Best
	Gain      float64 // dollars that another attempt is expected to add, compared with stopping; 0 when stopping
	Resolve   float64 // probability that Candidate solves the task
	Dollars   float64 // expected cost of Candidate's attempt
	Why       Why     // reason for the decision
}

// Why is the reason for a [Step], in one sentence.
type Why string

// The reasons of an [Escalation].
const (
	WhyFirst     Why = "it is the first choice"
	WhyRejected  Why = "the attempts so far did not pass"
	WhyGain      Why = "another attempt is worth more than it costs"
	WhyPassed    Why = "an attempt passed"
	WhyNoGain    Why = "another attempt costs more than it is expected to add"
	WhyExhausted Why = "every candidate was tried"
	WhyAttempts  Why = "the limit of attempts was reached"
	WhyDollars   Why = "another attempt would exceed the limit of cost"
)

// NewEscalation checks cfg and returns the decider.
func NewEscalation(cfg EscalationConfig) (*Escalation, error) {
	if cfg.Odds != nil && cfg.Candidates == 0 {
		cfg.Candidates = cfg.Odds.candidates
	}
	switch {
	case cfg.Candidates <= 0:
		return nil, errors.New("router: new escalation: there are no candidates; set Candidates or Odds")
	case cfg.Odds != nil && cfg.Odds.candidates != cfg.Candidates:
		return nil, fmt.Errorf("router: new escalation: Odds has %d candidates, not %d", cfg.Odds.candidates, cfg.Candidates)
	case !(cfg.Worth >= 0) || math.IsInf(cfg.Worth, 0):
		return nil, fmt.Errorf("router: new escalation: Worth is %v; it must be 0 or more dollars", cfg.Worth)
	case !(cfg.Dollars >= 0):
		return nil, fmt.Errorf("router: new escalation: Dollars is %v; it must be 0 or more", cfg.Dollars)
	case !share(cfg.Check.FalseAccept) || !share(cfg.Check.FalseReject):
		return nil, fmt.Errorf("router: new escalation: Check is %+v; both shares must lie from 0 to 1", cfg.Check)
	}
	if cfg.Worth == 0 {
		cfg.Worth = 1
	}
	if cfg.Attempts <= 0 || cfg.Attempts > cfg.Candidates {
		cfg.Attempts = cfg.Candidates
	}
	return &Escalation{cfg: cfg, memo: map[stateKey]Step{}}, nil
}

func share(x float64) bool { return x >= 0 && x <= 1 }

// Next decides from the attempts so far, oldest first, and their total cost in dollars.
func (e *Escalation) Next(tried []Tried, spent float64) Step {
	if e.cfg.Odds == nil || e.cfg.InOrder && e.cfg.Dollars > 0 {
		return e.inOrder(tried, spent)
	}
	open, barred := e.open(tried, spent)
	key := keyOf(tried, open)
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.memo[key]; ok {
		return s
	}
	var s Step
	if e.cfg.InOrder {
		s = e.inOrder(tried, spent)
	} else {
		s = e.decide(tried, open, barred)
	}
	if len(e.memo) >= maxMemo {
		clear(e.memo)
	}
	e.memo[key] = s
	return s
}

// open returns the set of candidates that may try next. If it is empty, the result why is the
// reason.
func (e *Escalation) open(tried []Tried, spent float64) (open uint32, why Why) {
	open = 1<<e.cfg.Candidates - 1
	for _, t := range tried {
		open &^= 1 << t.Candidate
	}
	why = WhyExhausted
	switch {
	case open != 0 && attempts(tried) >= e.cfg.Attempts:
		return 0, WhyAttempts
	case e.cfg.Dollars == 0 || e.cfg.Odds == nil:
		return open, why
	}
	b := e.cfg.Odds.believe(e.cfg.Check, tried)
	for j := range e.cfg.Candidates {
		if _, cost := b.expect(j); open&(1<<j) != 0 && spent+cost > e.cfg.Dollars {
			open &^= 1 << j
			why = WhyDollars
		}
	}
	return open, why
}

// attempts counts the candidates that have tried.
func attempts(tried []Tried) int {
	n := 0
	for _, t := range tried {
		n += 1 - btoi(t.Absent)
	}
	return n
}

// decide compares stopping with all sequences of attempts that may follow.
func (e *Escalation) decide(tried []Tried, open uint32, barred Why) Step {
	b := e.cfg.Odds.believe(e.cfg.Check, tried)
	s := Step{Candidate: -1, Why: WhyNoGain}
	s.Best, s.Right = b.best(tried)
	if open == 0 {
		s.Why = barred
		if n := len(tried); n > 0 && tried[n-1].Verdict == Passed {
			s.Why = WhyPassed
		}
		return s
	}
	look := lookahead{e: e, seen: map[stateKey]float64{}}
	stop, bar := e.cfg.Worth*s.Right, 0.0
	if s.Best < 0 {
		bar = math.Inf(-1) // an answer is needed: the best attempt is made even if it costs more than it is worth
	}
	for j := range e.cfg.Candidates {
		if open&(1<<j) == 0 {
			continue
		}
		if gain := look.attempt(tried, b, open, j) - stop; gain > bar {
			bar, s.Candidate, s.Gain = gain, j, gain
		}
	}
	if s.Candidate >= 0 {
		s.Resolve, s.Dollars = b.expect(s.Candidate)
	}
	switch {
	case s.Candidate >= 0 && attempts(tried) == 0:
		s.Why = WhyFirst
	case s.Candidate >= 0:
		s.Why = WhyGain
	case len(tried) > 0 && tried[len(tried)-1].Verdict == Passed:
		s.Why = WhyPassed
	}
	return s
}

// inOrder tries one candidate after another until one passes.
func (e *Escalation) inOrder(tried []Tried, spent float64) Step {
	s := Step{Candidate: -1, Best: -1}
	for _, t := range tried {
		switch {
		case t.Broken || t.Absent:
		case t.Verdict == Passed:
			s.Best, s.Why = t.Candidate, WhyPassed
		case s.Why != WhyPassed:
			s.Best = t.Candidate // the last one: candidates are ordered from weak to strong
		}
	}
	if e.cfg.Odds != nil {
		b := e.cfg.Odds.believe(e.cfg.Check, tried)
		s.Best, s.Right = b.best(tried)
	}
	if s.Why == WhyPassed {
		return s
	}
	next := len(tried)
	switch {
	case next >= e.cfg.Candidates:
		s.Why = WhyExhausted
	case attempts(tried) >= e.cfg.Attempts:
		s.Why = WhyAttempts
	default:
		e.follow(&s, tried, next, spent)
	}
	return s
}

// follow makes next the step's candidate, if the cost limit allows it.
func (e *Escalation) follow(s *Step, tried []Tried, next int, spent float64) {
	s.Why = WhyFirst
	if attempts(tried) > 0 {
		s.Why = WhyRejected
	}
	if e.cfg.Odds != nil {
		b := e.cfg.Odds.believe(e.cfg.Check, tried)
		s.Resolve, s.Dollars = b.expect(next)
	}
	if e.cfg.Dollars > 0 && spent+s.Dollars > e.cfg.Dollars {
		s.Why = WhyDollars
		return
	}
	s.Candidate = next
}
