// Package tensor holds the numeric kernels of the engine: quantised matrices, batches of
// activations and the products between them, a pool of workers and memory on huge pages.
//
// One rule stands above the others, batch invariance: an output element (row r, token t) is
// computed by exactly the same sequence of floating-point operations whatever the number of tokens
// in the batch, the number of workers and the order of work. Speculation, batching and prefix reuse
// are lossless only because of it, and every kernel is tested for it. Another CPU, whose kernel set
// differs, may differ in the last bits; a process uses one kernel set.
//
// # Layout
//
// A matrix of any type is kept in panels of 16 rows. Within a panel the values run along the
// columns in steps of four: 16 rows × 4 columns of bytes are 64 bytes, one vector of 512 bits (or
// two of 256), so that a single instruction multiplies 16 rows with four activations and no sum
// across lanes is ever needed. A panel is as large as the 16 ggml rows it was made from; layout.go
// tells how each type's fields are placed.
//
// Quantised weights meet activations that were rounded as ggml rounds them: to blocks of 32 with a
// half-precision scale (Q8_0) for the types with blocks of 32, to super-blocks of 256 (Q8_K) for
// the K-quants and IQ4_XS; to bfloat16 for BF16. F32 and F16 weights meet the f32 activations
// themselves.
//
// # Kernel sets
//
// The best set that the processor can run is chosen when a matrix is made: AVX-512 with VNNI, AVX2
// with FMA, NEON, or plain Go, which is the definition that the others are tested against. The
// assembly for amd64 is generated (gen; run go generate after a change): a type is described once
// by how its header gives scales and how four of its columns are unpacked, and the kernels for
// every number of tokens follow from that.
//
// Gemm, the product of training, has a set of its own beside these: where its caller allows
// operands to be rounded to bfloat16 and the processor has AMX, tiles of 16 by 32 numbers are
// multiplied at once. The permission is the caller's as the result is another one, not only in its
// last bits; nothing of the engine asks for it.
package tensor
