// Package llm runs decoder-only transformer language models, dense and Mixture-of-Experts, on the CPU.
//
// The package has two floors. The lower one is a [Network]: the weights of a GGUF file and one forward pass over the tokens of
// many sequences at once, with keys and values in a paged [Cache]. The upper one is an engine that schedules requests over it.
//
// Everything above the network relies on one rule, batch invariance: the logits of a token are the same bits whether the token
// is computed alone, inside a prompt chunk of any size, or beside other sequences, with any number of workers. Prefix reuse,
// continuous batching and speculative decoding are lossless because of it. Each kernel keeps it by computing one output element
// with one fixed sequence of floating-point operations; nothing here splits a sum in a way that depends on the batch.
package llm
