// Package repair defines what a one-line-repair model and the programs around it must agree on to
// the byte: the texts that the model reads (a report of failing tests, a numbered function), their
// prompt, the answers it writes, and the result of an edit. It ranks functions by the coverage of
// failing tests, digests the output of go test, applies an edit to a line and type-checks the
// result. Training, evaluation and the programs that use the model all go through it, so a model
// reads in use what it read in training.
//
// # Limits
//
// A long function is read in at most eight parts, and no part shows two lines that are far apart. A
// prompt beyond 1,024 tokens is an error.
package repair
