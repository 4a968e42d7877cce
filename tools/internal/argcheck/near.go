package argcheck

import (
	"maps"
	"slices"
)

// Nearest returns at most n names that are most similar to name, best first.
func Nearest(name string, names []string, n int) []string {
	type scored struct {
		name string
		dist int
	}
	var all []scored
	for _, x := range names {
		d := distance(fold(name), fold(x))
		if longest := max(len(name), len(x)); d*2 <= longest {
			all = append(all, scored{x, d})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return a.dist - b.dist })
	var out []string
	for _, s := range all[:min(n, len(all))] {
		out = append(out, s.name)
	}
	return out
}

// maxCompared limits the work of comparing names, which grows with the product of their lengths.
const maxCompared = 64

// distance returns the Damerau-Levenshtein distance (optimal string alignment) of two short names.
func distance(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		if a == b {
			return 0
		}
		return max(len(a), len(b))
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
