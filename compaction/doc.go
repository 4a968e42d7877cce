// Package compaction keeps long runs short: it shortens the output of an agent's tools, prunes what
// a conversation no longer needs, and folds its middle when the context is full. The prompt cache
// stays warm, what matters stays in view, and every byte that is left out can be read back.
//
//	c := compaction.New(compaction.Config{Model: model, Store: store})
//	a, err := agent.New(agent.Config{
//		Model: model, Tools: tools, // among them tools.NewReadArtifact(store)
//		Compactor: c, Middleware: []agent.Middleware{c.Record()},
//	})
//
// luthier.New wires it so. The zero [Config] works: without a model it folds into a ledger, without
// a store only the session's log has the whole. [Digest] can be used alone: it returns the signal
// of a log within a budget of tokens.
//
// # The ladder
//
// The cheapest step goes first; each rung is used only if the one before does not make room.
//
//  1. As it is recorded ([Compactor.Record]). No request has sent a new result yet, so shortening
//     it breaks no cache and costs nothing. Terminal noise goes and repeated lines are folded; long
//     outputs of commands, searches and listings become their signal; lines that still stand in the
//     context, such as of a file that is read again or shown around an edit, become a pointer to
//     the result that has them. What a model writes at length next to its calls keeps its
//     beginning, its end and its names. Lines of files are never shortened here, since edits need
//     them exactly.
//  2. Pruned, rarely and deeply. Old results and thoughts become stubs: what was run, how it ended,
//     failing tests, errors, places, names, and the handle of the whole. The planner does so within
//     the budget too, when leaving the prompt unchanged has cost more than the cache that the
//     change loses; payback.go derives when, and policy.go has all such decisions. The latest
//     turns, the latest edits and the latest reads of the files they changed stay.
//  3. Folded. The middle becomes one message: a summary if there is a model, the [Ledger] (files
//     read and changed, commands and how they ended, failing tests, the todo list), which code
//     keeps and no model has to remember, and the exact lines that the work under way stands on.
//     The summary is asked for as a continuation of the live request, so that all but the question
//     is in the cache; what it fails to say the ledger adds.
//  4. Whatever fits. Where that is not enough, or the model fails, the last turn shrinks to stubs,
//     then turns go, then the user's older messages become extracts. The user's newest message
//     stays whatever happens; if it alone is longer than the budget, that is the error of
//     [Compactor.Compact].
//
// # What is never lost
//
//   - The user's messages stay word for word, in order (except at rung 4).
//   - Every call keeps one result, and its id; a failed result stays a failed one. Signed reasoning
//     stays whole with its calls, or goes with its whole turn.
//   - Everything left out can be read back: by the model with read_artifact, by lines or pattern,
//     from the handle in its place (of a fold: its first line); by a host from
//     [agent.Session.Transcript]. A fold names what earlier folds left out. Without a store, rung 1
//     leaves out nothing but noise.
//   - A session records a compaction as a branch: its log has the messages before it,
//     [agent.Session.Fork] goes back to them, and a process killed at any byte resumes on one side
//     of it or the other.
//
// The same history, configuration and reports of tokens give the same result.
//
// # How tokens are counted
//
// A [Compactor] weighs texts by class (words, digits, space, marks, other scripts), at rates that
// start from real vocabularies and are corrected by what the provider reports for each request that
// [Compactor.Record] sees. Where the agent knows the length of the live prompt, or the model counts
// itself ([agent.TokenCounter]), that overrules the sum.
//
// # Trust
//
// What a tool prints is data: a file can hold text that looks like a stub, a ledger or a handle.
// The user's role is not within its reach, since folds are recognised only in messages that nobody
// but the host writes; a handle that it names is believed only if the store has it, and names a
// text that some tool printed. A store is written before middleware further out sees the result:
// middleware that takes secrets out of results must stand inside Record, closer to the tool.
//
// # Limits
//
//   - A [Digest] does not use the name of the tool or the command. Of logs under 40 kB it keeps 74
//     % of the facts in 300 tokens. In older vocabularies (Falcon, MPT, Llama's first) it exceeds
//     the budget by up to a tenth.
//   - Every compaction writes the whole new history into the session's log.
//   - Policies were measured by replay only ([github.com/luthier-dev/luthier/compaction/replay]):
//     no model was run with a shortened history.
//
// # Terms
//
//   - rung: a step of the ladder above.
//   - stub: the short text that replaces an old result or thought, with the handle of the whole.
//   - fold: the one message that replaces the middle of a conversation.
//   - ledger: the list of files, commands, failing tests and todos that code keeps for a fold. See
//     [Ledger].
//   - planner: the part that decides whether pruning pays, before the context is full.
package compaction
