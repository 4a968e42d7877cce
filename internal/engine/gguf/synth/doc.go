// Package synth makes GGUF models with random weights: small ones for tests, and large ones in the
// shape of real models for benchmarks. The same Config results in the same bytes (on processors
// that fuse multiplications with additions, a few quantised values may be rounded differently).
//
//	f, err := synth.Open(synth.Tiny("qwen3moe"))
//
// Their text is noise, but their values resemble those of a trained model: activations neither
// vanish nor overflow, the router spreads tokens over the experts, and the most likely token is
// clearly ahead of the second. Norm weights and biases are not exactly 1 and 0, so that a test
// notices if one is not applied.
package synth
