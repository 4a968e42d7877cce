package train

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// newtonSteps is the number of Newton-Schulz iterations that make a matrix nearly orthogonal.
const newtonSteps = 5

// Coefficients of the quintic iteration, which quickly moves singular values from (0, 1] to about
// [0.7, 1.2] (Keller Jordan, https://kellerjordan.github.io/posts/muon/).
const (
	newtonA = 3.4445
	newtonB = -4.7750
	newtonC = 2.0315
)

// muonSpace is the memory of one orthogonalisation.
type muonSpace struct {
	ws   tensor.GemmSpace
	x, y []float32
	a, b []float32
}

// update updates one matrix by Muon with Nesterov momentum. The step of an r×c matrix is scaled by
// 0.2·√max(r, c), so that it is about as long as a step of AdamW and can use the same learning rate
// (arXiv:2502.16982).
func (s *muonSpace) update(w, grad, momentum []float32, rows, cols int, cfg *Config, rate, gradScale float64) {
	mu, g := float32(cfg.Momentum), float32(gradScale)
	s.x = grow(s.x, len(w))
	for i, v := range grad {
		v *= g
		m := mu*momentum[i] + v
		momentum[i] = m
		s.x[i] = mu*m + v
	}
	s.orthogonalise(rows, cols)
	keep := float32(1 - rate*cfg.WeightDecay)
	step := float32(-rate * 0.2 * math.Sqrt(float64(max(rows, cols))))
	for i, v := range s.x {
		w[i] = w[i]*keep + step*v
	}
}

// orthogonalise replaces x = U·S·Vᵀ by approximately U·Vᵀ.
func (s *muonSpace) orthogonalise(rows, cols int) {
	sum := 0.0
	for _, v := range s.x {
		sum += float64(v) * float64(v)
	}
	scale := float32(1 / (math.Sqrt(sum) + 1e-7))
	for i := range s.x {
		s.x[i] *= scale
	}
	n := min(rows, cols)
	s.a, s.b, s.y = grow(s.a, n*n), grow(s.b, n*n), grow(s.y, len(s.x))
	for range newtonSteps {
		if rows <= cols {
			tensor.Gemm(false, true, n, n, cols, 1, s.x, cols, s.x, cols, 0, s.a, n, &s.ws)
		} else {
			tensor.Gemm(true, false, n, n, rows, 1, s.x, cols, s.x, cols, 0, s.a, n, &s.ws)
		}
		copy(s.b, s.a)
		tensor.Gemm(false, false, n, n, n, newtonC, s.a, n, s.a, n, newtonB, s.b, n, &s.ws)
		copy(s.y, s.x)
		if rows <= cols {
			tensor.Gemm(false, false, rows, cols, n, 1, s.b, n, s.x, cols, newtonA, s.y, cols, &s.ws)
		} else {
			tensor.Gemm(false, false, rows, cols, n, 1, s.x, cols, s.b, n, newtonA, s.y, cols, &s.ws)
		}
		s.x, s.y = s.y, s.x
	}
}
