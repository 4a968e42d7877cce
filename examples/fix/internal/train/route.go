package train

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

// routing assigns tokens to experts. A slot is one token at one expert; slots are sorted by expert.
type routing struct {
	experts int       // 0 if there is only one feed-forward block
	probs   []float32 // [tokens][experts]
	choice  []int32   // [tokens][active] experts
	weight  []float32 // [tokens][active] weights of the chosen experts
	slot    []int32   // [tokens][active] slots in which they are computed; -1 if the expert had no room
	first   []int     // [experts+1] start of each expert's slots
	token   []int32   // token of each slot
	gain    []float32 // gain of each slot
	dgain   []float32 // gradient of gain
	share   []float32 // [experts] share of all choices, before any was dropped
}

// tiny is the minimum of the sum of chosen probabilities, which is a divisor; llama.cpp does the
// same.
const tiny = 1.0 / (1 << 14)

// route chooses the experts of every token of layer i: the most probable ones. Their weights are
// proportional to their probabilities and sum to 1.
func (w *worker) route(i int, y *layerAt, a *layerState) {
	s, n, r := w.shape, w.batch.len(), &a.route
	r.experts = s.Experts
	r.first = zeros(r.first, s.experts()+1)
	if s.Experts == 0 {
		w.routeAll(r, n)
		return
	}
	r.probs = grow(r.probs, n*s.Experts)
	tensor.Gemm(false, true, n, s.Experts, s.Dim, 1, a.h2, s.Dim, w.weights[y.router:], s.Dim, 0, r.probs, s.Experts, &w.exact)
	k := s.Active
	r.choice, r.weight, r.slot = grow(r.choice, n*k), grow(r.weight, n*k), grow(r.slot, n*k)
	for t := range n {
		p := r.probs[t*s.Experts : (t+1)*s.Experts]
		tensor.SoftmaxRow(p)
		choose(p, r.choice[t*k:(t+1)*k], r.weight[t*k:(t+1)*k])
	}
	w.assign(i, r)
	w.sum.aux += r.imbalance(n) * float64(n)
}

// routeAll sends every token to the only feed-forward block of a dense layer.
func (w *worker) routeAll(r *routing, n int) {
	r.token, r.gain, r.dgain = grow(r.token, n), grow(r.gain, n), grow(r.dgain, n)
	for t := range n {
		r.token[t], r.gain[t] = int32(t), 1
	}
	r.first[1] = n
}

// choose finds the most probable experts. If two are equally probable, the one with the lower
// number comes first.
func choose(p []float32, choice []int32, weight []float32) {
	sum := float32(0)
	for k := range choice {
		best := -1
	next:
		for e, v := range p {
			if best >= 0 && !(v > p[best]) {
				continue
			}
			for _, c := range choice[:k] {
				if int(c) == e {
					continue next
				}
			}
			best = e
		}
		choice[k], weight[k] = int32(best), p[best]
		sum += p[best]
	}
	scale := 1 / max(sum, tiny)
	for k := range weight {
		weight[k] *= scale
	}
}

// assign sorts tokens by expert, keeping their order, and counts those beyond an expert's capacity.
func (w *worker) assign(i int, r *routing) {
	s := w.shape
	load := w.sum.load[i*s.Experts : (i+1)*s.Experts]
	most := math.MaxInt
	if w.capacity > 0 {
		most = int(math.Ceil(w.capacity * float64(len(r.choice)) / float64(s.Experts)))
	}
	taken := r.first[1:]
	for j, e := range r.choice {
		load[e]++
		taken[e]++
		r.slot[j] = 0
		if taken[e] > most {
			w.sum.overflow++
			if w.drop {
				taken[e]--
				r.slot[j] = -1
				// The share includes dropped tokens, since the balancing loss concerns the choices.
			}
		}
	}
	r.shares(s.Experts)
	for e := range s.Experts {
		r.first[e+1] += r.first[e]
	}
	slots := r.first[s.Experts]
	r.token, r.gain, r.dgain = grow(r.token, slots), grow(r.gain, slots), grow(r.dgain, slots)
	for j := len(r.choice) - 1; j >= 0; j-- { // in reverse order, with the ends of the experts' slots as cursors, which end up at the starts
		if r.slot[j] < 0 {
			continue
		}
		e := r.choice[j]
		r.first[e+1]--
		at := r.first[e+1]
		r.slot[j], r.token[at], r.gain[at] = int32(at), int32(j/s.Active), r.weight[j]
	}
	copy(r.first, r.first[1:])
	r.first[s.Experts] = slots
}

func (r *routing) shares(experts int) {
	r.share = zeros(r.share, experts)
	for _, e := range r.choice {
		r.share[e]++
	}
	for e := range r.share {
		r.share[e] /= float32(len(r.choice))
	}
}

// imbalance returns the balancing loss of the Switch Transformer (arXiv:2101.03961, equation 4)
// without its factor: the number of experts times the sum over the experts of an expert's share of
// the choices times its mean probability. It is 1 if all experts are used equally.
func (r *routing) imbalance(n int) float64 {
	sum := 0.0
	for j, p := range r.probs {
		sum += float64(p) * float64(r.share[j%r.experts])
	}
	return sum * float64(r.experts) / float64(n)
}

// routeBack computes the router's gradients and adds the gradient of a.h2 to dh.
func (w *worker) routeBack(i int, y *layerAt, a *layerState, dh []float32) {
	s, n, r := w.shape, w.batch.len(), &a.route
	w.tmp.dlogits = grow(w.tmp.dlogits, n*s.Experts)
	dlogits := w.tmp.dlogits
	for t := range n {
		r.back(t, s.Active, w.balance*float32(s.Experts), dlogits[t*s.Experts:(t+1)*s.Experts])
	}
	tensor.Gemm(true, false, s.Experts, s.Dim, n, 1, dlogits, s.Experts, a.h2, s.Dim, 1, w.grads[y.router:], s.Dim, &w.exact)
	tensor.Gemm(false, false, n, s.Dim, s.Experts, 1, dlogits, s.Experts, w.weights[y.router:], s.Dim, 1, dh, s.Dim, &w.exact)
}

// back writes the gradient of the router's logits for token t.
func (r *routing) back(t, active int, balance float32, dlogits []float32) {
	p := r.probs[t*r.experts : (t+1)*r.experts]
	choice, weight, slot := r.choice[t*active:(t+1)*active], r.weight[t*active:(t+1)*active], r.slot[t*active:(t+1)*active]
	for e := range dlogits {
		dlogits[e] = balance * r.share[e]
	}
	chosen, mean := float32(0), float32(0)
	for k, e := range choice {
		chosen += p[e]
		if slot[k] >= 0 {
			mean += weight[k] * r.dgain[slot[k]]
		}
	}
	if chosen < tiny {
		mean = 0 // the divisor is a constant in this case
	}
	for k, e := range choice {
		g := -mean
		if slot[k] >= 0 {
			g += r.dgain[slot[k]]
		}
		dlogits[e] += g / max(chosen, tiny)
	}
	mean = 0
	for e, g := range dlogits {
		mean += p[e] * g
	}
	for e := range dlogits {
		dlogits[e] = p[e] * (dlogits[e] - mean)
	}
}
