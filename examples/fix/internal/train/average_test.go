package train

import (
	"math"
	"strings"
	"testing"
)

func TestAverage(t *testing.T) {
	shape := gradientShapes["experts"]
	a, b := shaken(t, shape, 1), shaken(t, shape, 2)
	m, err := Average([]*Model{a, b}, []float64{3, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range m.weights {
		if want := 0.75*a.weights[i] + 0.25*b.weights[i]; math.Abs(float64(v-want)) > 1e-6 {
			t.Fatalf("weight %d is %v, want %v", i, v, want)
		}
	}
	if m.Shape() != shape {
		t.Errorf("shape %+v", m.Shape())
	}
	for name, c := range map[string]struct {
		models []*Model
		shares []float64
		want   string
	}{
		"no models":     {nil, nil, "0 models"},
		"a share less":  {[]*Model{a, b}, []float64{1}, "1 shares"},
		"no share":      {[]*Model{a, b}, []float64{1, 0}, "must be positive"},
		"not a number":  {[]*Model{a, b}, []float64{1, math.NaN()}, "must be positive"},
		"endless sum":   {[]*Model{a, b}, []float64{math.MaxFloat64, math.MaxFloat64}, "too large"},
		"another shape": {[]*Model{a, shaken(t, gradientShapes["dense"], 1)}, []float64{1, 1}, "model 2 has the shape"},
	} {
		if _, err := Average(c.models, c.shares); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
