package router

import (
	"errors"
	"fmt"
	"math"
)

// Trial is the result of one candidate on one task.
type Trial struct {
	Missing  bool    // the candidate was not tried, so the other fields are meaningless
	Resolved bool    // the task was solved
	Dollars  float64 // what the attempt cost
}

// Prior is a host's expectation of a candidate, for use before there is data.
type Prior struct {
	Resolve float64 // share of tasks that it solves, within (0, 1)
	Dollars float64 // cost of an attempt
}

// Odds models the success of several candidates on one task, as a mixture of kinds of tasks (a
// latent class model). Within a kind, the candidates are independent; tasks that are hard for all
// candidates form a kind at which all fail. A verdict on one candidate shifts the weights of the
// kinds, and thus the expectations for the other candidates. An Odds is immutable and may be
// shared.
type Odds struct {
	candidates int
	kinds      []kind
}

// kind is a class of tasks. Its slices are indexed by candidate.
type kind struct {
	weight  float64
	resolve []float64 // probability that the candidate solves it
	dollars []float64 // expected cost of an attempt
}

const (
	// smoothing is the weight, as a number of tasks, of the assumption that candidates are
	// independent. It makes a pattern of successes possible even if it was never seen.
	smoothing = 2
	// costShrink is the weight of the candidate's mean cost, as a number of tasks, when the cost
	// within one pattern is estimated.
	costShrink = 5
)

// LearnOdds learns from tasks on which the candidates were tried; tasks[i][j] is the trial of
// candidate j on task i.
func LearnOdds(tasks [][]Trial) (*Odds, error) {
	if len(tasks) == 0 || len(tasks[0]) == 0 {
		return nil, errors.New("router: learn odds: there are no tasks; give at least one, or use PriorOdds")
	}
	n := len(tasks[0])
	if n > maxCandidates {
		return nil, fmt.Errorf("router: learn odds: %d candidates; at most %d can be weighed", n, maxCandidates)
	}
	for i, t := range tasks {
		if len(t) != n {
			return nil, fmt.Errorf("router: learn odds: task %d has %d trials, the first has %d; mark what is missing", i, len(t), n)
		}
		for j, tr := range t {
			if !(tr.Dollars >= 0) || math.IsInf(tr.Dollars, 0) {
				return nil, fmt.Errorf("router: learn odds: task %d, candidate %d costs %v; it must be 0 or more", i, j, tr.Dollars)
			}
		}
	}
	m := marginsOf(tasks, n)
	o := &Odds{candidates: n, kinds: []kind{{weight: smoothing, resolve: m.resolve, dollars: m.mean}}}
	o.addPatterns(tasks, m)
	return o, nil
}

// margins holds statistics of each candidate separately.
type margins struct {
	resolve []float64
	mean    []float64    // mean cost of each candidate
	by      [2][]float64 // mean cost of failures and of successes
}

func marginsOf(tasks [][]Trial, n int) margins {
	m := margins{resolve: make([]float64, n), mean: make([]float64, n), by: [2][]float64{make([]float64, n), make([]float64, n)}}
	for j := range n {
		var count, sum [2]float64
		for _, t := range tasks {
			if !t[j].Missing {
				count[btoi(t[j].Resolved)]++
				sum[btoi(t[j].Resolved)] += t[j].Dollars
			}
		}
		all := count[0] + count[1]
		m.resolve[j] = (count[1] + 1) / (all + 2) // Laplace's rule, so that nothing is certain
		if all > 0 {
			m.mean[j] = (sum[0] + sum[1]) / all
		}
		for r := range 2 {
			m.by[r][j] = (sum[r] + costShrink*m.mean[j]) / (count[r] + costShrink)
		}
	}
	return m
}

