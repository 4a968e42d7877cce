package gguf

import (
	"path/filepath"
	"testing"
)

func sharedFiles(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"models", "vocab"} {
		m, err := filepath.Glob("../../../shared/moe-dev/" + dir + "/*.gguf")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m...)
	}
	if len(out) == 0 {
		t.Skip("no development models at ../../../shared/moe-dev")
	}
	return out
}

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
			for _, k := range f.Keys() {
				_, _, _, _ = f.Kind(k)
			}
			toks, ok := f.Strings("tokenizer.ggml.tokens")
			t.Log(len(f.Tensors()), "tensors", len(toks), "tokens", ok)
		})
	}
}
