package agent

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// account holds what a run has spent and compares it with the limits. The accounts of sub-agents
// are children of the account of the run that called them.
type account struct {
	session *Session // its log records what was spent
	limits  *Limits
	price   *Price   // nil if the model has none
	parent  *account // of the run that called this one; nil at the top
	now     func() time.Time
	started time.Time

	whole      SessionLimits // of the session
	before     int64         // tokens that the session had spent when the run began
	beforeCost int64

	mu        sync.Mutex // guards the fields below, to which tools and sub-agents add
	spent     Usage
	cost      int64
	estimated Usage // usage of calls that the provider did not report in full
	guessed   int64 // tokens of responses without usage; only for the limit
	free      bool  // some calls have no known price
}

// charge adds the cost of a model call to the run and immediately to every run above it, so that
// concurrent sub-agents cannot each use up all that is left. guess counts tokens of a complete
// response for which no usage was reported.
func (a *account) charge(m *stepMeta, guess int64) {
	for ; a != nil; a = a.parent {
		a.mu.Lock()
		a.spent = a.spent.Add(m.usage)
		if m.estimated {
			a.estimated = a.estimated.Add(m.usage)
		}
		a.cost += m.cost
		a.guessed += guess
		a.mu.Unlock()
	}
}

// spend charges a call that added no message to the session, and records it.
func (a *account) spend(m *stepMeta) error {
	a.charge(m, 0)
	return a.session.addSpend(m)
}

// total returns what was spent, as reported in the result, and how much of it is estimated.
func (a *account) total() (spent, estimated Usage, cost int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent, a.estimated, a.cost
}

// used returns the tokens and micro-dollars that count against the limits.
func (a *account) used() (tokens, cost int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent.Total() + a.guessed, a.cost
}

// overspent returns the reason to end the run if its tokens or money, or those of a run above it,
// are used up.
func (a *account) overspent() (StopReason, string) {
	for ; a != nil; a = a.parent {
		tokens, cost := a.used()
		switch l := a.limits; {
		case l.Tokens > 0 && tokens >= l.Tokens:
			return StopTokens, fmt.Sprintf("the limit of %d tokens was reached", l.Tokens)
		case l.MicroDollars > 0 && cost >= l.MicroDollars:
			return StopCost, fmt.Sprintf("the cost limit of $%.2f was reached", float64(l.MicroDollars)/1e6)
		}
		switch l := a.whole; {
		case l.Tokens > 0 && a.before+tokens >= l.Tokens:
			return StopTokens, fmt.Sprintf("the session's limit of %d tokens was reached", l.Tokens)
		case l.MicroDollars > 0 && a.beforeCost+cost >= l.MicroDollars:
			return StopCost, fmt.Sprintf("the session's cost limit of $%.2f was reached", float64(l.MicroDollars)/1e6)
		}
	}
	return "", ""
}

// priceOf returns the cost of a call according to the price table. Without a price the cost is 0,
// and the run and every run above it note that their cost is not complete.
func (a *account) priceOf(u Usage) int64 {
	if a.price != nil {
		return a.price.Cost(u)
	}
	if u != (Usage{}) {
		for ; a != nil; a = a.parent {
			a.mu.Lock()
			a.free = true
			a.mu.Unlock()
		}
	}
	return 0
}

// unpriced reports whether some calls have no known price.
func (a *account) unpriced() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.free
}

// remaining limits a sub-agent to what is left of this run's limits.
func (a *account) remaining(l Limits) (Limits, error) {
	tokens, cost := a.used()
	l.Tokens = bound(l.Tokens, a.limits.Tokens, tokens)
	l.MicroDollars = bound(l.MicroDollars, a.limits.MicroDollars, cost)
	if a.whole.Tokens > 0 {
		l.Tokens = bound(l.Tokens, a.whole.Tokens, a.before+tokens)
	}
	if a.whole.MicroDollars > 0 {
		l.MicroDollars = bound(l.MicroDollars, a.whole.MicroDollars, a.beforeCost+cost)
	}
	l.Wall = bound(l.Wall, a.limits.Wall, a.now().Sub(a.started))
	if l.Tokens == 0 || l.MicroDollars == 0 || l.Wall == 0 {
		return l, errors.New("nothing is left of the budget for a sub-agent; finish with what you know")
	}
	return l, nil
}

// bound returns the smaller of limit and what is left of outer. A negative limit means no limit,
// and 0 means nothing is left.
func bound[T int64 | time.Duration](limit, outer, used T) T {
	if outer < 0 {
		return limit
	}
	left := max(outer-used, 0)
	if limit < 0 || left < limit {
		return left
	}
	return limit
}

// stepMeta holds the usage, the cost and the finish of one model call.
type stepMeta struct {
	usage  Usage
	cost   int64
	finish FinishReason
	routes []Route

	estimated bool // the usage was not reported in full
}

// bill adds up what one tool call spent.
type bill struct {
	mu        sync.Mutex // guards the fields below
	usage     Usage
	cost      int64
	estimated bool
}

func (b *bill) add(u Usage, cost int64, estimated bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usage, b.cost, b.estimated = b.usage.Add(u), b.cost+cost, b.estimated || estimated
}

func (b *bill) total() (u Usage, cost int64, estimated bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usage, b.cost, b.estimated
}

// free reports whether there is nothing to record.
func (m *stepMeta) free() bool { return m.usage == Usage{} && m.cost == 0 && len(m.routes) == 0 }

// addGuess counts tokens of an answer for which no usage was reported.
func (s *Session) addGuess(tokens int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guessed += tokens
}

// spentBefore returns the tokens and micro-dollars that count against the session's limits.
func (s *Session) spentBefore() (tokens, cost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage.Total() + s.guessed, s.cost
}

// addSpend records tokens spent on anything other than a model call that added a message to the
// session, with the router attempts that they were spent on.
func (s *Session) addSpend(m *stepMeta) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(&Entry{Type: EntrySpend, Usage: &m.usage, MicroDollars: m.cost, Routes: m.routes, Estimated: m.estimated}); err != nil {
		return err
	}
	s.usage = s.usage.Add(m.usage)
	s.cost += m.cost
	return nil
}
