package repair

import (
	"regexp"
	"strings"
)

// TopTest returns the name of the top-level test of a test or subtest.
func TopTest(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// Leaves returns the failing tests and subtests that have no failing subtest.
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

// maxAlone limits how many failing tests are run separately for their coverage.
const maxAlone = 8

// Alone selects the tests to run separately for their coverage, from the failing tests and subtests
// that [Leaves] returned: at most eight, spread over the list. It selects none if there is only a
// single top-level test.
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

// SelectTests returns the -run or -skip pattern for tests and subtests, "TestX/case". If there are
// no names, the pattern selects no test.
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
