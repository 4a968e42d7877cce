// Package tensor holds the numeric kernels of the engine: quantised matrices, batches of
// activations and the products between them, a pool of workers and memory on huge pages.
//
// The most important rule is batch invariance: an output element (row r, token t) is computed by
// exactly the same sequence of floating-point operations whatever the number of tokens in the
// batch, the number of workers and the order of work. Speculation, batching and prefix reuse are
// lossless only because of this rule, and every kernel is tested for it. On another CPU with a
// different kernel set, the last bits may differ; a process uses one kernel set.
//
// # Layout
//
// A matrix of any type is kept in panels of 16 rows. Within a panel the values run along the
// columns in steps of four: 16 rows × 4 columns of bytes are 64 bytes, one vector of 512 bits (or
// two of 256), so that a single instruction multiplies 16 rows with four activations and no sum
// across lanes is ever needed. A panel is as large as the 16 ggml rows it was made from; layout.go
// describes how each type's fields are placed.
//
// Quantised weights are multiplied by activations that are rounded as in ggml: to blocks of 32 with
// a half-precision scale (Q8_0) for the types with blocks of 32, to super-blocks of 256 (Q8_K) for
// the K-quants and IQ4_XS; to bfloat16 for BF16. F32 and F16 weights are multiplied by the f32
// activations themselves.
//
// # Kernel sets
//
// The best set that the processor can run is chosen when a matrix is made: AVX-512 with VNNI, AVX2
// with FMA, NEON, or plain Go, which is the definition that the others are tested against. The
// assembly for amd64 is generated (gen; run go generate after a change): a type is described once
// by how its header gives scales and how four of its columns are unpacked, and the kernels for
// every number of tokens follow from that.
//
// Gemm, the matrix product for training, has one more set: if its caller allows operands to be
// rounded to bfloat16 and the processor has AMX, tiles of 16 by 32 numbers are multiplied at once.
// The caller must allow this explicitly because the result differs by more than the last bits; the
// engine never does.
//
// # Limits
//
//   - Q2_K and Q3_K reach 77 % of the read limit; the goal was 80 %.
//   - F32, F16 and BF16 have no kernel for two panels. With 8192 columns and many tokens they fall
//     to 30 to 50 GMAC/s, because activations in f32 leave the caches.
//   - AVX-512 without VNNI uses the AVX2 kernels. AVX-VNNI is not used, because Go's assembler
//     lacks it.
//   - MXFP4 scales of 2⁻¹²⁷ and below count as zero.
//   - On arm64 speed was not measured and the kernels are not tuned: no prefetch, no I8MM or SVE,
//     no unpacked panels for many tokens, f32 sums in memory instead of registers for one token.
//     Rows are interleaved in plain Go.
//   - The NEON products for training ran only under emulation. The other kernels of training are
//     plain Go except on AVX-512 and AVX2.
//   - Compared with OpenBLAS, gradients of weights reach 0.95 to 1.0 of its speed, and a product of
//     1024³ reaches 0.90; with AVX2, gradients of weights reach 0.8 to 0.9.
package tensor
