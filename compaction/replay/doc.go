// Package replay measures the cost and the losses of a compaction policy on recorded runs of
// agents.
//
// [Read] turns a record (a session log of this library, or messages in the form of chat
// completions) into a [Run]. [Replay] goes through it step by step: before each answer of the
// model, the prompt consists of the system prompt and the history as the policy has left it. As in
// the agent's own loop, the policy's compactor is called if the prompt is over the budget, or if
// the compactor's Due method returns true; each tool result passes through the policy's middleware
// as it is recorded. The answers and results are always those of the record: a replay shows what a
// policy would have cost and what it would have hidden from the model, but not how the model would
// have reacted.
//
// # Cost
//
// A provider's prompt cache is modelled with [Prices]. The longest prefix that a request shares
// with an earlier one is read from the cache, and the rest is written to it; prefixes are compared
// by whole parts of messages, byte by byte, and the cache holds the last request of each purpose.
// The model's recorded answer is output. The calls of a summariser go through the same cache, so
// that a request that consists of the live request and a question after it is read almost entirely
// from the cache. Cost is given as a share of the cost of the same run without compaction. Tokens
// are estimated, in the same way for all policies.
//
// # Things
//
// A thing is something that an action refers to and that a model can know only from having read it
// (see [Things]): a path (of at least two elements, or a file name with a known extension), an
// identifier (with an underscore, a digit or a capital within, or joined by dots), a line number,
// or a distinctive string (quoted, 8 to 120 bytes; or a line of 16 to 200 bytes of an argument with
// several lines). A thing counts from the place where the recorded run first shows it as a whole
// word; a line number must be in a position where line numbers are shown (at the start of a line,
// after a path or the word "line"). A thing is lost when it is nowhere in the prompt any more.
// Stubs, digests, summaries and ledgers are part of the prompt and count; text that could be read
// back through a handle does not.
//
// # Measures
//
//   - Support of a step: consider the things that the next three recorded calls refer to and that
//     the run had shown before; support is the share of them that is in the prompt. A run's support
//     is the mean over its steps that have such things.
//   - Re-read steps: the share of steps at which at least one of these things is lost, so that the
//     agent would have to read it again within three calls.
//   - Lost now: the share of steps whose own call refers to something lost. The cost "with
//     re-reads" adds one more step for each such step: the prompt is read from the cache, the model
//     writes a call of 100 tokens, and that call and the lost lines are written to the cache.
//   - Cache hit: the share of the input tokens of all calls that was read from the cache.
//   - Peak: the longest prompt of an action.
//
// Means over several runs give each run the same weight; only the cache hit rate is computed over
// all tokens together.
package replay
