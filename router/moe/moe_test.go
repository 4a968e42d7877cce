package moe_test

import (
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/router/moe"
)

// write makes a model file of random weights and returns its path.
func write(t testing.TB, c synth.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := synth.Create(path, c); err != nil {
		t.Fatal(err)
	}
	return path
}

// load makes a small Mixture-of-Experts model and loads it until t ends.
func load(t testing.TB, cfg moe.Config) *moe.Model {
	t.Helper()
	m, err := moe.Load(write(t, synth.Tiny("qwen3moe")), cfg)
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
