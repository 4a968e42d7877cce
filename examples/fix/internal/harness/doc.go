// Package harness lets a model repair a Go package one line at a time: it gives an agent the three
// tools run_tests, read_function and edit_line over a [Case], records what was tried, and decodes
// each decision of the model as the likeliest one that was not made before. The command in
// examples/fix, its evaluation and its training use the same code; they differ only in the Case.
//
// The model decides everything: which function to read, which line to change and into what, when to
// look elsewhere. The harness refuses edits that change nothing, do not parse, do not compile or
// were tried, and undoes those that do not help.
//
// # Limits
//
//   - It repairs one line of one function. Faults that need two lines, a new function or a changed
//     test are out of reach.
//   - It repairs one package at a time. If the tests are in another package, the fault is found
//     only among functions that the package imports.
//   - Edits must compile, so code that does not compile is not repaired. Generated code is left
//     alone.
//   - A panic leaves no coverage. If no other test fails without one, candidates are the functions
//     on its stack and those that they name; methods called through an interface are found by their
//     name alone.
//   - All passing tests share one coverage profile, so many functions tie. A profile per test would
//     rank better but needs more runs.
//   - Tests that depend on each other, or that two faults fail, can share nothing or the wrong
//     thing: the marks then mislead. A line without a mark can still be edited.
//   - An edit is verified by two runs of the failing tests, alone and among all others. A flaky
//     test can still accept a wrong edit.
//   - The model learned almost only from slips, which bring no new names or calls into a line and
//     neither add nor remove statements. Real bugs often do.
//
// # Terms
//
//   - slip: a small one-line mistake. Package mutate makes them.
//   - mark: the sign in a shown function for a line that failing tests ran.
//   - fault: the broken line of a case.
package harness
