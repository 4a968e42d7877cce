package train

import (
	"math"
	"slices"
)

// contrast sets the gradient scales for lists of answers. The loss is the weighted loss of the
// right answer, plus Config.Contrast times the loss of choosing it from its list, -log(p₁/Σpⱼ).
// Here pⱼ is the probability of answer j; in its logarithm, the log-probabilities of the tokens are
// weighted. Training on the wrong answers that a model considers likeliest raises the rank of the
// right one in a beam search, which likelihood alone does not optimise (Prabhavalkar et al.,
// arXiv:1712.01818).
func (w *worker) contrast() {
	b := &w.batch
	w.likelihoods()
	for i := range b.lists {
		l := &b.lists[i]
		p := w.shares(l)
		w.sum.lists++
		w.sum.contrast -= math.Log(max(p[0], math.SmallestNonzeroFloat64))
		if p[0] == slices.Max(p) {
			w.sum.chosen++
		}
		for j, share := range p {
			for r := l.rows[j]; r < l.rows[j+1]; r++ {
				if j == 0 {
					b.gains[r] = b.weights[r] * float32(1+w.factor*(1-share))
				} else {
					b.gains[r], b.weights[r] = b.weights[r]*float32(-w.factor*share), 0
				}
			}
		}
	}
}

// likelihoods computes the log-probability of every row's target.
func (w *worker) likelihoods() {
	b, h := &w.batch, &w.head
	h.likely = grow(h.likely, len(b.rows))
	for lo := 0; lo < len(b.rows); lo += headRows {
		hi := min(lo+headRows, len(b.rows))
		w.project(lo, hi)
		for i := lo; i < hi; i++ {
			logits := h.row(i-lo, w.shape.Vocab)
			own := logits[b.targets[i]]
			_, top, sum := softmax(logits)
			h.likely[i] = float64(own-top) - math.Log(float64(sum))
		}
	}
}

// shares returns each answer's share of its list's probability.
func (w *worker) shares(l *list) []float64 {
	w.choice = grow(w.choice, len(l.rows)-1)
	top := math.Inf(-1)
	for j := range w.choice {
		sum := 0.0
		for r := l.rows[j]; r < l.rows[j+1]; r++ {
			sum += float64(w.batch.weights[r]) * w.head.likely[r]
		}
		w.choice[j] = sum
		top = max(top, sum)
	}
	all := 0.0
	for j, v := range w.choice {
		w.choice[j] = math.Exp(v - top)
		all += w.choice[j]
	}
	for j := range w.choice {
		w.choice[j] /= all
	}
	return w.choice
}
