package train

import (
	"math"
	"slices"
)

// reference computes a model in double precision, token by token and directly from the definitions.
// The trainer is compared with it.
type reference struct {
	s        Shape
	l        layout
	w        []float64
	balance  float64
	contrast float64 // factor of the loss of choosing the right answer
	tokens   int     // number of tokens in the batch
	weight   float64
	most     int     // limit of tokens per expert for a batch of one sequence; 0 means no limit
	taken    [][]int // by layer and expert
}

// loss returns the objective of a step: the weighted cross entropy divided by the sum of weights,
// plus the balancing loss.
func (r *reference) loss(batch []Sequence) float64 {
	r.tokens, r.weight, r.taken = 0, 0, make([][]int, r.s.Layers)
	for i := range r.taken {
		r.taken[i] = make([]int, r.s.experts())
	}
	for _, s := range batch {
		r.tokens += len(s.Tokens)
		r.weight += s.weight()
	}
	sum := 0.0
	probs, chosen := make([][][]float64, r.s.Layers), make([][]float64, r.s.Layers)
	for i := range chosen {
		chosen[i] = make([]float64, r.s.experts())
	}
	for _, s := range batch {
		if len(s.Answers) > 0 {
			sum += r.choice(s) / r.weight
			continue
		}
		logits := r.logits(s.Tokens, func(layer int, p []float64, choice []int) {
			probs[layer] = append(probs[layer], p)
			for _, e := range choice {
				chosen[layer][e]++
			}
		})
		for i := 1; i < len(s.Tokens); i++ {
			p := softmax64(logits[i-1])
			sum -= float64(s.Weights[i]) * math.Log(p[s.Tokens[i]]) / r.weight
		}
	}
	for i, rows := range probs {
		for _, p := range rows {
			for e, v := range p {
				share := chosen[i][e] / float64(len(rows)*r.s.Active)
				sum += r.balance * float64(r.s.Experts) * share * v / float64(r.tokens)
			}
		}
	}
	return sum
}

// choice returns the loss of a sequence with several answers, each computed after the prompt
// separately: the loss of generating the right one, plus contrast times the loss of choosing it. If
// s.Apart is true, it is the loss of generating each answer.
func (r *reference) choice(s Sequence) float64 {
	var whole, own, all, each float64
	for j, at := range s.Answers {
		tokens := slices.Concat(s.Tokens[:s.Answers[0]], s.Tokens[at:s.end(j)])
		weights := slices.Concat(s.Weights[:s.Answers[0]], s.Weights[at:s.end(j)])
		logits := r.logits(tokens, func(int, []float64, []int) {})
		likely, before := 0.0, 0.0
		for i := 1; i < len(tokens); i++ {
			l := float64(weights[i]) * math.Log(softmax64(logits[i-1])[tokens[i]])
			if likely += l; i < int(s.Answers[0]) {
				before += l
			}
		}
		each += likely - before
		if all += math.Exp(likely - before); j == 0 {
			whole, own = likely, likely-before
			each = likely
		}
	}
	if s.Apart {
		return -each
	}
	return -whole + r.contrast*(math.Log(all)-own)
}

func (r *reference) at(i, n int) []float64 { return r.w[i : i+n] }

func (r *reference) logits(tokens []int32, routed func(int, []float64, []int)) [][]float64 {
	d := r.s.Dim
	x := make([][]float64, len(tokens))
	for t, tok := range tokens {
		x[t] = append([]float64(nil), r.at(r.l.embed+int(tok)*d, d)...)
	}
	for i := range r.l.layers {
		r.attention(&r.l.layers[i], x)
		for t := range x {
			r.experts(i, &r.l.layers[i], x[t], routed)
		}
	}
	out := make([][]float64, len(tokens))
	for t := range x {
		out[t] = times(r.at(r.l.embed, r.s.Vocab*d), rms64(x[t], r.at(r.l.norm, d)))
	}
	return out
}

