package transformer

import "github.com/luthier-dev/luthier/internal/engine/tensor"

// experts adds the weighted sum of every row's experts, and the shared expert if there is one, to
// the residual stream. A row's experts are added in the order of their numbers, whatever other rows
// are in the pass.
func (p *pass) experts() {
	h, m, y := &p.n.hyper, &p.moe, p.l
	p.reserve()
	m.act.Reset(p.rows*h.ActiveExperts, h.ExpertFF)
	pieces := len(m.busy) * ceilDiv(h.ExpertFF, mulRows)
	if y.dense != nil {
		p.ff.act.Reset(p.rows, h.SharedFF)
		pieces += ceilDiv(h.SharedFF, mulRows)
	}
	wait := p.send()
	p.n.pool.Run(pieces, expertGateJob{p})
	if y.sample() != nil {
		p.run(p.rows*h.ActiveExperts, expertActJob{p})
	}
	if y.dense != nil {
		p.run(p.rows, denseActJob{p})
	}
	wait()
	p.n.pool.Run(ceilDiv(h.Embed, mulRows), expertDownJob{p})
}

type expertGateJob struct{ p *pass }

// Do computes some rows of gate and up of one expert for all its tokens; the last pieces belong to
// the shared expert.
func (j expertGateJob) Do(worker, i int) {
	p, m := j.p, &j.p.moe
	each := ceilDiv(p.n.hyper.ExpertFF, mulRows)
	if k := i - each*len(m.busy); k >= 0 {
		p.glu(worker, p.l.dense, nil, k, &p.ff.act, 0)
		return
	}
	e := m.busy[i/each]
	if p.l.away(int(e)) {
		return
	}
	lo, hi := m.first[e], m.first[e+1]
	p.glu(worker, &p.l.expert[e], m.slotTok[lo:hi], i%each, &m.act, int(lo))
}

type expertActJob struct{ p *pass }

func (j expertActJob) Do(_, i int) {
	p := j.p
	lo, hi := piece(i, p.rows*p.n.hyper.ActiveExperts)
	prepare(&p.moe.act, lo, hi, &p.l.sample().down)
}

type expertDownJob struct{ p *pass }

// Do computes some columns of the residual stream: the down products of all experts one after the
// other, then that of the shared expert.
func (j expertDownJob) Do(worker, i int) {
	p, m := j.p, &j.p.moe
	s := &p.ff.side[worker]
	r0 := i * mulRows
	r1 := min(r0+mulRows, p.n.hyper.Embed)
	for _, e := range m.busy {
		lo, hi := m.first[e], m.first[e+1]
		if p.l.away(int(e)) {
			p.addGiven(int(lo), int(hi), r0, r1)
			continue
		}
		down := &p.l.expert[e].down
		down.Mul(s.base(s.a, r0), mulRows, &m.act, m.iota[lo:hi], r0, r1)
		for k := range int(hi - lo) {
			out := s.row(s.a, k, r1-r0)
			if down.bias != nil {
				tensor.AddTo(out, down.bias[r0:r1])
			}
			slot := int(lo) + k
			tensor.Axpy(p.xRow(int(m.slotTok[slot]))[r0:r1], m.slotGain[slot], out)
		}
	}
	if p.l.dense != nil {
		p.denseDown(worker, i)
	}
}

// addGiven adds columns [r0, r1) of the results from other workers for slots [lo, hi).
func (p *pass) addGiven(lo, hi, r0, r1 int) {
	m, embed := &p.moe, p.n.hyper.Embed
	for s := lo; s < hi; s++ {
		tensor.Axpy(p.xRow(int(m.slotTok[s]))[r0:r1], m.slotGain[s], m.given[s*embed+r0:s*embed+r1])
	}
}
