package train

import (
	"errors"
	"fmt"
	"math"
)

// Average returns the weighted mean of several models with the same shape; model i has weight
// shares[i]. Models that were trained from the same start with different data, order or objective
// are so close to each other that their mean is better than each of them ("model soup", Wortsman et
// al., arXiv:2203.05482), and it runs at the cost of one model.
func Average(models []*Model, shares []float64) (*Model, error) {
	if len(models) == 0 || len(models) != len(shares) {
		return nil, fmt.Errorf("train: average models: %d models and %d shares", len(models), len(shares))
	}
	sum := 0.0
	for i, s := range shares {
		if !(s > 0) || math.IsInf(s, 0) {
			return nil, fmt.Errorf("train: average models: the share of model %d is %v; it must be positive", i+1, s)
		}
		if models[i].shape != models[0].shape {
			return nil, fmt.Errorf("train: average models: model %d has the shape %+v, the first %+v", i+1, models[i].shape, models[0].shape)
		}
		sum += s
	}
	if math.IsInf(sum, 0) {
		return nil, errors.New("train: average models: the shares are too large")
	}
	out := &Model{shape: models[0].shape, layout: models[0].layout, weights: make([]float32, len(models[0].weights))}
	for w := range out.weights {
		mean := 0.0
		for i, m := range models {
			mean += shares[i] / sum * float64(m.weights[w])
		}
		out.weights[w] = float32(mean)
	}
	return out, nil
}
