package main

import (
	"fmt"

	"github.com/luthier-dev/luthier/router/internal/simulate"
)

// measured is a contender with its scores, task by task.
type measured struct {
	name   string
	kind   kind
	scores []simulate.Score
	simulate.Summary
}

// measure replays a contender by cross-validation: every task is played by a policy that learned
// from other tasks of the table. This is repeated for several splits of the tasks into folds and
// averaged. If there is another table to learn from, one policy plays all tasks.
func measure(t *simulate.Table, prior []simulate.Task, c contender, o *options) (*measured, error) {
	m := &measured{name: c.name, kind: c.kind, scores: make([]simulate.Score, len(t.Tasks))}
	deals, folds := o.deals, o.folds
	if prior != nil {
		deals, folds = 1, 1
	}
	for deal := range deals {
		fold := simulate.Folds(len(t.Tasks), folds, o.seed+uint64(deal))
		for f := range folds {
			train := prior
			for i := range t.Tasks {
				if prior == nil && (fold[i] != f || folds == 1) {
					train = append(train, t.Tasks[i])
				}
			}
			p, err := c.learn(train)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			for i := range t.Tasks {
				if fold[i] == f {
					s := p(&t.Tasks[i])
					m.scores[i].Resolved += s.Resolved / float64(deals)
					m.scores[i].Dollars += s.Dollars / float64(deals)
				}
			}
		}
	}
	return m, nil
}

// best returns the contender of a kind that resolves most, the cheaper of equals.
func best(all []*measured, k kind) *measured {
	var top *measured
	for _, m := range all {
		if m.kind != k {
			continue
		}
		if top == nil || m.Resolved.Mean > top.Resolved.Mean ||
			m.Resolved.Mean == top.Resolved.Mean && m.Dollars.Mean < top.Dollars.Mean {
			top = m
		}
	}
	return top
}

// frontier returns the contenders of a kind that no other one of the kind beats in both quality and
// cost, from cheap to expensive.
func frontier(all []*measured, k kind) []*measured {
	var of []*measured
	for _, m := range all {
		if m.kind == k {
			of = append(of, m)
		}
	}
	sortBy(of, func(m *measured) float64 { return m.Dollars.Mean })
	var front []*measured
	top := -1.0
	for _, m := range of {
		if m.Resolved.Mean > top+1e-9 {
			top = m.Resolved.Mean
			front = append(front, m)
		}
	}
	return front
}
