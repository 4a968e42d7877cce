package moe_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/router/moe"
)

// TestLogitsOfDefaults compares the logits of a model loaded with the zero Config with those of
// llama.cpp, by the KL divergence of the softmax over the top 20 at every position.
func TestLogitsOfDefaults(t *testing.T) {
	files := devdata.Glob(t, "moe-dev/oracle/*.exact.json")
	for _, file := range files {
		var o struct {
			Model  string
			Tokens []int32
			Batch  []struct{ Top [][2]float64 }
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &o); err != nil || len(o.Batch) == 0 {
			t.Fatalf("%s: %d positions, %v", file, len(o.Batch), err)
		}
		m, err := moe.Load(devdata.Path(t, "moe-dev/models/"+o.Model), moe.Config{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.Logits(t.Context(), o.Tokens)
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i, at := range o.Batch {
			var want, got []float64
			for _, pair := range at.Top {
				want, got = append(want, pair[1]), append(got, float64(rows[i][int(pair[0])]))
			}
			worst = max(worst, divergence(softmax(want), softmax(got)))
		}
		t.Logf("%s: worst KL %.2g", o.Model, worst)
		if worst > 5e-3 {
			t.Errorf("%s: worst KL %.2g", o.Model, worst)
		}
	}
}

func softmax(x []float64) []float64 {
	most, sum := math.Inf(-1), 0.0
	for _, v := range x {
		most = max(most, v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Exp(v - most)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func divergence(p, q []float64) float64 {
	d := 0.0
	for i := range p {
		d += p[i] * math.Log(p[i]/q[i])
	}
	return d
}
