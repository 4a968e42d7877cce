// Package synth makes GGUF models with random weights: small ones for tests of everything that
// reads a model, large ones, of the shape of real models, for benchmarks. The same Config gives the
// same bytes (on processors that fuse multiplications with additions, a few quantised values may be
// rounded the other way).
//
//	f, err := synth.Open(synth.Tiny("qwen3moe"))
//
// Their text is noise, but every value is as in a trained model of good health: activations neither
// vanish nor overflow, the router spreads tokens over the experts, and the most likely token stands
// out from the next. Norm weights and biases are not exactly 1 and 0, so that forgetting to apply
// one shows.
package synth
