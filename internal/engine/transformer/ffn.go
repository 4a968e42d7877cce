package transformer

import "github.com/luthier-dev/luthier/internal/engine/tensor"

// ffnScratch is the scratch memory of a dense feed-forward block or of the shared expert.
type ffnScratch struct {
	act  tensor.Batch
	side []sideBuffer // one per worker
}

// sideBuffer holds intermediate products of one worker: n rows of mulRows numbers. Mul writes row r
// of a product to column r of its destination. So that the columns of the destination start at r0,
// base returns a pointer before the buffer's start.
type sideBuffer struct {
	a, b []float32
	lead int
}

// reserve allocates room for n rows of matrices with up to rows rows.
func (s *sideBuffer) reserve(n, rows int) {
	s.lead = rows
	s.a, s.b = grow(s.a, rows+n*mulRows), grow(s.b, rows+n*mulRows)
}

func (s *sideBuffer) base(buf []float32, r0 int) []float32 { return buf[s.lead-r0:] }

// row returns the j-th row of buf, which was written through base.
func (s *sideBuffer) row(buf []float32, j, n int) []float32 {
	at := s.lead + j*mulRows
	return buf[at : at+n]
}

// ceilDiv returns the number of pieces of size d needed for n.
func ceilDiv(n, d int) int { return (n + d - 1) / d }

// prepareFFN rounds normalised rows for the matrices of this layer that read them.
func (p *pass) prepareFFN(lo, hi int) {
	y := p.l
	if len(y.expert) > 0 {
		prepare(&p.in, lo, hi, &y.router)
		if e := y.sample(); e != nil && e.gate.typ != y.router.typ {
			prepare(&p.in, lo, hi, &e.gate, &e.up)
		}
	}
	if y.dense != nil {
		prepare(&p.in, lo, hi, &y.dense.gate, &y.dense.up)
	}
}

// feedForward adds the dense feed-forward block to the residual stream.
func (p *pass) feedForward() {
	p.reserve()
	width := p.l.dense.gate.Rows
	p.ff.act.Reset(p.rows, width)
	p.n.pool.Run(ceilDiv(width, mulRows), denseGateJob{p})
	p.run(p.rows, denseActJob{p})
	p.n.pool.Run(ceilDiv(p.n.hyper.Embed, mulRows), denseDownJob{p})
}

// reserve allocates a side buffer for this layer in every worker.
func (p *pass) reserve() {
	if p.ff.side == nil {
		p.ff.side = make([]sideBuffer, p.n.pool.Workers())
	}
	h := &p.n.hyper
	for i := range p.ff.side {
		p.ff.side[i].reserve(p.rows, max(h.FF, h.SharedFF, h.ExpertFF, h.Embed))
	}
}

type denseGateJob struct{ p *pass }

func (j denseGateJob) Do(worker, i int) {
	p := j.p
	p.glu(worker, p.l.dense, nil, i, &p.ff.act, 0)
}

// glu computes piece i of the gate and up products for the rows toks of the input (nil means all
// rows), combines the two, and writes the result to act from row first on.
func (p *pass) glu(worker int, f *ffn, toks []int32, i int, act *tensor.Batch, first int) {
	s := &p.ff.side[worker]
	r0 := i * mulRows
	r1 := min(r0+mulRows, f.gate.Rows)
	n := len(toks)
	if toks == nil {
		n = p.rows
	}
	f.gate.Mul(s.base(s.a, r0), mulRows, &p.in, toks, r0, r1)
	f.up.Mul(s.base(s.b, r0), mulRows, &p.in, toks, r0, r1)
	for j := range n {
		gate, up := s.row(s.a, j, r1-r0), s.row(s.b, j, r1-r0)
		if f.gate.bias != nil {
			tensor.AddTo(gate, f.gate.bias[r0:r1])
		}
		if f.up.bias != nil {
			tensor.AddTo(up, f.up.bias[r0:r1])
		}
		dst := act.F32(first + j)[r0:r1]
		if p.n.arch.moe.act == actClamped {
			tensor.ClampedGLU(dst, gate, up, 1.702, 7)
		} else {
			tensor.SwiGLU(dst, gate, up)
		}
	}
}

type denseActJob struct{ p *pass }

func (j denseActJob) Do(_, i int) {
	lo, hi := piece(i, j.p.rows)
	prepare(&j.p.ff.act, lo, hi, &j.p.l.dense.down)
}

type denseDownJob struct{ p *pass }

func (j denseDownJob) Do(worker, i int) { j.p.denseDown(worker, i) }

// denseDown adds piece i of the down product to the residual stream. The product of a shared expert
// is multiplied by its gate.
func (p *pass) denseDown(worker, i int) {
	s, m := &p.ff.side[worker], &p.l.dense.down
	r0 := i * mulRows
	r1 := min(r0+mulRows, m.Rows)
	m.Mul(s.base(s.a, r0), mulRows, &p.ff.act, nil, r0, r1)
	for t := range p.rows {
		out := s.row(s.a, t, r1-r0)
		if m.bias != nil {
			tensor.AddTo(out, m.bias[r0:r1])
		}
		if p.l.gate != nil {
			tensor.Axpy(p.xRow(t)[r0:r1], p.moe.shared[t], out)
		} else {
			tensor.AddTo(p.xRow(t)[r0:r1], out)
		}
	}
}
