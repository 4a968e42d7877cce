package ranking

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
)

// A Model holds the weights of the features.
type Model struct {
	Files  map[string]float64 `json:"files"`
	Places map[string]float64 `json:"places"`

	fw [numFeatures]float64
	pw [numPlace]float64
}

//go:embed weights.json
var learned []byte

// Learned returns the weights included in the package.
var Learned = sync.OnceValue(func() *Model {
	m, err := ParseModel(learned)
	if err != nil {
		panic(err) // a test parses it
	}
	return m
})

// ParseModel parses weights. An unknown feature name is an error; a feature without a weight has
// weight zero.
func ParseModel(b []byte) (*Model, error) {
	m := &Model{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("ranking: read weights: %w", err)
	}
	for name := range m.Files {
		if !slices.Contains(featureNames[:], name) {
			return nil, fmt.Errorf("ranking: read weights: no feature of files is called %q", name)
		}
	}
	for name := range m.Places {
		if !slices.Contains(placeNames[:], name) {
			return nil, fmt.Errorf("ranking: read weights: no feature of places is called %q", name)
		}
	}
	m.fill()
	return m, nil
}

func (m *Model) fill() {
	for i, n := range featureNames {
		m.fw[i] = m.Files[n]
	}
	for i, n := range placeNames {
		m.pw[i] = m.Places[n]
	}
}

func (m *Model) file(x *[numFeatures]float32) (s float64) {
	for i, v := range x {
		s += m.fw[i] * float64(v)
	}
	return s
}

func (m *Model) place(x *[numPlace]float32) (s float64) {
	for i, v := range x {
		s += m.pw[i] * float64(v)
	}
	return s
}

// A Reason is the contribution of a feature to a file's score.
type Reason struct {
	Feature string
	Weight  float64 // its weight times its value
}

// Why returns the largest contributions to a file's score, at most n of them, in descending order.
func (m *Model) Why(f *File, n int) []Reason {
	var out []Reason
	for i, v := range f.x {
		if w := m.fw[i] * float64(v); w > 0.05 || w < -0.05 {
			out = append(out, Reason{featureNames[i], w})
		}
	}
	slices.SortStableFunc(out, func(a, b Reason) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
	return out[:min(n, len(out))]
}
