package train

import (
	"cmp"
	"slices"
)

// optimiser updates every weight once per step, in parallel.
type optimiser struct {
	t        *Trainer
	momentum []float32 // of every weight
	square   []float32 // mean squared gradients of the weights that AdamW updates; zero elsewhere
	params   []*param  // the most expensive first
	spaces   []muonSpace
	rate     float64
	scale    float64 // of the gradient
}

func (o *optimiser) init(t *Trainer) {
	o.t = t
	n := len(t.model.weights)
	o.momentum, o.square = make([]float32, n), make([]float32, n)
	o.spaces = make([]muonSpace, t.cfg.Workers)
	for i := range o.spaces {
		o.spaces[i].ws.BFloat16 = t.cfg.BFloat16
	}
	for i := range t.model.layout.params {
		o.params = append(o.params, &t.model.layout.params[i])
	}
	cost := func(p *param) int {
		if p.muon() {
			return p.size() * min(p.rows, p.cols)
		}
		return p.size()
	}
	slices.SortStableFunc(o.params, func(a, b *param) int { return cmp.Compare(cost(b), cost(a)) })
}

func (p *param) muon() bool { return p.role == roleMatrix || p.role == roleOutput }

func (o *optimiser) step(rate, scale float64) {
	o.rate, o.scale = rate, scale
	o.t.pool.Run(len(o.params), o)
}

// Do updates one parameter.
func (o *optimiser) Do(worker, i int) {
	p, cfg := o.params[i], &o.t.cfg
	lo, hi := p.at, p.at+p.size()
	w, grad, momentum := o.t.model.weights[lo:hi], o.t.workers[0].grads[lo:hi], o.momentum[lo:hi]
	if p.muon() {
		o.spaces[worker].update(w, grad, momentum, p.rows, p.cols, cfg, o.rate*cfg.Rate, o.scale)
		return
	}
	decay := 0.0
	if p.role == roleRouter {
		decay = cfg.WeightDecay
	}
	adamW(w, grad, momentum, o.square[lo:hi], cfg, o.t.steps, o.rate*cfg.AdamRate, decay, o.scale)
}
