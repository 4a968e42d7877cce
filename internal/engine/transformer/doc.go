// Package transformer computes decoder-only transformer language models, dense and
// Mixture-of-Experts, on the CPU.
//
// A [Network] holds the weights of a GGUF file. [Network.Forward] is one pass over those weights
// for the tokens of many sequences at once; keys and values are kept in a paged [Cache]. The
// package stands on gguf and quant (files and number formats) and tensor (kernels and workers). It
// knows nothing of requests, sampling or text: package scheduler above it turns requests into
// passes.
//
// Everything above the network relies on one rule, batch invariance: the logits of a token are the
// same bits whether the token is computed alone, inside a prompt chunk of any size, or together
// with other sequences, with any number of workers. Prefix reuse, continuous batching and
// speculative decoding are lossless because of it. Each kernel keeps it by computing one output
// element with one fixed sequence of floating-point operations; nothing here splits a sum in a way
// that depends on the batch.
//
// # A new architecture
//
// An architecture is a file arch_NAME.go that declares what sets it apart from the shared blocks,
// and its row in archs (arch.go). TestReference compares it with package reference, which computes
// it from its paper in double precision.
//
// # Terms
//
//   - page: the keys and values of [PageTokens] tokens in every layer; sequences share pages by
//     reference counts.
//   - slice: the tokens that one pass appends to one sequence.
//   - wanted token: a token whose logits, or hidden state, the caller asks for; the last layer
//     computes only these.
//   - slot: one token at one of its experts. Slots are sorted by expert, so that each expert's
//     weights are read once.
//   - capacity: the most tokens of a pass that one expert computes; the rest is rerouted. See
//     [NetworkConfig].
//   - expert worker: another process or machine that computes experts for this network. See
//     [ExpertWorker].
//
// # Limits
//
//   - Key and value lengths must be equal. Per-layer head counts, longrope scaling and other
//     architectures are refused by name.
//   - YaRN's yarn_log_multiplier is not read; no supported architecture uses it.
//   - A call to an expert worker has no time limit: closing the connection ends it.
//   - With AVX2, attention has kernels for the products, Q8_0 scores, exponentials, sums and
//     SwiGLU; Go code combines them for the softmax of a tile.
package transformer
