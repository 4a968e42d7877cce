// Package harness lets a model repair a Go package one line at a time: it provides an agent with
// the three tools run_tests, read_function and edit_line for a [Case], records the attempts, and
// decodes each decision of the model as the likeliest one that was not made before. The command in
// examples/fix, its evaluation and its training use the same code; they differ only in the Case.
//
// The model decides everything: which function to read, which line to change, its new text, and
// when to read another function. The harness refuses edits that change nothing, do not parse, do
// not compile or were already tried, and undoes edits that do not help.
//
// # Limits
//
//   - A repair changes one line of one function. Faults that need two lines, a new function or a
//     changed test are out of reach.
//   - Only one package is repaired at a time. If the tests are in another package, the fault is
//     found only in functions of packages that the test package imports.
//   - Edits must compile, so code that does not compile is not repaired. Generated code is not
//     edited.
//   - After a panic, there is no coverage. If every failing test panics, the candidates are the
//     functions on the stack and those that they name; methods called through an interface are
//     found by name alone.
//   - All passing tests share one coverage profile, so many functions are ranked equally. One
//     profile per test would rank better, but needs more runs.
//   - If tests depend on each other, or fail because of two different faults, the lines that they
//     have in common may be none or the wrong ones; the marks are then misleading. A line without a
//     mark can still be edited.
//   - An edit is verified by two runs of the failing tests: on their own, and together with all
//     other tests. A flaky test can still accept a wrong edit.
//   - The model learned almost exclusively from slips, which introduce no new names or calls into a
//     line and neither add nor remove statements. Repairs of real bugs often do.
//
// # Terms
//
//   - slip: a small one-line mistake. Package mutate makes them.
//   - mark: the sign before a line of a shown function that failing tests ran.
//   - fault: the broken line of a case.
package harness
