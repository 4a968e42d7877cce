// Package scheduler runs many requests over one transformer network: continuous batching, shared
// prefixes, sampling, constraints and speculative decoding.
//
// An [Engine] owns a network of package transformer and its cache. One goroutine plans each pass:
// every running request contributes either a chunk of its prompt, or its next token and the guesses
// that follow it, and the network computes all of them at once. [Engine.Generate] streams the
// tokens of one request as they are decided. On top of this package, router/moe converts
// conversations to tokens, and tokens to text and tool calls.
//
// The output of a request does not depend on the other requests, on the cache or on guesses,
// because the network computes a token to the same bits in every batch (see package transformer)
// and random numbers depend only on the seed and the position. The exception is
// SpecConfig.Rejection, which preserves the distribution of the text but not the text itself. See
// [DraftModel].
//
// # Terms
//
//   - pass: one run of the network over tokens of several requests.
//   - sequence: a request with its current state: its tokens and its pages. A rider is a sequence
//     that shares the slot of another, such as the branches of [Engine.Expand].
//   - slot: the right to take part in passes. Other requests wait in the queue.
//   - tree: the index of the prefixes in the cache and of the pages that hold them (radix.go). A
//     sequence reuses pages from the tree, adds its full pages to it, and adopts pages that another
//     sequence with the same text has computed in the meantime.
//   - draft: guesses for the tokens that come next. The pass verifies them; settling accepts those
//     that the network would have chosen itself. A drafter makes them: from earlier text (lookup),
//     from the session's history, from a reference that is being edited, from what the constraint
//     forces, or with a smaller network (draft model).
//   - class: a grade of how reliable a draft is, assigned by the drafter; acceptance is measured
//     for each class.
//   - balance: the time that a request's accepted drafts have saved, minus the time that its
//     refused drafts have cost. It limits the next draft. Credit is the balance that a new request
//     starts with.
//   - session: the requests with the same Key in [Request]; they share history and acceptance.
//   - preemption: a sequence loses its pages to an older sequence and is queued again.
//
// # Limits
//
//   - A draft model drafts for one request at a time; its passes are not batched.
//   - A draft is one continuation per pass and request, not a tree.
//   - A request's random numbers depend only on its seed: hosts that want different texts for equal
//     prompts must choose different seeds.
package scheduler
