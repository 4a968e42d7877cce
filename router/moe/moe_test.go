package moe_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/router/moe"
)

// write writes a model file with random weights and returns its path.
func write(t testing.TB, c synth.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := synth.Create(path, c); err != nil {
		t.Fatal(err)
	}
	return path
}

// tinyConfig returns synth.Tiny at a quarter of its size, since the output of a network with random
// weights does not matter here.
func tinyConfig() synth.Config {
	c := synth.Tiny("qwen3moe")
	c.Embd, c.HeadDim, c.ExpertFF = 128, 32, 64
	return c
}

// tiny returns the file of a small Mixture-of-Experts model, which most tests load. It is generated
// once.
var tiny = sync.OnceValues(func() ([]byte, error) {
	w, err := synth.NewWriter(tinyConfig())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = w.WriteTo(&b)
	return b.Bytes(), err
})

// writeTiny writes the file of tiny and returns its path.
func writeTiny(t testing.TB) string {
	t.Helper()
	data, err := tiny()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads the small Mixture-of-Experts model and closes it when t ends.
func load(t testing.TB, cfg moe.Config) *moe.Model {
	t.Helper()
	return loadFile(t, writeTiny(t), cfg)
}

func loadFile(t testing.TB, path string, cfg moe.Config) *moe.Model {
	t.Helper()
	m, err := moe.Load(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}
