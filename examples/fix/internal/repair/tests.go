package repair

import (
	"regexp"
	"strings"
)

// TopTest is the name of the top-level test that a subtest belongs to, or is.
func TopTest(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// Leaves returns, of the names of failing tests and subtests, those without a failing subtest.
func Leaves(failing []string) []string {
	parents := map[string]bool{}
	for _, name := range failing {
		for i, c := range name {
			if c == '/' {
				parents[name[:i]] = true
			}
		}
	}
	var leaves []string
	for _, name := range failing {
		if !parents[name] {
			leaves = append(leaves, name)
		}
	}
	return leaves
}

// maxAlone is how many failing tests are run by themselves for their coverage.
const maxAlone = 8

// Alone returns which of the failing tests and subtests that [Leaves] returned are to be run by
// themselves to see what each of them runs: at most eight from all over the list, none where that
// is one whole test.
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

// SelectTests returns the -run or -skip pattern of tests and subtests, "TestX/case"; that of none
// selects none.
func SelectTests(names []string) string {
	if len(names) == 0 {
		return "^$"
	}
	patterns := make([]string, len(names))
	for i, n := range names {
		patterns[i] = "^" + strings.ReplaceAll(regexp.QuoteMeta(n), "/", "$/^") + "$"
	}
	return strings.Join(patterns, "|")
}
