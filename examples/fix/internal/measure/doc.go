// Package measure says how well a model repairs: on functions of modules it was not trained on that
// were broken in one line, and on real bugs that a released module had in one line.
//
// The module is fetched through the Go proxy and copied, the line is put in, and the package's own
// tests say which of them fail and what they cover. Then the model repairs through the harness that
// the command uses. To be quick, its edits are not tested one after the other: what a model is
// shown does not depend on edits that did not help, so the harness is told of every edit but the
// released line that the tests still fail, all edits of a package are compiled into one test binary
// (see examples/fix/internal/verify), and the first that passes counts. The result is the same,
// save that an edit of another function than the broken one counts as failing without a test.
// Packages are measured beside each other, one a processor.
//
// Beside the model stands an enumerator, which tries all one-line slips of
// examples/fix/internal/mutate in random order, refused by the same checks, with the same number of
// test runs.
package measure
