package transformer

import "github.com/luthier-dev/luthier/internal/engine/tensor"

// products is one phase of a pass: matrices that multiply the same prepared batch, divided into
// pieces of rows for the workers.
type products struct {
	batch  *tensor.Batch
	list   [3]product
	n      int
	pieces int
}

// product is dst[j*stride+r] = W[r]·b[toks[j]] + bias[r].
type product struct {
	m      *linear
	dst    []float32
	stride int
	toks   []int32
	first  int // its first piece
}

// mulRows is the number of matrix rows in one piece of a product: some 100 KB of weights, a few
// microseconds.
const mulRows = 64

func (p *products) start(b *tensor.Batch) { p.batch, p.n, p.pieces = b, 0, 0 }

// add plans one product; if toks is nil, it covers all rows of the batch.
func (p *products) add(m *linear, dst []float32, stride int, toks []int32) {
	p.list[p.n] = product{m: m, dst: dst, stride: stride, toks: toks, first: p.pieces}
	p.pieces += (m.Rows + mulRows - 1) / mulRows
	p.n++
}

// multiply runs the planned products.
func (p *pass) multiply() { p.n.pool.Run(p.phase.pieces, mulJob{p}) }

type mulJob struct{ p *pass }

func (j mulJob) Do(_, i int) {
	ph := &j.p.phase
	k := ph.n - 1
	for ph.list[k].first > i {
		k--
	}
	t := &ph.list[k]
	r0 := (i - t.first) * mulRows
	r1 := min(r0+mulRows, t.m.Rows)
	t.m.Mul(t.dst, t.stride, ph.batch, t.toks, r0, r1)
	rows := len(t.toks)
	if t.toks == nil {
		rows = ph.batch.Len()
	}
	t.m.addBias(t.dst, t.stride, rows, r0, r1)
}

// addBias adds the bias, if there is one, to columns [r0, r1) of n rows.
func (m *linear) addBias(dst []float32, stride, n, r0, r1 int) {
	if m.bias == nil {
		return
	}
	for j := range n {
		tensor.AddTo(dst[j*stride+r0:j*stride+r1], m.bias[r0:r1])
	}
}
