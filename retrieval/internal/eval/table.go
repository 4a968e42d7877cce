package eval

import (
	"fmt"
	"slices"
	"strings"
)

// Mean is the mean over results.
type Mean struct {
	N       int
	Recall  [len(Depths)]float64
	MRR     float64
	Placed  int // number of results with a known place
	Hit     [len(Depths)]float64
	Seconds float64
}

// MeanOf returns the mean of results.
func MeanOf(results []Result) Mean {
	m := Mean{N: len(results)}
	for _, r := range results {
		for i := range Depths {
			m.Recall[i] += r.Recall[i] / float64(len(results))
		}
		m.MRR += r.RR / float64(len(results))
		m.Seconds += r.Seconds / float64(len(results))
		if r.Placed {
			m.Placed++
			for i := range Depths {
				m.Hit[i] += r.Place.Hit[i]
			}
		}
	}
	for i := range Depths {
		m.Hit[i] /= float64(max(m.Placed, 1))
	}
	return m
}

// Table prints the means over all results, by kind, by leak and by repository.
func Table(results []Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s %4s  %s   %s   %s  %s\n", "", "n", "recall@1   @5  @10  @20", " MRR", "place@1   @5  @10  @20", "  ms")
	row(&b, "all", results)
	group(&b, "", results, func(r Result) string { return r.Kind })
	group(&b, "leak ", results, func(r Result) string { return r.Leak })
	group(&b, "", results, func(r Result) string { return r.Repo })
	return b.String()
}

func group(b *strings.Builder, prefix string, results []Result, key func(Result) string) {
	by := map[string][]Result{}
	var keys []string
	for _, r := range results {
		k := key(r)
		if by[k] == nil {
			keys = append(keys, k)
		}
		by[k] = append(by[k], r)
	}
	slices.Sort(keys)
	for _, k := range keys {
		row(b, prefix+k, by[k])
	}
}

func row(b *strings.Builder, name string, results []Result) {
	m := MeanOf(results)
	fmt.Fprintf(b, "%-28.28s %4d    ", name, m.N)
	for _, v := range m.Recall {
		fmt.Fprintf(b, " %.2f", v)
	}
	fmt.Fprintf(b, "   %.2f   ", m.MRR)
	for _, v := range m.Hit {
		if m.Placed == 0 {
			b.WriteString("    -")
			continue
		}
		fmt.Fprintf(b, " %.2f", v)
	}
	fmt.Fprintf(b, "  %5.1f\n", m.Seconds*1000)
}
