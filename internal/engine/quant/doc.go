// Package quant turns rows of numbers into the block encodings of GGUF tensors and back.
//
// [Dequantize] gives exactly the values ggml gives. That is possible on any machine because every
// product of a block's scales with a stored integer has at most 24 significant bits and so is exact
// in float32; only the last addition rounds, with or without a fused multiply-add.
//
// [Quantize] looks for the scales with the least squared error. Its bytes differ from ggml's, its
// errors do not or are smaller; the package's tests hold a table of them.
//
// The layouts are those of ggml (https://github.com/ggml-org/ggml, ggml-common.h) and, for MXFP4,
// of the OCP Microscaling Formats specification 1.0.
package quant
