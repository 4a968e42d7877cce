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
// luthier.New sets up the compactor in this way. The zero [Config] works: without a model it folds
// into a ledger, without a store, only the session's log has the full text. [Digest] can be used
// alone: it returns the important lines of a log within a budget of tokens.
//
// # The ladder
//
// The cheapest step goes first; each rung is used only if the one before does not make room.
//
//  1. As it is recorded ([Compactor.Record]). No request has sent a new result yet, so shortening
//     it breaks no cache and costs nothing. Terminal control goes. Of an output of more than about
//     4,000 tokens, a log is reduced to its important lines, and of anything else the beginning and
//     the end stay; lines that
//     are already in the context, such as those of a file that is read again or shown around an
//     edit, become a pointer to the earlier result. Long text that a model writes next to its calls
//     is reduced to its beginning, its end and the names in it. Lines of files are never shortened
//     here, since edits need them exactly.
//  2. Pruned, rarely and deeply. Old results and thoughts become stubs: what was run, how it ended,
//     failing tests, errors, places, names, and the handle of the full text. The planner prunes
//     even within the budget once keeping the prompt unchanged has cost more than rewriting the
//     cache would; payback.go derives when, and policy.go has all such decisions. The latest turns,
//     the latest edits and the latest reads of the files they changed stay.
//  3. Folded. The middle becomes one message: a summary if there is a model, the [Ledger] (files
//     read and changed, commands and how they ended, failing tests, the todo list; which is kept by
//     code so that no model has to remember it), and the exact lines that the current work needs.
//     The summary is requested as a continuation of the live request, so that everything except the
//     question is in the cache; the ledger adds the facts that the summary omits.
//  4. Whatever fits. If folding is not enough, or the model fails, the last turn shrinks to stubs,
//     then turns are dropped, then the user's older messages become extracts. The user's newest
//     message always stays; if it alone is longer than the budget, [Compactor.Compact] returns an
//     error.
//
// # What is never lost
//
//   - The user's messages stay word for word, in order (except at rung 4).
//   - Every call keeps its id and exactly one result; a failed result is still marked as failed.
//     Signed reasoning stays unchanged with its calls, or is dropped with its whole turn.
//   - Everything left out can be read back. The model calls read_artifact, by lines or pattern,
//     with the handle that replaced the text (the handle of a fold is in its first line); a host
//     uses [agent.Session.Transcript]. A fold also has the handles of what earlier folds left out.
//     Without a store, rung 1 removes only noise.
//   - A session records a compaction as a branch: its log has the messages before it,
//     [agent.Session.Fork] goes back to them, and a process that is killed at any byte of the write
//     resumes either before or after the compaction.
//
// The same history, configuration and token reports produce the same result.
//
// # How tokens are counted
//
// A [Compactor] weighs texts by class (words, digits, space, marks, other scripts), at rates that
// start from real vocabularies and are corrected by what the provider reports for each request that
// [Compactor.Record] sees. If the agent knows the length of the live prompt, or the model counts
// tokens itself ([agent.TokenCounter]), that number replaces the estimate.
//
// # Trust
//
// What a tool prints is data: a file can hold text that looks like a stub, a ledger or a handle.
// Such text cannot pass for the user's words, since folds are recognised only in messages that only
// the host writes. A handle in it is accepted only if the store has it, and then leads only to a
// text that some tool printed. The store is written before outer middleware sees the result:
// middleware that removes secrets from results must run inside Record, closer to the tool.
//
// # Limits
//
//   - [Digest] does not use the name of the tool or the command. From logs under 40 kB it keeps 74
//     % of the facts in 300 tokens. Counted with older vocabularies (Falcon, MPT, Llama 1), it
//     exceeds the budget by up to a tenth.
//   - Every compaction writes the whole new history into the session's log.
//   - Policies were measured by replay only ([github.com/luthier-dev/luthier/compaction/replay]):
//     no model was run with a shortened history.
//
// # Terms
//
//   - rung: a step of the ladder above.
//   - stub: the short text that replaces an old result or thought, with the handle of the full
//     text.
//   - fold: the one message that replaces the middle of a conversation.
//   - ledger: the list of files, commands, failing tests and todos that code keeps for a fold. See
//     [Ledger].
//   - planner: the part that decides whether pruning pays, before the context is full.
package compaction
