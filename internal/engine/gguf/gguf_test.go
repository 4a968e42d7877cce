package gguf

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
)

func sharedFiles(t testing.TB) []string {
	t.Helper()
	return append(devdata.Glob(t, "moe-dev/models/*.gguf"), devdata.Glob(t, "moe-dev/vocab/*.gguf")...)
}

// Evidence: engine · A GGUF file opens by memory map
func TestOpenReal(t *testing.T) {
	for _, path := range sharedFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if a, ok := f.String("general.architecture"); !ok || a == "" {
				t.Errorf("no architecture")
			}
			least := 1000
			if devdata.Sampled(t, path) {
				least = 100
			}
			tokens, ok := f.Strings("tokenizer.ggml.tokens")
			kinds, _ := f.Ints("tokenizer.ggml.token_type")
			if !ok || len(tokens) < least || len(kinds) != len(tokens) || slices.Contains(tokens, "") {
				t.Errorf("%d tokens with %d kinds", len(tokens), len(kinds))
			}
			for _, x := range f.Tensors() {
				n, err := x.Type.RowBytes(x.Dims[0])
				if err != nil || n*x.Rows() != len(x.Data) {
					t.Errorf("%s: %d bytes for %v %v, %v", x.Name, len(x.Data), x.Type, x.Dims, err)
				}
			}
			touch(f)
		})
	}
}
