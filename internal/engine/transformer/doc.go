// Package transformer computes decoder-only transformer language models, dense and
// Mixture-of-Experts, on the CPU.
//
// A [Network] holds the weights of a GGUF file. [Network.Forward] is one pass over those weights
// for the tokens of many sequences at once; keys and values are kept in a paged [Cache]. The
// package is based on gguf and quant (files and number formats) and tensor (kernels and workers).
// It has no requests, sampling or text: package scheduler, which uses this package, divides
// requests into passes.
//
// All code that uses the network relies on one rule, batch invariance: the logits of a token have
// the same bits whether the token is computed alone, inside a prompt chunk of any size, or together
// with other sequences, with any number of workers. Prefix reuse, continuous batching and
// speculative decoding are lossless because of it. Each kernel follows it by computing an output
// element with one fixed sequence of floating-point operations; no sum is split in a way that
// depends on the batch.
//
// # A new architecture
//
// An architecture is a file arch_NAME.go, which describes its differences from the shared blocks,
// and a row in archs (arch.go). TestReference compares it with package reference, which is written
// from its paper and computes in double precision.
//
// # Terms
//
//   - page: the keys and values of [PageTokens] tokens in every layer; sequences share pages by
//     reference counts.
//   - slice: the tokens that one pass appends to one sequence.
//   - wanted token: a token whose logits, or hidden state, the caller requests; the last layer
//     computes only these.
//   - slot: one token at one of its experts. Slots are sorted by expert, so that each expert's
//     weights are read once.
//   - capacity: the maximum number of tokens of a pass that one expert computes; the others are
//     rerouted. See [NetworkConfig].
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