// addPatterns adds a kind for every pattern of results that occurred.
func (o *Odds) addPatterns(tasks [][]Trial, m margins) {
	slot := map[uint64]int{}
	var gaps [][]Trial
	for _, t := range tasks {
		key, whole := uint64(0), true
		for j, tr := range t {
			key |= uint64(btoi(tr.Resolved)) << j
			whole = whole && !tr.Missing
		}
		if !whole {
			gaps = append(gaps, t)
			continue
		}
		i, ok := slot[key]
		if !ok {
			i = len(o.kinds)
			slot[key] = i
			o.kinds = append(o.kinds, kind{resolve: make([]float64, o.candidates), dollars: make([]float64, o.candidates)})
		}
		k := &o.kinds[i]
		k.weight++
		for j, tr := range t {
			k.resolve[j] = float64(btoi(tr.Resolved))
			k.dollars[j] += tr.Dollars
		}
	}
	for _, k := range o.kinds[1:] {
		for j := range k.dollars {
			k.dollars[j] = (k.dollars[j] + costShrink*m.by[int(k.resolve[j])][j]) / (k.weight + costShrink)
		}
	}
	o.addGaps(gaps)
}

// addGaps adds tasks on which not every candidate was tried. The missing results are replaced with
// expectations from the complete tasks.
func (o *Odds) addGaps(tasks [][]Trial) {
	whole := Odds{candidates: o.candidates, kinds: o.kinds[:len(o.kinds):len(o.kinds)]}
	var tried []Tried
	for _, t := range tasks {
		tried = tried[:0]
		for j, tr := range t {
			if !tr.Missing {
				tried = append(tried, Tried{Candidate: j, Verdict: verdictOf(tr.Resolved)})
			}
		}
		b := whole.believe(Check{}, tried)
		k := kind{weight: 1, resolve: make([]float64, o.candidates), dollars: make([]float64, o.candidates)}
		for j, tr := range t {
			k.resolve[j], k.dollars[j] = float64(btoi(tr.Resolved)), tr.Dollars
			if tr.Missing {
				k.resolve[j], k.dollars[j] = b.expect(j)
			}
		}
		o.kinds = append(o.kinds, k)
	}
}

// difficulties holds the nodes of the prior's difficulty: nine equally likely quantiles of a normal
// distribution.
var difficulties = [...]float64{-1.593, -0.967, -0.589, -0.282, 0, 0.282, 0.589, 0.967, 1.593}

// priorSpread is the factor by which a task's difficulty changes the log-odds of every candidate.
// Of the values 0 to 5, 2 fits the data best: on 231 public tasks, how often one of five coding
// agents solved a task that another had failed.
const priorSpread = 2

// PriorOdds returns odds made only from expectations. Tasks differ in one hidden difficulty that
// affects all candidates, so that the failure of one candidate lowers the expectations for the
// others.
func PriorOdds(priors ...Prior) (*Odds, error) {
	if len(priors) == 0 || len(priors) > maxCandidates {
		return nil, fmt.Errorf("router: prior odds: %d candidates; give 1 to %d", len(priors), maxCandidates)
	}
	o := &Odds{candidates: len(priors), kinds: make([]kind, len(difficulties))}
	for i := range o.kinds {
		o.kinds[i] = kind{weight: 1, resolve: make([]float64, len(priors)), dollars: make([]float64, len(priors))}
	}
	for j, p := range priors {
		if !(p.Resolve > 0 && p.Resolve < 1) || !(p.Dollars >= 0) || math.IsInf(p.Dollars, 0) {
			return nil, fmt.Errorf("router: prior odds: candidate %d: %+v; Resolve must lie between 0 and 1, Dollars be 0 or more", j, p)
		}
		ease := easeFor(p.Resolve)
		for i, d := range difficulties {
			o.kinds[i].resolve[j] = sigmoid(ease - priorSpread*d)
			o.kinds[i].dollars[j] = p.Dollars
		}
	}
	return o, nil
}

// easeFor finds, by bisection, the log-odds at medium difficulty for which the mean probability
// over all difficulties is p.
func easeFor(p float64) float64 {
	low, high := -30.0, 30.0
	for range 60 {
		mid := (low + high) / 2
		sum := 0.0
		for _, d := range difficulties {
			sum += sigmoid(mid - priorSpread*d)
		}
		if sum/float64(len(difficulties)) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
