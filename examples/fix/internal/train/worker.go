package train

import "github.com/luthier-dev/luthier/internal/engine/tensor"

// worker computes losses and gradients of its share of a batch. Its memory grows to the needs of
// the largest pass and is reused.
type worker struct {
	shape   Shape
	layout  *layout
	weights []float32
	grads   []float32
	learn   bool      // whether gradients are computed
	angles  []float32 // for each position, HeadDim/2 cosines followed by HeadDim/2 sines

	perWeight float64 // factor of the loss: 1 divided by the sum of the batch's weights
	factor    float64 // of the loss of choosing the right answer of a list
	balance   float32 // gradient scale of the balancing loss: the loss's factor divided by the number of tokens in the batch
	capacity  float64 // limit of tokens per expert, as a multiple of the mean; 0 means no limit
	drop      bool    // whether tokens beyond the limit are dropped

	ws    tensor.GemmSpace
	exact tensor.GemmSpace // for the products of the router, which are never rounded, as in arXiv:2101.03961
	batch micro
	act   []layerState
	tmp   scratch
	head  headState
	sum   sums

	choice []float64 // shares of a list's answers
}

// layerState holds the parts of a layer's forward pass that the backward pass needs.
type layerState struct {
	x, h, inv  []float32 // input, normalised input, reciprocal of its root mean square
	qkv, invQK []float32 // projections before normalisation; reciprocals for each head of queries and keys
	q, k       []float32 // normalised and rotated: [KVHeads][tokens][group][HeadDim] and [KVHeads][tokens][HeadDim]
	p          []float32 // attention probabilities, block after block
	attn       []float32 // outputs of the heads
	mid        []float32 // the residual stream after attention
	h2, inv2   []float32
	route      routing
	gateUp     []float32 // gate and up of each slot
	xg         []float32 // inputs of each slot
}

// scratch is memory that is reused for every layer.
type scratch struct {
	og, y, act        []float32
	dx, dh, dattn     []float32
	dqkv, dq, dk, dog []float32
	ds, delta         []float32
	dgateUp, dyg, dxg []float32
	dlogits           []float32
}

// sums holds the sums that a worker adds up over its share of a batch.
type sums struct {
	loss, weight    float64
	decisions, hits int
	answers, right  int // sequences with decisions; number of those whose decisions were all right
	tokens          int
	lists, chosen   int     // lists of answers; number of those whose right answer is the likeliest
	contrast        float64 // loss of choosing the right answer
	aux             float64 // the balancing loss, times tokens
	load            []int64 // [layer][expert] slots
	overflow        int64   // slots beyond the capacity
}

func newWorker(m *Model, cfg *Config, angles []float32) *worker {
	s := m.shape
	w := &worker{
		shape: s, layout: &m.layout, weights: m.weights, angles: angles,
		grads: make([]float32, m.layout.size), capacity: cfg.Capacity, factor: cfg.Contrast, drop: cfg.Drop, act: make([]layerState, s.Layers+1),
	}
	w.ws.BFloat16 = cfg.BFloat16
	w.sum.load = make([]int64, s.Layers*s.experts())
	return w
}

func (s *sums) reset() {
	load := s.load
	clear(load)
	*s = sums{load: load}
}

// pass computes one micro-batch, and its gradients if requested.
func (w *worker) pass() {
	w.sum.tokens += w.batch.len()
	w.forward()
	if len(w.batch.lists) > 0 {
		w.contrast()
	}
	w.tmp.dx = zeros(w.tmp.dx, w.batch.len()*w.shape.Dim)
	w.loss(w.learn)
	if w.learn {
		w.backward()
	}
}

func (w *worker) forward() {
	s, b := w.shape, &w.batch
	n, d := b.len(), s.Dim
	x := grow(w.act[0].x, n*d)
	w.act[0].x = x
	for t, tok := range b.tokens {
		copy(x[t*d:(t+1)*d], w.weights[w.layout.embed+int(tok)*d:])
	}
	for i := range w.layout.layers {
		y, a := &w.layout.layers[i], &w.act[i]
		a.h, a.inv = grow(a.h, n*d), grow(a.inv, n)
		normalise(a.h, a.x, w.weights[y.attnNorm:][:d], a.inv)
		a.mid = append(a.mid[:0], a.x...)
		w.attend(y, a)
		a.h2, a.inv2 = grow(a.h2, n*d), grow(a.inv2, n)
		normalise(a.h2, a.mid, w.weights[y.ffnNorm:][:d], a.inv2)
		out := append(w.act[i+1].x[:0], a.mid...)
		w.act[i+1].x = out
		w.feed(i, y, a, out)
	}
}

// backward computes the gradients of all weights from the gradient of the last layer's output in
// tmp.dx.
func (w *worker) backward() {
	s, b := w.shape, &w.batch
	n, d := b.len(), s.Dim
	dx := w.tmp.dx
	for i := len(w.layout.layers) - 1; i >= 0; i-- {
		y, a := &w.layout.layers[i], &w.act[i]
		w.tmp.dh = zeros(w.tmp.dh, n*d)
		w.feedBack(i, y, a, dx, w.tmp.dh)
		normaliseBack(dx, w.tmp.dh, a.mid, w.weights[y.ffnNorm:][:d], a.inv2, w.grads[y.ffnNorm:][:d])
		w.attendBack(y, a, dx, w.tmp.dh)
		normaliseBack(dx, w.tmp.dh, a.x, w.weights[y.attnNorm:][:d], a.inv, w.grads[y.attnNorm:][:d])
	}
	for t, tok := range b.tokens {
		tensor.AddTo(w.grads[w.layout.embed+int(tok)*d:][:d], dx[t*d:(t+1)*d])
	}
}