func (r *reference) attention(y *layerAt, x [][]float64) {
	s, hd := r.s, r.s.HeadDim
	qkv := make([][]float64, len(x))
	for t := range x {
		qkv[t] = times(r.at(y.qkv, s.qkvWidth()*s.Dim), rms64(x[t], r.at(y.attnNorm, s.Dim)))
		for h := range s.Heads + s.KVHeads {
			head, norm := qkv[t][h*hd:(h+1)*hd], r.at(y.qNorm, hd)
			if h >= s.Heads {
				norm = r.at(y.kNorm, hd)
			}
			copy(head, turned(rms64(head, norm), t, s.base()))
		}
	}
	for t := range x {
		attn := make([]float64, s.qWidth())
		for h := range s.Heads {
			k, v := s.qWidth()+h/s.group()*hd, s.qWidth()+s.kvWidth()+h/s.group()*hd
			scores := make([]float64, t+1)
			for u := range scores {
				scores[u] = inner(qkv[t][h*hd:(h+1)*hd], qkv[u][k:k+hd]) / math.Sqrt(float64(hd))
			}
			for u, p := range softmax64(scores) {
				for i := range hd {
					attn[h*hd+i] += p * qkv[u][v+i]
				}
			}
		}
		for i, v := range times(r.at(y.out, s.Dim*s.qWidth()), attn) {
			x[t][i] += v
		}
	}
}

func (r *reference) experts(layer int, y *layerAt, x []float64, routed func(int, []float64, []int)) {
	s := r.s
	h := rms64(x, r.at(y.ffnNorm, s.Dim))
	choice, weight := []int{0}, []float64{1}
	if s.Experts > 0 {
		p := softmax64(times(r.at(y.router, s.Experts*s.Dim), h))
		choice, weight = best(p, s.Active)
		routed(layer, p, choice)
	}
	for k, e := range choice {
		if r.full(layer, e) {
			continue
		}
		gu := times(r.at(y.experts[e].gateUp, 2*s.FF*s.Dim), h)
		act := make([]float64, s.FF)
		for i := range act {
			act[i] = gu[i] / (1 + math.Exp(-gu[i])) * gu[s.FF+i]
		}
		for i, v := range times(r.at(y.experts[e].down, s.Dim*s.FF), act) {
			x[i] += weight[k] * v
		}
	}
}

// full counts a token for an expert and reports whether it exceeds the capacity.
func (r *reference) full(layer, e int) bool {
	if r.most == 0 {
		return false
	}
	r.taken[layer][e]++
	return r.taken[layer][e] > r.most
}

func best(p []float64, k int) (choice []int, weight []float64) {
	taken, sum := make([]bool, len(p)), 0.0
	for range k {
		top := -1
		for e, v := range p {
			if !taken[e] && (top < 0 || v > p[top]) {
				top = e
			}
		}
		taken[top] = true
		choice, weight = append(choice, top), append(weight, p[top])
		sum += p[top]
	}
	for i := range weight {
		weight[i] /= sum
	}
	return choice, weight
}

func times(w, x []float64) []float64 {
	out := make([]float64, len(w)/len(x))
	for i := range out {
		out[i] = inner(w[i*len(x):(i+1)*len(x)], x)
	}
	return out
}

func inner(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func rms64(x, w []float64) []float64 {
	r := 1 / math.Sqrt(inner(x, x)/float64(len(x))+eps)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * r * w[i]
	}
	return out
}

func turned(x []float64, pos int, base float64) []float64 {
	half, out := len(x)/2, make([]float64, len(x))
	for i := range half {
		sin, cos := math.Sincos(float64(pos) * math.Pow(base, -float64(i)/float64(half)))
		out[i], out[half+i] = x[i]*cos-x[half+i]*sin, x[i]*sin+x[half+i]*cos
	}
	return out
}

func softmax64(x []float64) []float64 {
	top, sum, out := math.Inf(-1), 0.0, make([]float64, len(x))
	for _, v := range x {
		top = max(top, v)
	}
	for i, v := range x {
		out[i] = math.Exp(v - top)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}
