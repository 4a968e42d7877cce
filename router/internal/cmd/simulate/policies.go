package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/router"
	"github.com/luthier-dev/luthier/router/internal/simulate"
)

// play runs a policy on one task and returns the expected score.
type play func(t *simulate.Task) simulate.Score

// contender is a policy to be measured. One that learns is given tasks other than those it is
// measured on.
type contender struct {
	name  string
	kind  kind
	learn func(train []simulate.Task) (play, error)
}

// kind groups contenders in the plot.
type kind int

const (
	single kind = iota
	fixed
	weighed
	budgeted
	bandit
	bound
)

// known returns a contender that has nothing to learn.
func known(name string, k kind, p play) contender {
	return contender{name: name, kind: k, learn: func([]simulate.Task) (play, error) { return p, nil }}
}

// singles returns the contenders that use one model alone.
func singles(t *simulate.Table, c simulate.Check) []contender {
	var all []contender
	for i, name := range t.Models {
		all = append(all, known(name, single, func(t *simulate.Task) simulate.Score {
			return simulate.Replay(t, simulate.Single(i), c)
		}))
	}
	return all
}

// bounds returns the policies that need no decision or know everything.
func bounds() []contender {
	return []contender{known("random", bound, simulate.Random), known("oracle", bound, simulate.Oracle)}
}

// fixedOrders returns the cascades of every order and length from two on, which try models in order
// until one passes.
func fixedOrders(t *simulate.Table, c simulate.Check) []contender {
	var all []contender
	for _, order := range orders(len(t.Models)) {
		var names []string
		for _, m := range order {
			names = append(names, t.Models[m])
		}
		all = append(all, contender{name: strings.Join(names, " > "), kind: fixed, learn: func(train []simulate.Task) (play, error) {
			return cascade(train, order, c, router.EscalationConfig{InOrder: true, Check: checkOf(c)})
		}})
	}
	return all
}

// orders returns every order of two or more of n things, or nil if there are too many.
func orders(n int) [][]int {
	if n > 6 {
		return nil // 7 models have 13,692 orders
	}
	var all [][]int
	var grow func(head []int)
	grow = func(head []int) {
		if len(head) >= 2 {
			all = append(all, slices.Clone(head))
		}
		for m := range n {
			if !slices.Contains(head, m) {
				grow(append(head[:len(head):len(head)], m))
			}
		}
	}
	grow(nil)
	return all
}

// byWorth returns the cascade that weighs another attempt against the worth of a right answer. It
// assumes the check has the error rates in believed.
func byWorth(t *simulate.Table, c, believed simulate.Check, worth float64) contender {
	return contender{name: fmt.Sprintf("cascade, worth $%g", worth), kind: weighed, learn: func(train []simulate.Task) (play, error) {
		return cascade(train, field(t, train), c, router.EscalationConfig{Check: checkOf(believed), Worth: worth})
	}}
}

// byBudget returns the cascade whose worth is set so that a task costs the given dollars on
// average, according to the training tasks.
func byBudget(t *simulate.Table, c, believed simulate.Check, dollars float64) contender {
	return contender{name: fmt.Sprintf("cascade, $%g a task", dollars), kind: budgeted, learn: func(train []simulate.Task) (play, error) {
		models := field(t, train)
		odds, err := learnOdds(train, models)
		if err != nil {
			return nil, err
		}
		cfg := router.EscalationConfig{Odds: odds, Check: checkOf(believed)}
		b, err := router.WorthFor(cfg, dollars)
		if err != nil {
			return nil, err
		}
		low, err := decide(models, c, cfg, b.Low)
		if err != nil {
			return nil, err
		}
		high, err := decide(models, c, cfg, b.High)
		return func(t *simulate.Task) simulate.Score {
			l, h := low(t), high(t) // a task uses one of the two at random: this is the mean of both
			return simulate.Score{
				Resolved: l.Resolved + b.Share*(h.Resolved-l.Resolved),
				Dollars:  l.Dollars + b.Share*(h.Dollars-l.Dollars),
			}
		}, err
	}}
}

// cascade returns the router's decider with odds learned from tasks.
func cascade(train []simulate.Task, order []int, c simulate.Check, cfg router.EscalationConfig) (play, error) {
	odds, err := learnOdds(train, order)
	if err != nil {
		return nil, err
	}
	cfg.Odds = odds
	return decide(order, c, cfg, cfg.Worth)
}

func decide(order []int, c simulate.Check, cfg router.EscalationConfig, worth float64) (play, error) {
	cfg.Worth = worth
	e, err := router.NewEscalation(cfg)
	p := &escalating{e: e, order: order}
	return func(t *simulate.Task) simulate.Score { return simulate.Replay(t, p, c) }, err
}

// learnOdds learns the odds of the models in order.
func learnOdds(tasks []simulate.Task, order []int) (*router.Odds, error) {
	rows := make([][]router.Trial, len(tasks))
	for i, t := range tasks {
		for _, m := range order {
			r := t.Results[m]
			rows[i] = append(rows[i], router.Trial{Missing: r.Missing, Resolved: r.Resolved, Dollars: r.Dollars})
		}
	}
	return router.LearnOdds(rows)
}

func checkOf(c simulate.Check) router.Check {
	return router.Check{FalseAccept: c.FalseAccept, FalseReject: c.FalseReject}
}

// maxField is the number of models that the router can weigh against each other.
const maxField = 8

// field returns the models that are weighed: all, or if there are too many, the three cheapest and
// those that resolve most of the training tasks.
func field(t *simulate.Table, train []simulate.Task) []int {
	all := make([]int, len(t.Models))
	scores := make([]simulate.Score, len(all))
	for m := range all {
		all[m] = m
		for i := range train {
			s := simulate.Replay(&train[i], simulate.Single(m), simulate.Check{})
			scores[m].Resolved += s.Resolved
			scores[m].Dollars += s.Dollars
		}
	}
	if len(all) <= maxField {
		return all
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(scores[a].Dollars, scores[b].Dollars) })
	slices.SortStableFunc(all[3:], func(a, b int) int { return cmp.Compare(scores[b].Resolved, scores[a].Resolved) })
	return all[:maxField]
}

// escalating plays the router's own decider in the simulator.
type escalating struct {
	e     *router.Escalation
	order []int // from candidate to model
	tried []router.Tried
}

// Next asks the decider.
func (p *escalating) Next(tried []simulate.Attempt, spent float64) (next, best int) {
	p.tried = p.tried[:0]
	for _, a := range tried {
		v := router.Rejected
		if a.Passed {
			v = router.Passed
		}
		p.tried = append(p.tried, router.Tried{Candidate: slices.Index(p.order, a.Model), Verdict: v})
	}
	s := p.e.Next(p.tried, spent)
	return p.model(s.Candidate), p.model(s.Best)
}

func (p *escalating) model(candidate int) int {
	if candidate < 0 {
		return -1
	}
	return p.order[candidate]
}
