package repair

import (
	"regexp"
	"slices"
	"strings"
)

// Leaves returns, of the names of failing tests and subtests, those without a failing subtest, at most so many from all over the
// list: what is to be run by itself to see what a single failure runs.
func Leaves(failing []string, most int) []string {
	var leaves []string
	for _, name := range failing {
		if !slices.ContainsFunc(failing, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			leaves = append(leaves, name)
		}
	}
	n := min(len(leaves), most)
	for i := range n {
		leaves[i] = leaves[i*len(leaves)/n]
	}
	return leaves[:n]
}

// SelectTests returns the -run pattern of tests, or of one subtest, "TestX/case", by itself.
func SelectTests(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	if len(names) == 1 {
		return "^" + strings.ReplaceAll(quoted[0], "/", "$/^") + "$"
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}
