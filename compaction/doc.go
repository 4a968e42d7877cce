// Package compaction keeps long runs short: it shortens what an agent's tools print, prunes what a
// conversation no longer needs, and when the context is full, folds its middle, so that the prompt
// cache stays warm, what matters stays in view and every byte that is left out can be read back.
//
//	c := compaction.New(compaction.Config{Model: model, Store: store})
//	a, err := agent.New(agent.Config{
//		Model: model, Tools: tools, // among them tools.NewReadArtifact(store)
//		Compactor: c, Middleware: []agent.Middleware{c.Record()},
//	})
//
// luthier.New wires it so. The zero [Config] works: without a model it folds into a ledger, without
// a store the session's log is the only place that has the whole. [Digest] is of use alone: the
// signal of a log within a budget of tokens.
//
// # The ladder
//
// What costs least goes first; each rung is climbed only when the one below does not make room.
//
//  1. As it is recorded ([Compactor.Record]). No request has sent a new result yet, so shortening
//     it breaks no cache and is paid for by nothing. Terminal noise goes and repeated lines are
//     folded; long outputs of commands, searches and listings become their signal; lines that still
//     stand in the context, such as of a file that is read again or shown around an edit, become a
//     pointer at the result that has them. What a model thinks aloud at length beside its calls
//     keeps its beginning, its end and its names. Lines of files are never shortened here, since
//     edits need them exactly.
//  2. Pruned, rarely and deeply. Old results and thoughts become stubs: what was run, how it ended,
//     failing tests, errors, places, names, and the handle of the whole. The planner does so within
//     the budget too, when leaving the prompt as it is has cost more than the cache that goes with
//     the change; payback.go derives when, and policy.go has all such decisions. The latest turns,
//     the latest edits and the latest reads of the files they changed stay.
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
//   - The user's messages stay word for word, in order (but for rung 4).
//   - Every call keeps one result, and its id; a failed result stays a failed one. Signed reasoning
//     stays whole beside its calls, or goes with its whole turn.
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
// # What is left open
//
// What a tool prints is data: a file can hold text that looks like a stub, a ledger or a handle.
// The user's role is not within its reach, since folds are recognised only in messages that nobody
// but the host writes; a handle that it names is believed only if the store has it, and names a
// text that some tool printed. A store is written before middleware further out sees the result:
// middleware that takes secrets out of results must stand inside Record, closer to the tool.
package compaction
