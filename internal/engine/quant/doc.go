// Package quant converts rows of numbers to the block encodings of GGUF tensors and back.
//
// [Dequantize] returns exactly the values of ggml. That is possible on any machine because every
// product of a block's scales with a stored integer has at most 24 significant bits, so that it is
// exact in float32; only the last addition rounds, whether or not a fused multiply-add is used.
//
// [Quantize] searches for the scales with the least squared error. Its bytes differ from those of
// ggml; its errors are equal or smaller, with one exception. The package's tests contain a table of
// the errors.
//
// The layouts are those of ggml (https://github.com/ggml-org/ggml, ggml-common.h) and, for MXFP4,
// of the OCP Microscaling Formats specification 1.0.
//
// # Limits
//
// The rounding error of Q4_K is 0.6 % above that of ggml. Ten starting points instead of five would
// close the gap at half the speed.
package quant
