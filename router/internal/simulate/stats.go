package simulate

import (
	"math/rand/v2"
	"sort"
)

// Interval is an estimate and the bounds within which 95 of 100 resamples of the tasks lie.
type Interval struct{ Mean, Low, High float64 }

// Summary is a policy's score over a table.
type Summary struct {
	Resolved Interval
	Dollars  Interval
	// Above is the difference in the resolved share to a reference policy on the same resamples.
	Above Interval
}

// resamples is the number of bootstrap resamples.
const resamples = 2000

// Summarise returns the mean score with bootstrap intervals over the tasks. reference holds the
// scores of the policy to compare with, task by task; nil leaves Above zero. The same seed produces
// the same resamples for every policy.
func Summarise(scores, reference []Score, seed uint64) Summary {
	if len(scores) == 0 {
		return Summary{}
	}
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	var res, usd, above [resamples]float64
	for k := range resamples {
		var s, ref Score
		for range scores {
			i := r.IntN(len(scores))
			s.Resolved += scores[i].Resolved
			s.Dollars += scores[i].Dollars
			if reference != nil {
				ref.Resolved += reference[i].Resolved
			}
		}
		n := float64(len(scores))
		res[k], usd[k], above[k] = s.Resolved/n, s.Dollars/n, (s.Resolved-ref.Resolved)/n
	}
	m := Mean(scores)
	sum := Summary{Resolved: interval(m.Resolved, res[:]), Dollars: interval(m.Dollars, usd[:])}
	if reference != nil {
		sum.Above = interval(m.Resolved-Mean(reference).Resolved, above[:])
	}
	return sum
}

func interval(mean float64, draws []float64) Interval {
	sort.Float64s(draws)
	return Interval{Mean: mean, Low: draws[len(draws)/40], High: draws[len(draws)-1-len(draws)/40]}
}

// Mean returns the average score.
func Mean(scores []Score) Score {
	var s Score
	for _, one := range scores {
		s.Resolved += one.Resolved / float64(len(scores))
		s.Dollars += one.Dollars / float64(len(scores))
	}
	return s
}

// Folds deals n tasks into k groups of about equal size, at random by the seed: fold[i] is the
// group of task i.
func Folds(n, k int, seed uint64) []int {
	k = max(1, min(k, n))
	fold := make([]int, n)
	for i, j := range rand.New(rand.NewPCG(seed, 0x2545f4914f6cdd1d)).Perm(n) {
		fold[j] = i % k
	}
	return fold
}
