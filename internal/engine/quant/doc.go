// Package quant turns rows of numbers into the block encodings of GGUF tensors and back.
//
// [Dequantize] returns exactly the values of ggml. That is possible on any machine because every
// product of a block's scales with a stored integer has at most 24 significant bits and so is exact
// in float32; only the last addition rounds, with or without a fused multiply-add.
//
// [Quantize] looks for the scales with the least squared error. Its bytes differ from ggml's; its
// errors are equal or smaller, with one exception. The package's tests hold a table of them.
//
// The layouts are those of ggml (https://github.com/ggml-org/ggml, ggml-common.h) and, for MXFP4,
// of the OCP Microscaling Formats specification 1.0.
//
// # Limits
//
// The rounding error of Q4_K is 0.6 % above ggml's. Ten starting points instead of five would close
// the gap at half the speed.
package quant
