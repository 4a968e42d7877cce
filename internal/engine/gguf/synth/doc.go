// Package synth makes GGUF models with random weights: small ones for tests, and large ones in the
// shape of real models for benchmarks. The same Config gives the same bytes (on processors that
// fuse multiplications with additions, a few quantised values may be rounded the other way).
//
//	f, err := synth.Open(synth.Tiny("qwen3moe"))
//
// Their text is noise, but their values resemble those of a trained model: activations neither
// vanish nor overflow, the router spreads tokens over the experts, and the most likely token stands
// out from the next. Norm weights and biases are not exactly 1 and 0, so that forgetting to apply
// one shows.
package synth
