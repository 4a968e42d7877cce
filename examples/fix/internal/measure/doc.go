// Package measure measures how well a model repairs code: functions of held-out modules that were
// broken in one line, and real one-line bugs of released modules.
//
// The module is fetched through the Go proxy and copied, the broken line is inserted, and the
// package's own tests are run to find out which of them fail and which code they cover. Then the
// model repairs the package through the same harness as in the command. For speed, its edits are
// not tested one after the other, which is possible because the text shown to the model does not
// depend on edits that did not help. Instead, the harness treats every edit except the released
// line as failing. Then all edits of a package are compiled into one test binary (see
// examples/fix/internal/verify), and the first one that passes counts. The result is the same as
// with single tests, except that edits of functions other than the broken one count as failing
// without a test. Packages are measured in parallel, one per processor.
//
// For comparison, an enumerator tries all one-line slips of examples/fix/internal/mutate in random
// order, with the same checks and the same number of test runs.
//
// # Limits
//
//   - A measurement takes minutes per module. Packages that need cgo or have no tests are left out.
//   - Two pairs of the real fixes, in doublestar and in orb, are the same mistake in two places.
package measure
