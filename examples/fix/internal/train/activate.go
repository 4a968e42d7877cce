package train

import (
	"errors"
	"fmt"
	"slices"
)

// Activate returns a model with the same weights that computes each token with more, or fewer, of
// its experts. The routers have not learned this number of experts, so the model has to be trained
// further. The size of its file stays the same.
func (m *Model) Activate(experts int) (*Model, error) {
	shape := m.shape
	if shape.Experts == 0 {
		return nil, errors.New("train: activate experts: the model is dense")
	}
	shape.Active = experts
	if err := shape.Validate(); err != nil {
		return nil, fmt.Errorf("train: activate experts: %w", err)
	}
	return &Model{shape: shape, layout: m.layout, weights: slices.Clone(m.weights)}, nil
}
