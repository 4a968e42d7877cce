// Package gguf reads and writes GGUF, a file format for language models for inference on the CPU.
//
// A GGUF file is a header, a list of typed metadata (key → value), a list of tensor descriptions
// and the tensors' bytes. [Open] maps a file into memory and checks every length, count and offset
// before anything uses it, so that a truncated or hostile file results in an error that describes
// the fault, never in a panic or a large allocation. Opening a file only takes time for the
// metadata; the operating system reads a tensor's bytes when they are first accessed.
//
//	f, err := gguf.Open("qwen3-coder.gguf")
//	if err != nil { … }
//	defer f.Close()
//	arch, _ := f.String("general.architecture")
//	t, ok := f.Tensor("token_embd.weight") // t.Data is a view of the mapping
//
// A model split over several files (name-00001-of-00003.gguf) is opened by its first file.
//
// [Writer] makes such files: their bytes are deterministic, and a file gets its name only when it
// is complete.
//
// The format is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Versions 2
// and 3 can be read (they differ only in that version 3 allows big-endian files, which this package
// refuses). Version 3 is written.
//
// # Limits
//
//   - The package refuses version 1, big-endian files, and the tensor types that use grids (IQ1 to
//     IQ3), TQ1_0, TQ2_0 and NVFP4.
//   - If another process truncates a mapped file, the program ends (SIGBUS), as with any mapping.
package gguf
