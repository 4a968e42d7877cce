// Package reward says whether edits repair broken functions, by the tests of the functions' own
// packages: the judge of reinforcement learning.
//
// All edits of a package, to whichever of its functions, become variants of one test binary (see
// package verify), so that judging hundreds of them costs one build and a start of the binary each.
//
//	judgements, cost, err := reward.Judge{Config: cfg}.Package(ctx, dir, candidates)
package reward
