package train

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

func TestDeepen(t *testing.T) {
	m, err := New(Micro(32), 4)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range m.weights { // so that no outputs are zero, as after training
		m.weights[i] += 0.1 * float32(rng.NormFloat64())
	}
	var s Sequence
	copies{32, 12, 1}.Read(3, &s)
	loss := func(m *Model) float64 {
		tr, err := NewTrainer(m, Config{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		st, err := tr.Evaluate([]Sequence{s})
		if err != nil {
			t.Fatal(err)
		}
		return st.Loss
	}
	want := loss(m)
	for _, layers := range []int{2, 3, 4, 7} {
		deep, err := m.Deepen(layers, 9)
		if err != nil {
			t.Fatal(err)
		}
		if got := loss(deep); deep.shape.Layers != layers || math.Abs(got-want) > 1e-6 {
			t.Errorf("%d layers: loss %v, want %v", deep.shape.Layers, got, want)
		}
	}
	if _, err := m.Deepen(1, 9); err == nil || !strings.Contains(err.Error(), "2 layers already") {
		t.Errorf("fewer layers: %v", err)
	}
	// This run starts from a checkpoint.
	dir := t.TempDir()
	if err := m.Save(filepath.Join(dir, "small.gguf")); err != nil {
		t.Fatal(err)
	}
	plan := microPlan(filepath.Join(dir, "run"), 2000)
	plan.Init, plan.Deepen = filepath.Join(dir, "small.gguf"), 3
	if _, err := Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if deep, err := LoadModel(filepath.Join(dir, "run", CheckpointFile)); err != nil || deep.shape.Layers != 3 {
		t.Errorf("%v, %v", deep, err)
	}
}
