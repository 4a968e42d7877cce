package train

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// headRows is the number of tokens whose logits are computed at once: few enough to stay in the
// cache.
const headRows = 128

// headState holds the state of the last norm and the output projection.
type headState struct {
	x, h, inv, dx, dh []float32
	logits            []float32
	likely            []float64 // log probability of each row's target
}

// loss adds up the cross entropy of the tokens with a weight. If back is true, it also writes the
// gradient of the last layer's output to tmp.dx, which must contain zeros before.
func (w *worker) loss(back bool) {
	b, d, h := &w.batch, w.shape.Dim, &w.head
	norm := w.weights[w.layout.norm:][:d]
	for lo := 0; lo < len(b.rows); lo += headRows {
		hi := min(lo+headRows, len(b.rows))
		w.project(lo, hi)
		for i := lo; i < hi; i++ {
			w.lossRow(h.row(i-lo, w.shape.Vocab), i)
		}
		if !back {
			continue
		}
		w.projectBack(hi - lo)
		h.dx = zeros(h.dx, len(h.x))
		normaliseBack(h.dx, h.dh, h.x, norm, h.inv, w.grads[w.layout.norm:][:d])
		for i, r := range b.rows[lo:hi] {
			copy(w.tmp.dx[int(r)*d:][:d], h.dx[i*d:(i+1)*d])
		}
	}
}

// project applies the last norm and the output projection, which is the embedding, to rows [lo,
// hi).
func (w *worker) project(lo, hi int) {
	n, d, v, h := hi-lo, w.shape.Dim, w.shape.Vocab, &w.head
	h.x = gather(h.x, w.act[w.shape.Layers].x, w.batch.rows[lo:hi], d)
	h.h, h.inv = grow(h.h, len(h.x)), grow(h.inv, n)
	normalise(h.h, h.x, w.weights[w.layout.norm:][:d], h.inv)
	h.logits = grow(h.logits, n*v)
	tensor.Gemm(false, true, n, v, d, 1, h.h, d, w.weights[w.layout.embed:], d, 0, h.logits, v, &w.ws)
}

// projectBack computes the gradients of the projection from the gradients of n rows' logits, which
// have replaced the logits.
func (w *worker) projectBack(n int) {
	d, v, h := w.shape.Dim, w.shape.Vocab, &w.head
	embed := w.weights[w.layout.embed:]
	h.dh = grow(h.dh, n*d)
	tensor.Gemm(false, false, n, d, v, 1, h.logits, v, embed, d, 0, h.dh, d, &w.ws)
	tensor.Gemm(true, false, v, d, n, 1, h.logits, v, h.h, d, 1, w.grads[w.layout.embed:], d, &w.ws)
}

// row returns the logits of a row in the last projection.
func (h *headState) row(i, vocab int) []float32 { return h.logits[i*vocab : (i+1)*vocab] }

// lossRow counts one prediction and replaces its logits with their gradient.
func (w *worker) lossRow(logits []float32, row int) {
	target, weight, gain := int(w.batch.targets[row]), w.batch.weights[row], w.batch.gains[row]
	own := logits[target]
	best, top, sum := softmax(logits)
	w.sum.loss += float64(weight) * (math.Log(float64(sum)) - float64(own-top))
	w.sum.weight += abs64(float64(weight))
	if weight >= decisionWeight || weight <= -decisionWeight {
		w.decide(row, best == target)
	}
	g := float32(float64(gain) * w.perWeight)
	scale := g / sum
	tensor.Scale(logits, scale)
	logits[target] -= g
}

// softmax replaces logits by their exponentials relative to the largest. It returns the index of
// the largest logit (best), its value (top), and the sum of the exponentials.
func softmax(logits []float32) (best int, top, sum float32) {
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	top = logits[best]
	return best, top, tensor.ExpSum(logits, top)
}

// decide records whether a decision was right.
func (w *worker) decide(row int, hit bool) {
	state := &w.batch.states[w.batch.owners[row]]
	w.sum.decisions++
	switch {
	case !hit && *state == answerRight:
		w.sum.right--
		*state = answerWrong
	case !hit && *state == answerNone:
		w.sum.answers++
		*state = answerWrong
	case hit && *state == answerNone:
		w.sum.answers++
		w.sum.right++
		*state = answerRight
	}
	if hit {
		w.sum.hits++
	}
}
