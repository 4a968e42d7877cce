package repair

import (
	"regexp"
	"slices"
	"strings"
)

// Leaves returns, of the names of failing tests and subtests, those without a failing subtest.
func Leaves(failing []string) []string {
	var leaves []string
	for _, name := range failing {
		if !slices.ContainsFunc(failing, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			leaves = append(leaves, name)
		}
	}
	return leaves
}

// maxAlone is how many failing tests are run by themselves for their coverage.
const maxAlone = 8

// Alone returns which of the failing tests and subtests that [Leaves] returned are to be run by themselves to see what each of them
// runs: at most eight from all over the list, none where that is one whole test.
func Alone(leaves []string) []string {
	if len(leaves) == 1 && !strings.Contains(leaves[0], "/") {
		return nil
	}
	n := min(len(leaves), maxAlone)
	alone := make([]string, n)
	for i := range alone {
		alone[i] = leaves[i*len(leaves)/n]
	}
	return alone
}

// SelectTests returns the -run or -skip pattern of tests and subtests, "TestX/case".
func SelectTests(names []string) string {
	patterns := make([]string, len(names))
	for i, n := range names {
		patterns[i] = "^" + strings.ReplaceAll(regexp.QuoteMeta(n), "/", "$/^") + "$"
	}
	return strings.Join(patterns, "|")
}
