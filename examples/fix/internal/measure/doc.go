// Package measure measures how well a model repairs: functions of held-out modules that were broken
// in one line, and real one-line bugs of released modules.
//
// The module is fetched through the Go proxy and copied, the broken line is put in, and the
// package's own tests show which of them fail and what they cover. Then the model repairs through
// the harness that the command uses. For speed, its edits are not tested one after the other: what
// a model is shown does not depend on edits that did not help. So the harness takes every edit
// except the released line as failing; all edits of a package are compiled into one test binary
// (see examples/fix/internal/verify), and the first that passes counts. The result is the same,
// except that an edit of another function than the broken one counts as failing without a test.
// Packages are measured in parallel, one per processor.
//
// For comparison, an enumerator tries all one-line slips of examples/fix/internal/mutate in random
// order, with the same checks and the same number of test runs.
//
// # Limits
//
//   - It takes minutes per module. Packages that need cgo or have no tests of their own are left
//     out.
//   - Two pairs of the real fixes (doublestar's and orb's) are one mistake made in two places.
package measure
