// Package replay measures the cost and the losses of a compaction policy on recorded runs of
// agents.
//
// [Read] turns a record (a session log of this library, or messages as chat completions have them)
// into a [Run]. [Replay] goes through it step by step: before each answer of the model the prompt
// is the system prompt and the history as the policy has left it. As in the agent's own loop, the
// policy's compactor is asked to shorten it when it is over the budget, and when the compactor says
// that it is due; each tool result passes through the policy's middleware as it is recorded. The
// answers and results are those of the record, whatever the policy did: a replay shows what a
// policy would have cost and what the model would not have seen, not what the model would have done
// then.
//
// # Cost
//
// A provider's prompt cache is modelled with [Prices]. Of a request, the longest prefix it shares
// with an earlier one is read from the cache, the rest is written; prefixes are compared by whole
// parts of messages, byte by byte, and the cache holds the last request of each purpose. The
// model's recorded answer is output. The calls of a summariser go through the same cache, so that a
// request that is the live one with a question after it reads nearly all of itself. Cost is given
// as a share of the cost of the same run with nothing compacted. Tokens are estimated, alike for
// all policies.
//
// # Things
//
// A thing is something that an action refers to and that a model can know only from having read it
// ([Things]): a path (of two elements, or a file name with a known ending), an identifier (with an
// underscore, a digit or a capital within, or joined by dots), the number of a line, and a
// distinctive string (quoted, 8 to 120 bytes; or a line of 16 to 200 bytes of an argument that has
// several). It counts from the place on where the run as recorded shows it first: as a whole word,
// for the number of a line where line numbers stand (at the start of a line, after a path or the
// word "line"). It is lost when the prompt no longer holds it anywhere. Stubs, digests, summaries
// and ledgers are part of the prompt and count; what a handle could fetch does not.
//
// # Measures
//
//   - Support, for each step: of the things that the next three recorded calls refer to and the run
//     had shown before, the share that stands in the prompt. A run's support is the mean over its
//     steps that have such things.
//   - Re-read steps: the share of steps at which at least one of these things is lost, so that the
//     agent would have to read it again within three calls.
//   - Lost now: the share of steps whose own call refers to something lost. "With re-reads" adds to
//     the cost, for each such step, one more step: the prompt read from the cache, a call of 100
//     tokens written by the model, and that call and the lost lines written to the cache.
//   - Cache hit: of the input tokens of all calls, the share that was read from the cache.
//   - Peak: the longest prompt of an action.
//
// Over several runs the mean gives each run the same weight, except for cache hits, which count all
// tokens together.
package replay
