// Package gguf reads and writes GGUF, the file format in which language models are kept for
// inference on the CPU.
//
// A GGUF file is a header, a list of typed metadata (key → value), a list of tensor descriptions
// and the tensors' bytes. [Open] maps a file into memory and checks every length, count and offset
// before anything uses it, so that a truncated or hostile file is an error that says what is wrong
// with it, never a panic and never a large allocation. Opening costs time for the metadata only; a
// tensor's bytes are read by the operating system when they are first touched.
//
//	f, err := gguf.Open("qwen3-coder.gguf")
//	if err != nil { … }
//	defer f.Close()
//	arch, _ := f.String("general.architecture")
//	t, ok := f.Tensor("token_embd.weight") // t.Data is a view of the mapping
//
// A model split over several files (name-00001-of-00003.gguf) is opened by its first file.
//
// [Writer] makes such files: deterministic bytes, and a file appears under its name only when it is
// complete.
//
// The format is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Versions 2
// and 3 are read (they differ only in that 3 allows big-endian files, which are refused here),
// version 3 is written.
//
// # Limits
//
//   - Refused: version 1, big-endian files, and the tensor types of grids (IQ1 to IQ3), TQ1_0,
//     TQ2_0 and NVFP4.
//   - A file that another process truncates while it is mapped ends the program (SIGBUS), as with
//     any mapping.
package gguf
