package train

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestActivate(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(t.Context(), microPlan(filepath.Join(dir, "few"), 20_000)); err != nil {
		t.Fatal(err)
	}
	few := filepath.Join(dir, "few", CheckpointFile)
	m, err := LoadModel(few)
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.Activate(4)
	if err != nil {
		t.Fatal(err)
	}
	if m.shape.Active != 2 || all.shape.Active != 4 || all.Weights() != m.Weights() || all.ActiveWeights() != all.Weights() {
		t.Errorf("%+v and %+v", m.shape, all.shape)
	}
	if same, err := all.Activate(2); err != nil || !slices.Equal(same.weights, m.weights) || same.shape != m.shape {
		t.Errorf("back to two: %v, %+v", err, same.shape)
	}
	for _, n := range []int{0, 5} {
		if _, err := m.Activate(n); err == nil || !strings.Contains(err.Error(), "between 1 and 4") {
			t.Errorf("%d experts: %v", n, err)
		}
	}
	dense, err := New(Draft(32), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dense.Activate(1); err == nil || !strings.Contains(err.Error(), "dense") {
		t.Errorf("a dense model: %v", err)
	}
	// A run that continues with more active experts.
	plan := microPlan(filepath.Join(dir, "more"), 20_000)
	plan.Init, plan.Active = few, 3
	if _, err := Run(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if more, err := LoadModel(filepath.Join(dir, "more", CheckpointFile)); err != nil || more.shape.Active != 3 || slices.Equal(more.weights, m.weights) {
		t.Errorf("%v, %v", more, err)
	}
}
