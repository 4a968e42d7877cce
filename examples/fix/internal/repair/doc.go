// Package repair defines the texts on which a one-line-repair model and the programs around it must
// agree to the byte: the texts that the model reads (a report of failing tests, a numbered
// function), the prompt that contains them, the answers that the model writes, and the result of an
// edit. It ranks functions by the coverage of failing tests, digests the output of go test, applies
// an edit to a line and type-checks the result. Training, evaluation and the programs that use the
// model all use this package, so that a model reads texts of the same form in use as in training.
//
// # Limits
//
// A long function is read in at most eight parts. No part shows two lines that are far apart. A
// prompt beyond 1,024 tokens is an error.
package repair
