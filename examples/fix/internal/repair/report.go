package repair

import (
	"strconv"
	"strings"
)

// Limits of a report.
const (
	MaxCandidates = 12  // functions in a report
	DigestBudget  = 400 // bytes of output in a report
	maxFailed     = 5   // names of tests
)

// Report holds what a model reads about a failing test run.
type Report struct {
	Failed    []string // names of failing tests; subtests are replaced with their top-level tests
	Output    string   // a [Digest] of the output
	Functions []string // names of the functions that may be at fault, best first; [MaxCandidates] are shown
}

// String returns the text in which a model reads the report.
func (r Report) String() string {
	var b strings.Builder
	b.WriteString("FAIL")
	for i, name := range topLevel(r.Failed) {
		if i == maxFailed {
			b.WriteString(" ...")
			break
		}
		b.WriteString(" " + name)
	}
	if r.Output != "" {
		b.WriteString("\n" + r.Output)
	}
	for i, name := range r.Functions[:min(len(r.Functions), MaxCandidates)] {
		b.WriteString("\n" + strconv.Itoa(i+1) + " " + name)
	}
	return b.String()
}

// topLevel returns the top-level tests of tests and subtests, each once.
func topLevel(names []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, name := range names {
		name = TopTest(name)
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// Results of the tools other than a [Report] and [Read].
const (
	ResultOK      = "ok"                                 // run_tests: all tests pass
	ResultFailing = "still failing: the edit was undone" // run_tests after an edit that did not help
	refused       = "refused: "
)

// ResultEdited returns the result of an edit that was made.
func ResultEdited(line int) string { return "edited line " + strconv.Itoa(line) }

// ResultRefused returns the result of a call that was not executed.
func ResultRefused(why string) string { return refused + why }

// Failed reports whether a tool's result means that the call was not executed or did not help.
func Failed(result string) bool {
	return result == ResultFailing || strings.HasPrefix(result, refused)
}
