// Package scheduler runs many requests over one transformer network: continuous batching, shared
// prefixes, sampling, constraints and speculative decoding.
//
// An [Engine] owns a network of package transformer and its cache. One goroutine plans each pass:
// every running request contributes a chunk of its prompt, or its next token and the guesses that
// follow it, and the network computes all of them at once. [Engine.Generate] streams the tokens of
// one request as they are decided. router/moe stands above: it turns conversations into tokens, and
// tokens into text and tool calls.
//
// The output of a request does not depend on the other requests, on the cache or on guesses,
// because the network computes a token to the same bits in every batch (see package transformer)
// and random numbers depend on the seed and the position only. One setting is an exception:
// SpecConfig.Rejection keeps the distribution, not the text. See [DraftModel].
//
// # Terms
//
//   - pass: one run of the network over tokens of several requests.
//   - sequence: a request with what has become of it: its tokens, its pages, its state. A rider is
//     a sequence that shares the slot of another, as the branches of [Engine.Expand] do.
//   - slot: the right to take part in passes. Other requests wait in the queue.
//   - tree: which pages of the cache hold which prefixes (radix.go). A sequence reuses pages of the
//     tree, shares its full pages with it, and adopts those that another sequence with the same
//     text has computed meanwhile.
//   - draft: guesses for the tokens that come next. The pass verifies them; settling accepts those
//     that the network would have chosen itself. A drafter makes them: from earlier text (lookup),
//     from the session's history, from a reference that is being edited, from what the constraint
//     forces, or with a smaller network (draft model).
//   - class: how good a drafter's reasons for a draft are; acceptance is measured for each class.
//   - balance: the time that a request's accepted drafts have won, less the time that refused ones
//     have cost. It limits the next draft. Credit is the balance that a new request starts with.
//   - session: requests with one [Request] Key; they share history and acceptance.
//   - preemption: a sequence gives its pages up for an older one and is queued again.
//
// # Limits
//
//   - A draft model drafts for one request at a time; its passes are not batched.
//   - A draft is one continuation per pass and request, not a tree.
//   - A request's random numbers depend only on its seed: hosts that want different texts for equal
//     prompts must choose different seeds.
package scheduler
