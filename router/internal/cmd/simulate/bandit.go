package main

import (
	"math/rand/v2"
	"slices"

	"github.com/luthier-dev/luthier/router"
	"github.com/luthier-dev/luthier/router/internal/simulate"
)

// listPrice is the list price of every model for the bandit, the same for all so that it says
// nothing about them. The bandit learns the actual costs.
const listPrice = 0.25

// online plays router.Auto's bandit through the tasks in random orders. It begins with no
// knowledge, decides on each task before it sees the outcome, and learns from the check's verdict.
// attempts is how many models may try a task. The scores are means over the orders; late holds
// those of the second half of each order, when it has learned.
func online(t *simulate.Table, check simulate.Check, worth float64, attempts, orders int, seed uint64) (all, late []simulate.Score, err error) {
	all, late = make([]simulate.Score, len(t.Tasks)), make([]simulate.Score, len(t.Tasks))
	seen := make([]float64, len(t.Tasks))
	for o := range orders {
		r := rand.New(rand.NewPCG(seed, uint64(o)))
		p := learner{table: t, check: check, worth: worth, attempts: attempts, random: r}
		if err := p.begin(); err != nil {
			return nil, nil, err
		}
		for n, i := range r.Perm(len(t.Tasks)) {
			s := p.play(&t.Tasks[i])
			all[i].Resolved += s.Resolved / float64(orders)
			all[i].Dollars += s.Dollars / float64(orders)
			if n >= len(t.Tasks)/2 {
				late[i].Resolved += s.Resolved
				late[i].Dollars += s.Dollars
				seen[i]++
			}
		}
	}
	var settled []simulate.Score
	for i, n := range seen {
		if n > 0 {
			settled = append(settled, simulate.Score{Resolved: late[i].Resolved / n, Dollars: late[i].Dollars / n})
		}
	}
	return all, settled, nil
}

// learner is the bandit during one order of the tasks.
type learner struct {
	table    *simulate.Table
	check    simulate.Check
	worth    float64
	attempts int
	random   *rand.Rand
	bandit   *router.Bandit
}

func (p *learner) begin() (err error) {
	var arms []router.Arm
	for _, name := range p.table.Models {
		arms = append(arms, router.Arm{Name: name})
	}
	p.bandit, err = router.NewBandit(router.BanditConfig{Arms: arms, Worth: p.worth, Random: p.random.Float64})
	return err
}

// play lets models try a task until one passes or no other is worth its cost.
func (p *learner) play(t *simulate.Task) (s simulate.Score) {
	best, hope := -1, 0.0 // the attempt that is handed in if nothing passes: the most promising one
	var tried []int
	for n := range p.attempts {
		c := router.Case{Purpose: "act", Failures: uint8(min(n, 255))}
		var offers []router.Offer
		for m := range p.table.Models {
			if !slices.Contains(tried, m) {
				offers = append(offers, router.Offer{Arm: m, Dollars: listPrice})
			}
		}
		notes := make([]router.Estimate, len(offers))
		k := p.bandit.Choose(c, offers, notes)
		if k < 0 || n > 0 && notes[k].Score <= 0 {
			break
		}
		m := offers[k].Arm
		tried = append(tried, m)
		r := t.Results[m]
		passed := r.Resolved
		if passed && p.random.Float64() < p.check.FalseReject {
			passed = false
		} else if !passed && p.random.Float64() < p.check.FalseAccept {
			passed = true
		}
		s.Dollars += r.Dollars
		good := 0.0
		if passed {
			good = 1
		}
		p.bandit.Observe(c, m, good, listPrice, r.Dollars)
		if passed || best < 0 || notes[k].Good > hope {
			best, hope = m, notes[k].Good
		}
		if passed {
			break
		}
	}
	if best >= 0 && t.Results[best].Resolved {
		s.Resolved = 1
	}
	return s
}
