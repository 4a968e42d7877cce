package train

import (
	"math"

	"github.com/luthier-dev/luthier/internal/tensor"
)

// headRows is how many tokens' logits are computed at once: few enough that they stay in the cache.
const headRows = 128

// headState is the memory of the last norm and the output projection.
type headState struct {
	x, h, inv, dx, dh []float32
	logits            []float32
}

// loss adds up the cross entropy of the tokens that count and, when back is set, writes the gradient of the last layer's
// output to tmp.dx, which is zero before.
func (w *worker) loss(back bool) {
	b, d := &w.batch, w.shape.Dim
	last, norm := w.act[w.shape.Layers].x, w.weights[w.layout.norm:][:d]
	for lo := 0; lo < len(b.rows); lo += headRows {
		hi := min(lo+headRows, len(b.rows))
		rows, h := b.rows[lo:hi], &w.head
		h.x = gather(h.x, last, rows, d)
		h.h, h.inv = grow(h.h, len(h.x)), grow(h.inv, len(rows))
		normalise(h.h, h.x, norm, h.inv)
		w.lossRows(lo, hi, back)
		if !back {
			continue
		}
		h.dx = zeros(h.dx, len(h.x))
		normaliseBack(h.dx, h.dh, h.x, norm, h.inv, w.grads[w.layout.norm:][:d])
		for i, r := range rows {
			copy(w.tmp.dx[int(r)*d:][:d], h.dx[i*d:(i+1)*d])
		}
	}
}

// lossRows takes normalised rows through the output projection, which is the embedding.
func (w *worker) lossRows(lo, hi int, back bool) {
	n, d, v, h := hi-lo, w.shape.Dim, w.shape.Vocab, &w.head
	embed := w.weights[w.layout.embed:]
	h.logits = grow(h.logits, n*v)
	tensor.Gemm(false, true, n, v, d, 1, h.h, d, embed, d, 0, h.logits, v, &w.ws)
	for i := range n {
		w.lossRow(h.logits[i*v:(i+1)*v], lo+i)
	}
	if !back {
		return
	}
	h.dh = grow(h.dh, n*d)
	tensor.Gemm(false, false, n, d, v, 1, h.logits, v, embed, d, 0, h.dh, d, &w.ws)
	tensor.Gemm(true, false, v, d, n, 1, h.logits, v, h.h, d, 1, w.grads[w.layout.embed:], d, &w.ws)
}

// lossRow counts one prediction and replaces its logits by their gradient.
func (w *worker) lossRow(logits []float32, row int) {
	target, gain := int(w.batch.targets[row]), w.batch.gains[row]
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	top := logits[best]
	own := logits[target]
	sum := tensor.ExpSum(logits, top)
	w.sum.loss += float64(gain) * (math.Log(float64(sum)) - float64(own-top))
	w.sum.weight += abs64(float64(gain))
	if gain >= decisionWeight || gain <= -decisionWeight {
		w.decide(row, best == target)
	}
	g := float32(float64(gain) * w.perWeight)
	scale := g / sum
	tensor.Scale(logits, scale)
	logits[target] -= g
}

// decide counts a decision.
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
