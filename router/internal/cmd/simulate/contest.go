package main

import (
	"fmt"

	"github.com/luthier-dev/luthier/router/internal/simulate"
)

// worths are the worths on the cascade's curve.
var worths = []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 100}

// String names the kind, for -policy and the legend.
func (k kind) String() string {
	return [...]string{"single model", "cascade in order", "cascade by worth", "cascade by budget", "bandit", "bound"}[k]
}

// measureAll measures every contender and compares each with the best single model.
func measureAll(t *simulate.Table, prior []simulate.Task, o *options) ([]*measured, error) {
	list := append(singles(t, o.check), bounds()...)
	for _, w := range withOwn(worths, o.worth) {
		list = append(list, byWorth(t, o.check, o.believed, w))
	}
	list = append(list, byBudget(t, o.check, o.believed, o.budget))
	list = append(list, fixedOrders(t, o.check)...)
	var all []*measured
	for _, c := range list {
		m, err := measure(t, prior, c, o)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	for _, n := range []int{1, len(t.Models)} {
		ms, err := gamble(t, o, n)
		if err != nil {
			return nil, err
		}
		all = append(all, ms...)
	}
	summarise(all, o)
	return all, nil
}

// withOwn inserts a worth into the curve's, in order.
func withOwn(list []float64, own float64) []float64 {
	var out []float64
	for _, w := range list {
		if own < w && (len(out) == 0 || out[len(out)-1] < own) {
			out = append(out, own)
		}
		out = append(out, w)
	}
	if own > out[len(out)-1] {
		out = append(out, own)
	}
	return out
}

// gamble measures the bandit, from its first task and after it has learned.
func gamble(t *simulate.Table, o *options, attempts int) ([]*measured, error) {
	all, late, err := online(t, o.check, o.worth, attempts, o.orders, o.seed)
	if err != nil {
		return nil, err
	}
	name := "bandit, one model a task"
	if attempts > 1 {
		name = "bandit, tries again"
	}
	return []*measured{
		{name: name + ", while it learns", kind: bandit, scores: all},
		{name: name + ", having learnt", kind: bandit, scores: late},
	}, nil
}

func summarise(all []*measured, o *options) {
	for _, m := range all {
		m.Summary = simulate.Summarise(m.scores, nil, o.seed)
	}
	top := best(all, single)
	for _, m := range all {
		if len(m.scores) == len(top.scores) {
			m.Summary = simulate.Summarise(m.scores, top.scores, o.seed)
		}
	}
}

// swept holds the cascade's results under a check with a given error rate.
type swept struct {
	err             float64
	worth, trusting simulate.Score
	budget          simulate.Score
}

// sweep measures the cascade under checks with rising error rates, once knowing the rate and once
// trusting the check.
func sweep(t *simulate.Table, prior []simulate.Task, o *options) ([]swept, error) {
	var rows []swept
	one := func(c contender) (simulate.Score, error) {
		m, err := measure(t, prior, c, o)
		if err != nil {
			return simulate.Score{}, fmt.Errorf("sweep: %w", err)
		}
		return simulate.Mean(m.scores), nil
	}
	for _, e := range []float64{0, 0.05, 0.1, 0.15, 0.2, 0.3} {
		c := simulate.Check{FalseAccept: e, FalseReject: e}
		s := swept{err: e}
		var err error
		if s.worth, err = one(byWorth(t, c, c, o.worth)); err != nil {
			return nil, err
		}
		if s.trusting, err = one(byWorth(t, c, simulate.Check{}, o.worth)); err != nil {
			return nil, err
		}
		if s.budget, err = one(byBudget(t, c, c, o.budget)); err != nil {
			return nil, err
		}
		rows = append(rows, s)
	}
	return rows, nil
}
