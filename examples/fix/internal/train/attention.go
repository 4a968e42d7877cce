package train

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// blockTokens is the number of queries that are multiplied in one product with the keys up to them.
// The part of the product above the diagonal is wasted, so the number is small. Because the query
// heads of a group are stacked, the product is still large enough to be efficient.
const blockTokens = 64

// block holds the queries of tokens [lo, hi) for one key-value head, in a sequence that starts at
// first and whose prompt ends at prompt.
type block struct {
	head                  int
	first, prompt, lo, hi int
	p                     []float32 // probabilities: a row for each token and head of the group, a column for each key from first to hi
}

// blocks calls f for every block of the pass, in the order of their probabilities in p.
func (w *worker) blocks(p []float32, f func(b block)) {
	g, at := w.shape.group(), 0
	for i, end := range w.batch.starts[1:] {
		first := int(w.batch.starts[i])
		for head := range w.shape.KVHeads {
			for lo := first; lo < int(end); lo += blockTokens {
				hi := min(lo+blockTokens, int(end))
				size := (hi - lo) * g * (hi - first)
				f(block{head, first, int(w.batch.prompts[i]), lo, hi, p[at : at+size]})
				at += size
			}
		}
	}
}

func (w *worker) probabilities() int {
	g, n := w.shape.group(), 0
	for i, end := range w.batch.starts[1:] {
		first := int(w.batch.starts[i])
		for lo := first; lo < int(end); lo += blockTokens {
			hi := min(lo+blockTokens, int(end))
			n += (hi - lo) * g * (hi - first)
		}
	}
	return n * w.shape.KVHeads
}

// attend adds the attention output for a.h to a.mid.
func (w *worker) attend(y *layerAt, a *layerState) {
	s, n := w.shape, w.batch.len()
	qw, width := s.qWidth(), s.qkvWidth()
	a.qkv = grow(a.qkv, n*width)
	tensor.Gemm(false, true, n, width, s.Dim, 1, a.h, s.Dim, w.weights[y.qkv:], s.Dim, 0, a.qkv, width, &w.ws)
	w.turn(y, a)
	a.p = grow(a.p, w.probabilities())
	w.tmp.og = grow(w.tmp.og, n*qw)
	w.blocks(a.p, func(b block) { w.attendBlock(a, b) })
	a.attn = grow(a.attn, n*qw)
	w.ungroup(a.attn, w.tmp.og)
	tensor.Gemm(false, true, n, s.Dim, qw, 1, a.attn, qw, w.weights[y.out:], qw, 1, a.mid, s.Dim, &w.ws)
}

// turn normalises each head of queries and keys and applies the rotary embedding of its position
// (arXiv:2104.09864, halves layout).
func (w *worker) turn(y *layerAt, a *layerState) {
	s, n := w.shape, w.batch.len()
	hd, g := s.HeadDim, s.group()
	a.q, a.k = grow(a.q, n*s.qWidth()), grow(a.k, n*s.kvWidth())
	heads := s.Heads + s.KVHeads
	a.invQK = grow(a.invQK, n*heads)
	qNorm, kNorm := w.weights[y.qNorm:][:hd], w.weights[y.kNorm:][:hd]
	for t, place := range w.batch.places {
		angles := w.angles[int(place)*hd:][:hd]
		row, inv := a.qkv[t*s.qkvWidth():], a.invQK[t*heads:]
		for h := range s.Heads {
			dst := a.q[((h/g*n+t)*g+h%g)*hd:][:hd]
			inv[h] = tensor.RMSNormRow(dst, row[h*hd:][:hd], qNorm, eps)
			tensor.Rotate(dst, angles)
		}
		for h := range s.KVHeads {
			dst := a.k[(h*n+t)*hd:][:hd]
			inv[s.Heads+h] = tensor.RMSNormRow(dst, row[s.qWidth()+h*hd:][:hd], kNorm, eps)
			tensor.Rotate(dst, angles)
		}
	}
}

func (w *worker) attendBlock(a *layerState, b block) {
	s, n := w.shape, w.batch.len()
	hd, g := s.HeadDim, s.group()
	rows, keys := (b.hi-b.lo)*g, b.hi-b.first
	q := a.q[(b.head*n+b.lo)*g*hd:]
	k := a.k[(b.head*n+b.first)*hd:]
	scale := float32(1 / math.Sqrt(float64(hd)))
	tensor.Gemm(false, true, rows, keys, hd, scale, q, hd, k, hd, 0, b.p, keys, &w.ws)
	for t := b.lo; t < b.hi; t++ {
		seen, from := t-b.first+1, int(w.batch.froms[t])
		for r := (t - b.lo) * g; r < (t-b.lo+1)*g; r++ {
			row := b.p[r*keys : (r+1)*keys]
			other := row[min(b.prompt, from)-b.first : from-b.first] // these are other answers in the sequence
			fill(other, masked)
			tensor.SoftmaxRow(row[:seen])
			clear(other)
			clear(row[seen:])
		}
	}
	v := a.qkv[b.first*s.qkvWidth()+s.qWidth()+s.kvWidth()+b.head*hd:]
	o := w.tmp.og[(b.head*n+b.lo)*g*hd:]
	tensor.Gemm(false, false, rows, hd, keys, 1, b.p, keys, v, s.qkvWidth(), 0, o, hd, &w.ws)
}

// masked is the score of a key that must not be seen. Its exponential is zero compared with that of
// any other key.
const masked = -1e30

