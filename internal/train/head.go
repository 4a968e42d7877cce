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
		w.lossRows(b.targets[lo:hi], b.gains[lo:hi], back)
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
func (w *worker) lossRows(targets []int32, gains []float32, back bool) {
	n, d, v, h := len(targets), w.shape.Dim, w.shape.Vocab, &w.head
	embed := w.weights[w.layout.embed:]
	h.logits = grow(h.logits, n*v)
	tensor.Gemm(false, true, n, v, d, 1, h.h, d, embed, d, 0, h.logits, v, &w.ws)
	for i, target := range targets {
		w.lossRow(h.logits[i*v:(i+1)*v], int(target), gains[i])
	}
	if !back {
		return
	}
	h.dh = grow(h.dh, n*d)
	tensor.Gemm(false, false, n, d, v, 1, h.logits, v, embed, d, 0, h.dh, d, &w.ws)
	tensor.Gemm(true, false, v, d, n, 1, h.logits, v, h.h, d, 1, w.grads[w.layout.embed:], d, &w.ws)
}

// lossRow counts one prediction and replaces its logits by their gradient.
func (w *worker) lossRow(logits []float32, target int, gain float32) {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	top := logits[best]
	own := logits[target]
	for i := range logits {
		logits[i] -= top
	}
	sum := expSum(logits)
	w.sum.loss += float64(gain) * (math.Log(float64(sum)) - float64(own-top))
	w.sum.weight += abs64(float64(gain))
	if gain >= decisionWeight || gain <= -decisionWeight {
		w.sum.decisions++
		if best == target {
			w.sum.hits++
		}
	}
	g := float32(float64(gain) * w.perWeight)
	scale := g / sum
	for i := range logits {
		logits[i] *= scale
	}
	logits[target] -= g
}

// expSum replaces x by its exponentials and returns their sum.
func expSum(x []float32) float32 {
	sum := float32(0)
	for i, v := range x {
		e := tensor.Exp(v)
		x[i] = e
		sum += e
	}
	return sum
}
