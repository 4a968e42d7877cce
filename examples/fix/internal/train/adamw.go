package train

import "math"

// adamEps prevents AdamW from dividing by zero.
const adamEps = 1e-10

// adamW updates weights by AdamW (arXiv:1711.05101); step counts from 1.
func adamW(w, grad, mean, square []float32, cfg *Config, step int, rate, decay, gradScale float64) {
	b1, b2 := float32(cfg.Beta1), float32(cfg.Beta2)
	g := float32(gradScale)
	correct := math.Sqrt(1 - math.Pow(cfg.Beta2, float64(step)))
	lr := float32(rate * correct / (1 - math.Pow(cfg.Beta1, float64(step))))
	tiny := float32(adamEps * correct)
	keep := float32(1 - rate*decay)
	for i, v := range grad {
		v *= g
		m := b1*mean[i] + (1-b1)*v
		s := b2*square[i] + (1-b2)*v*v
		mean[i], square[i] = m, s
		w[i] = w[i]*keep - lr*m/(float32(math.Sqrt(float64(s)))+tiny)
	}
}
