// Package repair holds what a one-line-repair model and the programs around it must agree on to the
// byte: the texts that the model reads (a report of failing tests, a numbered function), the prompt
// they make, the answers it writes, and what becomes of an edit. It ranks functions by the coverage
// of failing tests, digests the output of go test, applies an edit to a line and checks the types
// of what came out. Training, evaluation and the programs that use the model all go through it, so
// that a model meets in use what it met in training.
package repair
