package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Score measures what a policy did over one run, or on average over several.
type Score struct {
	Policy      string
	Run         string
	Steps       int
	Cost        float64 // total cost as a share of the cost of the raw replay
	CostReread  float64 // the same, plus the cost of reading again what was lost
	Support     float64 // share of the things that the next calls refer to that are in the context
	Reread      float64 // share of the steps at which something that the next calls refer to was lost
	Lost        float64 // share of the steps whose own action refers to something that was lost
	Input       int64   // input tokens of all calls
	Cached      int64   // tokens of Input that the cache held
	Peak        int     // tokens of the longest prompt
	Compactions int
}

// Compare scores a replay against the raw replay of the same run.
func Compare(raw, r *Result) Score {
	s := Score{Policy: r.Policy, Run: r.Run, Steps: len(r.Steps)}
	var base, cost, again float64
	for _, st := range raw.Steps {
		base += st.Cost
	}
	var share float64
	var with, lost, ahead int
	for _, st := range r.Steps {
		cost += st.Cost
		again += st.Reread
		s.Input += st.Usage.Input + st.Summariser.Input
		s.Cached += st.Usage.CachedInput + st.Summariser.CachedInput
		if st.Referred > 0 {
			with++
			share += float64(st.Standing) / float64(st.Referred)
		}
		if st.Standing < st.Referred {
			ahead++
		}
		if len(st.Lost) > 0 {
			lost++
		}
		s.Peak = max(s.Peak, int(st.Usage.Input))
		if st.Compacted {
			s.Compactions++
		}
	}
	s.Cost, s.CostReread = ratio(cost, base), ratio(cost+again, base)
	s.Support = ratio(share, float64(with))
	s.Lost = ratio(float64(lost), float64(len(r.Steps)))
	s.Reread = ratio(float64(ahead), float64(len(r.Steps)))
	return s
}

// CompareAll scores the replays of one run, each against the first, which is the raw replay.
func CompareAll(results []*Result) []Score {
	var out []Score
	for _, r := range results {
		out = append(out, Compare(results[0], r))
	}
	return out
}

// CacheHit returns the share of the input tokens that the prompt cache held.
func (s Score) CacheHit() float64 { return ratio(float64(s.Cached), float64(s.Input)) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// Mean returns the mean of the scores of several runs, with equal weight for each run. Tokens,
// steps and compactions are summed, so that the cache hit rate is that of all tokens; Peak is the
// largest.
func Mean(scores []Score) Score {
	m := Score{Run: fmt.Sprintf("mean of %d", len(scores))}
	n := float64(len(scores))
	for _, s := range scores {
		m.Policy = s.Policy
		m.Steps += s.Steps
		m.Cost += s.Cost / n
		m.CostReread += s.CostReread / n
		m.Support += s.Support / n
		m.Reread += s.Reread / n
		m.Lost += s.Lost / n
		m.Input += s.Input
		m.Cached += s.Cached
		m.Peak = max(m.Peak, s.Peak)
		m.Compactions += s.Compactions
	}
	return m
}

// Means returns each policy's mean over several runs. All runs must have scores of the same
// policies in the same order.
func Means(runs [][]Score) []Score {
	if len(runs) == 0 {
		return nil
	}
	var out []Score
	for i := range runs[0] {
		var of []Score
		for _, r := range runs {
			of = append(of, r[i])
		}
		out = append(out, Mean(of))
	}
	return out
}

// Columns returns the column names of [Score.Row].
func Columns() []string {
	return []string{"run", "policy", "steps", "cost", "with re-reads", "support", "re-read steps", "lost now", "cache hit", "peak", "compactions"}
}

// Row returns the score as the cells of a table.
func (s Score) Row() []string {
	percent := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	return []string{s.Run, s.Policy, strconv.Itoa(s.Steps), percent(s.Cost), percent(s.CostReread), percent(s.Support), percent(s.Reread),
		percent(s.Lost), percent(s.CacheHit()), strconv.Itoa(s.Peak), strconv.Itoa(s.Compactions)}
}

// WriteTable writes scores as a plain-text table.
func WriteTable(w io.Writer, scores []Score) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, strings.Join(Columns(), "\t")+"\t")
	for _, s := range scores {
		fmt.Fprintln(tw, strings.Join(s.Row(), "\t")+"\t")
	}
	return tw.Flush()
}
