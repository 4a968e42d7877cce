// Package reference computes transformer networks a second time, for tests: one token at a time in
// double precision, straight from the papers. It shares nothing with package transformer except the
// reader of files, so the two are held against each other where no other engine's numbers are at
// hand. [Variants] are the small generated models that they are compared on.
package reference
