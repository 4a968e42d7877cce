// Package digest extracts what matters from a tool's output: build logs, test runs, linters,
// package managers.
//
//	d := digest.Digest(digest.Input{Text: log, ExitCode: 1, Budget: 600})
//	fmt.Print(d.Text)
//
// An automaton looks for a few hundred words in one pass over the bytes (see machine.go); only
// lines that have one, and the lines around a failure, are read by the matchers. These know the
// reports of test runners, compilers and build tools by how lines look and where they stand, not by
// the name of a tool: a CI log holds several tools, one after the other, and every section is read
// by its shape. Lines that no matcher knows are judged by structure: words of errors, places in
// files, and how rare the form of a line is.
//
// Findings compete for the budget by rank: verdicts, then the names of all failing tests, then the
// messages of distinct errors, then frames, expectations and the rest. Tests that failed with the
// same message stand together.
//
// [Clean] and [Fold] are for recording an output: Clean removes what only a terminal needs, Fold
// writes repeated lines once.
package digest