// ungroup copies from the head layout, [KVHeads][tokens][group·HeadDim], to rows of all heads.
func (w *worker) ungroup(dst, src []float32) {
	n, size := w.batch.len(), w.shape.group()*w.shape.HeadDim
	for h := range w.shape.KVHeads {
		for t := range n {
			copy(dst[(t*w.shape.KVHeads+h)*size:][:size], src[(h*n+t)*size:])
		}
	}
}

// regroup is the reverse of ungroup.
func (w *worker) regroup(dst, src []float32) {
	n, size := w.batch.len(), w.shape.group()*w.shape.HeadDim
	for h := range w.shape.KVHeads {
		for t := range n {
			copy(dst[(h*n+t)*size:][:size], src[(t*w.shape.KVHeads+h)*size:])
		}
	}
}

// attendBack reads the gradient dx of a.mid and writes the gradient of a.h to dh.
func (w *worker) attendBack(y *layerAt, a *layerState, dx, dh []float32) {
	s, n, m := w.shape, w.batch.len(), &w.tmp
	qw, width, d := s.qWidth(), s.qkvWidth(), s.Dim
	m.dattn = grow(m.dattn, n*qw)
	tensor.Gemm(false, false, n, qw, d, 1, dx, d, w.weights[y.out:], qw, 0, m.dattn, qw, &w.ws)
	tensor.Gemm(true, false, d, qw, n, 1, dx, d, a.attn, qw, 1, w.grads[y.out:], qw, &w.ws)
	m.delta = grow(m.delta, n*s.Heads)
	for i := range m.delta { // token by token, which is the order of dattn
		m.delta[i] = tensor.Product(m.dattn[i*s.HeadDim:(i+1)*s.HeadDim], a.attn[i*s.HeadDim:(i+1)*s.HeadDim])
	}
	m.dog = grow(m.dog, n*qw)
	w.regroup(m.dog, m.dattn)
	m.dqkv, m.dq, m.dk = zeros(m.dqkv, n*width), grow(m.dq, n*qw), zeros(m.dk, n*s.kvWidth())
	w.blocks(a.p, func(b block) { w.attendBlockBack(a, b) })
	w.turnBack(y, a)
	tensor.Gemm(false, false, n, d, width, 1, m.dqkv, width, w.weights[y.qkv:], d, 0, dh, d, &w.ws)
	tensor.Gemm(true, false, width, d, n, 1, m.dqkv, width, a.h, d, 1, w.grads[y.qkv:], d, &w.ws)
}

func (w *worker) attendBlockBack(a *layerState, b block) {
	s, n, m := w.shape, w.batch.len(), &w.tmp
	hd, g, width := s.HeadDim, s.group(), s.qkvWidth()
	rows, keys := (b.hi-b.lo)*g, b.hi-b.first
	at := b.first*width + s.qWidth() + s.kvWidth() + b.head*hd
	q, dq := a.q[(b.head*n+b.lo)*g*hd:], m.dq[(b.head*n+b.lo)*g*hd:]
	k, dk := a.k[(b.head*n+b.first)*hd:], m.dk[(b.head*n+b.first)*hd:]
	do := m.dog[(b.head*n+b.lo)*g*hd:]
	m.ds = grow(m.ds, rows*keys)
	tensor.Gemm(false, true, rows, keys, hd, 1, do, hd, a.qkv[at:], width, 0, m.ds, keys, &w.ws)
	tensor.Gemm(true, false, keys, hd, rows, 1, b.p, keys, do, hd, 1, m.dqkv[at:], width, &w.ws)
	for t := b.lo; t < b.hi; t++ {
		for i := range g {
			r := (t-b.lo)*g + i
			delta := m.delta[t*s.Heads+b.head*g+i]
			tensor.SoftmaxBack(m.ds[r*keys:(r+1)*keys], b.p[r*keys:(r+1)*keys], delta)
		}
	}
	scale := float32(1 / math.Sqrt(float64(hd)))
	tensor.Gemm(false, false, rows, hd, keys, scale, m.ds, keys, k, hd, 0, dq, hd, &w.ws)
	tensor.Gemm(true, false, keys, hd, rows, scale, m.ds, keys, q, hd, 1, dk, hd, &w.ws)
}

// turnBack converts the gradients of a.q and a.k to gradients of the projections.
func (w *worker) turnBack(y *layerAt, a *layerState) {
	s, n, m := w.shape, w.batch.len(), &w.tmp
	hd, g, heads := s.HeadDim, s.group(), s.Heads+s.KVHeads
	qNorm, kNorm := w.weights[y.qNorm:][:hd], w.weights[y.kNorm:][:hd]
	dqNorm, dkNorm := w.grads[y.qNorm:][:hd], w.grads[y.kNorm:][:hd]
	for t, place := range w.batch.places {
		angles := w.angles[int(place)*hd:][:hd]
		row, drow, inv := a.qkv[t*s.qkvWidth():], m.dqkv[t*s.qkvWidth():], a.invQK[t*heads:]
		for h := range s.Heads {
			dq := m.dq[((h/g*n+t)*g+h%g)*hd:][:hd]
			tensor.RotateBack(dq, angles)
			tensor.RMSNormBack(drow[h*hd:][:hd], dq, row[h*hd:], qNorm, inv[h], dqNorm)
		}
		for h := range s.KVHeads {
			dk, at := m.dk[(h*n+t)*hd:][:hd], s.qWidth()+h*hd
			tensor.RotateBack(dk, angles)
			tensor.RMSNormBack(drow[at:][:hd], dk, row[at:], kNorm, inv[s.Heads+h], dkNorm)
		}
	}
}
