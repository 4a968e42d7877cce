package gguf_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

func Example() {
	dir, err := os.MkdirTemp("", "gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")

	w := &gguf.Writer{}
	w.SetString("general.architecture", "llama")
	w.SetUint32("llama.block_count", 2)
	w.SetStrings("tokenizer.ggml.tokens", []string{"a", "b"})
	w.AddTensor("output_norm.weight", gguf.TypeF32, []int{2}, []byte{0, 0, 128, 63, 0, 0, 0, 64})
	if err := w.Create(path); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	layers, _ := f.Uint("llama.block_count")
	tokens, _ := f.Strings("tokenizer.ggml.tokens")
	t, _ := f.Tensor("output_norm.weight")
	fmt.Println(layers, tokens, t.Name, t.Type, t.Dims, len(t.Data))
	// Output: 2 [a b] output_norm.weight F32 [2] 8
}
