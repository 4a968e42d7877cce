// Package reference is a second implementation of transformer networks, for tests. It computes one
// token at a time in double precision, directly as in the papers. The only code that it shares with
// package transformer is the reader of files, so the two can be compared if no results of another
// engine are available. [Variants] returns the small generated models on which they are compared.
package reference
