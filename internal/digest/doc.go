// Package digest extracts the important parts of a tool's output: build logs, test runs, linters,
// package managers.
//
//	d := digest.Digest(digest.Input{Text: log, ExitCode: 1, Budget: 600})
//	fmt.Print(d.Text)
//
// An automaton searches for a few hundred words in one pass over the bytes (see machine.go). The
// matchers read only lines with such a word, and the lines around a failure. They recognise the
// reports of test runners, compilers and build tools by the form and position of lines, not by the
// name of a tool, since a CI log contains the output of several tools, one after the other. Lines
// that no matcher recognises are judged by their structure: words that indicate errors, places in
// files, and how rare the form of a line is.
//
// Findings compete for the budget by rank: verdicts, then the names of all failing tests, then the
// messages of distinct errors, then frames, expectations and the rest. Tests that failed with the
// same message are grouped.
//
// [Clean] and [Fold] shorten an output before it is recorded: Clean removes text that only a
// terminal needs, and Fold writes repeated lines only once.
package digest
