// Package reward decides by a package's own tests whether edits repair its broken functions. It is
// the judge of reinforcement learning.
//
// All edits of a package, to any of its functions, become variants of one test binary (see package
// verify), so judging hundreds of them costs one build and one start of the binary each.
//
//	judgements, cost, err := reward.Judge{Config: cfg}.Package(ctx, dir, candidates)
//
// # Limits
//
//   - An edit that passes is run once, so a flaky test can reward a wrong one.
//   - A package is built again in each round.
//   - An edit of a function that is not the faulty one counts as failing without a run.
package reward
