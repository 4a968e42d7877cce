package train

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Model holds the weights of a network. A Trainer changes them; nothing else may use the Model
// while it does.
type Model struct {
	shape   Shape
	layout  layout
	weights []float32
}

// New returns a model with random weights, the same for the same seed. Matrices that write to the
// residual stream start at zero, so that the model initially equals its embedding (as in T-Fixup
// and modded-nanogpt).
func New(shape Shape, seed uint64) (*Model, error) {
	m, err := newModel(shape)
	if err != nil {
		return nil, fmt.Errorf("train: make model: %w", err)
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d6f64656c))
	for i := range m.layout.params {
		p := &m.layout.params[i]
		w := m.values(p)
		switch p.role {
		case roleNorm:
			fill(w, 1)
		case roleEmbed:
			normal(rng, w, 0.02)
		case roleRouter:
			normal(rng, w, 0.02)
		case roleMatrix:
			normal(rng, w, 0.5/math.Sqrt(float64(p.cols)))
		}
	}
	return m, nil
}

// newModel returns a model whose weights are all zero.
func newModel(shape Shape) (*Model, error) {
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	m := &Model{shape: shape, layout: newLayout(shape)}
	m.weights = make([]float32, m.layout.size)
	return m, nil
}

// Shape returns the model's shape.
func (m *Model) Shape() Shape { return m.shape }

// Weights returns the number of weights; the tied embedding counts once.
func (m *Model) Weights() int { return len(m.weights) }

// ActiveWeights returns the number of weights that take part in computing one token.
func (m *Model) ActiveWeights() int {
	idle := m.shape.experts() - m.shape.active()
	return len(m.weights) - m.shape.Layers*idle*3*m.shape.Dim*m.shape.FF
}

func (m *Model) values(p *param) []float32 { return m.weights[p.at : p.at+p.size()] }

func normal(rng *rand.Rand, w []float32, deviation float64) {
	for i := range w {
		w[i] = float32(rng.NormFloat64() * deviation)
	}
}

func fill(w []float32, v float32) {
	for i := range w {
		w[i] = v
	}
}
