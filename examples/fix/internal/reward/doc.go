// Package reward runs a package's own tests to decide whether edits repair its broken functions. It
// provides the rewards for reinforcement learning.
//
// All edits of a package, to any of its functions, become variants of one test binary (see package
// verify), so judging hundreds of edits costs only one build, and one start of the binary per edit.
//
//	judgements, cost, err := reward.Judge{Config: cfg}.Package(ctx, dir, candidates)
//
// # Limits
//
//   - An edit that passes is run once, so a flaky test can cause a wrong edit to be rewarded.
//   - A package is built again in each round.
//   - An edit of a function that is not the faulty one counts as failing without a run.
package reward
