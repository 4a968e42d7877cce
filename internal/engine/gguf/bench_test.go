package gguf

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
)

// BenchmarkOpen opens a file of the metadata and tensors of a real model: 151936 tokens, as many
// merges, 600 tensors.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "m.gguf")
	w := &Writer{}
	tokens := make([]string, 151936)
	for i := range tokens {
		tokens[i] = fmt.Sprint("token", i)
	}
	w.SetStrings("tokenizer.ggml.tokens", tokens)
	w.SetStrings("tokenizer.ggml.merges", tokens)
	for i := range 600 {
		w.AddTensor(fmt.Sprintf("blk.%d.weight", i), TypeF32, []int{256, 16}, make([]byte, 16<<10))
	}
	if err := w.Create(path); err != nil {
		b.Fatal(err)
	}
	b.Run("Open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	f, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.Run("Strings", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f.Strings("tokenizer.ggml.tokens")
		}
	})
	b.Run("Write", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(f.Size())
		for b.Loop() {
			if _, err := rewrite(f).WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
}
