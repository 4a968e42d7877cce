package transformer

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/tensor"
)

const (
	// attnRows is the approximate number of queries for which the keys and values of a head are
	// read together.
	attnRows = 64
	// attnPart is the number of positions that are accumulated before the result is merged with
	// that of the previous positions. It affects the results as well as the division of the work:
	// with another number, the last bits differ.
	attnPart = 512
)

// attnScratch holds the work of attention in one layer: blocks of neighbouring tokens × key-value
// heads × partitions.
type attnScratch struct {
	blocks  []attnBlock
	workers []attnWorker
	parts   int       // partitions of the longest block if they are computed separately, otherwise 0
	partial []float32 // the result of each partition
}

// attnBlock is a block of up to attnRows/group neighbouring tokens of one slice.
type attnBlock struct {
	seq *Seq
	row int // of the first token
	pos int // of the first token
	n   int
}

// attnWorker holds the memory of one worker.
type attnWorker struct {
	state, part tensor.Attention
	q           []float32
	lo, hi      []int32
	saved       []float32
}

// attention computes proj = O·attention(Q, K, V) from the normalised rows, and stores the keys and
// values in the cache.
func (p *pass) attention() {
	h, y := &p.n.hyper, p.l
	width := h.Heads * h.HeadDim
	p.phase.start(&p.in)
	if p.rows > 0 {
		p.phase.add(&y.q, p.q, width, p.from)
	}
	p.phase.add(&y.k, p.k, h.KVWidth(), nil)
	p.phase.add(&y.v, p.v, h.KVWidth(), nil)
	p.multiply()
	p.run(p.tokens, rotateJob{p})
	if p.rows == 0 {
		return
	}
	p.mix.Reset(p.rows, width)
	p.attend()
	p.run(p.rows, mixJob{p})
	p.phase.start(&p.mix)
	p.phase.add(&y.o, p.proj, h.Embed, nil)
	p.multiply()
	for j, t := range p.from { // rows move only to lower indexes, so none is overwritten before it is read
		if j != int(t) {
			copy(p.xRow(j), p.xRow(int(t)))
		}
	}
}

// reserve allocates memory for blocks of any size in every worker, since any worker may get the
// largest.
func (a *attnScratch) reserve(p *pass) {
	h, l := &p.n.hyper, p.cache.layout
	group := h.Heads / h.KVHeads
	rows := max(attnRows, group)
	for i := range a.workers {
		w := &a.workers[i]
		w.q, w.saved = grow(w.q, rows*h.HeadDim), grow(w.saved, p.partialSize())
		w.lo, w.hi = grow(w.lo, rows), grow(w.hi, rows)
		w.state.Reset(l, rows, w.q)
		w.part.Reset(l, rows, w.q)
	}
}

type rotateJob struct{ p *pass }

// Do normalises and rotates queries and keys, and stores keys and values.
func (j rotateJob) Do(_, i int) {
	p := j.p
	lo, hi := piece(i, p.tokens)
	for t := lo; t < hi; t++ {
		p.storeKey(t)
		if t < p.rows {
			p.turnQuery(t)
		}
	}
}

func (p *pass) turn(x, norm []float32, heads, token int) {
	h := &p.n.hyper
	if p.n.arch.qkNorm == normRow {
		tensor.RMSNorm(x, x, norm, h.Eps)
	}
	angles := p.angles[token*h.Rope.Dims : (token+1)*h.Rope.Dims]
	for i := range heads {
		head := x[i*h.HeadDim : (i+1)*h.HeadDim]
		if p.n.arch.qkNorm == normHead {
			tensor.RMSNorm(head, head, norm, h.Eps)
		}
		p.n.rope.Turn(head, angles)
	}
}

func (p *pass) turnQuery(row int) {
	h := &p.n.hyper
	token := row
	if p.from != nil {
		token = int(p.from[row])
	}
	w := h.Heads * h.HeadDim
	p.turn(p.q[row*w:(row+1)*w], p.l.qNorm, h.Heads, token)
}

func (p *pass) storeKey(t int) {
	h := &p.n.hyper
	w, d := h.KVWidth(), h.HeadDim
	k, v := p.k[t*w:(t+1)*w], p.v[t*w:(t+1)*w]
	p.turn(k, p.l.kNorm, h.KVHeads, t)
	pos := int(p.pos[t])
	page := p.slices[p.seq[t]].Seq.Pages[pos/PageTokens]
	for i := range h.KVHeads {
		p.cache.layout.Put(p.cache.tile(page, p.index, i), pos%PageTokens, k[i*d:(i+1)*d], v[i*d:(i+1)*d])
	}
}

type mixJob struct{ p *pass }

func (j mixJob) Do(_, i int) {
	lo, hi := piece(i, j.p.rows)
	prepare(&j.p.mix, lo, hi, &j.p.l.o)
}

// attend fills p.mix. Blocks × heads are computed separately. If there are too few of them for all
// workers, the partitions of the positions are computed separately too. Both ways merge the same
// partitions in the same order.
func (p *pass) attend() {
	a, h := &p.attn, &p.n.hyper
	p.cutBlocks()
	longest := 0
	for _, b := range a.blocks {
		longest = max(longest, b.pos+b.n)
	}
	parts := (longest + attnPart - 1) / attnPart
	a.parts = 0
	units := len(a.blocks) * h.KVHeads
	if parts == 1 || units >= 3*len(a.workers) {
		p.n.pool.Run(units, attendJob{p})
		return
	}
	a.parts = parts
	a.partial = grow(a.partial, units*parts*p.partialSize())
	p.n.pool.Run(units*parts, partJob{p})
	p.n.pool.Run(units, mergeJob{p})
}

// partialSize returns the number of values in the result of one partition.
func (p *pass) partialSize() int {
	group := p.n.hyper.Heads / p.n.hyper.KVHeads
	return max(attnRows, group) * p.cache.layout.PartialSize()
}

// cutBlocks divides the rows of the pass into blocks.
func (p *pass) cutBlocks() {
	a, h := &p.attn, &p.n.hyper
	most := max(1, attnRows*h.KVHeads/h.Heads)
	a.blocks = a.blocks[:0]
	row := 0
	for i := range p.slices {
		s := &p.slices[i]
		n := len(s.Tokens)
		if p.from != nil {
			n = s.Outputs
		}
		pos := s.Seq.Len + len(s.Tokens) - n
		for n > 0 {
			b := attnBlock{seq: s.Seq, row: row, pos: pos, n: min(n, most)}
			a.blocks = append(a.blocks, b)
			row, pos, n = row+b.n, pos+b.n, n-b.n
		}
	}
}

type attendJob struct{ p *pass }

// Do computes all partitions of one block and head.
func (j attendJob) Do(worker, i int) {
	p := j.p
	w, b, head := &p.attn.workers[worker], &p.attn.blocks[i/p.n.hyper.KVHeads], i%p.n.hyper.KVHeads
	w.load(p, b, head)
	first, end := p.span(b)
	at := first / attnPart
	w.walk(p, &w.state, b, head, at)
	for at++; at*attnPart < end; at++ {
		w.walk(p, &w.part, b, head, at)
		w.part.Save(w.saved)
		w.state.Merge(w.saved)
	}
	w.store(p, b, head)
}

type partJob struct{ p *pass }

// Do computes one partition of one block and head.
func (j partJob) Do(worker, i int) {
	p := j.p
	a, heads := &p.attn, p.n.hyper.KVHeads
	unit, at := i/a.parts, i%a.parts
	w, b, head := &a.workers[worker], &a.blocks[unit/heads], unit%heads
	first, end := p.span(b)
	if at < first/attnPart || at*attnPart >= end {
		return
	}
	w.load(p, b, head)
	w.walk(p, &w.part, b, head, at)
	size := p.partialSize()
	w.part.Save(a.partial[i*size : (i+1)*size])
}

type mergeJob struct{ p *pass }

// Do merges the partitions of one block and head in order.
func (j mergeJob) Do(worker, i int) {
	p := j.p
	a, heads := &p.attn, p.n.hyper.KVHeads
	w, b, head := &a.workers[worker], &a.blocks[i/heads], i%heads
	first, end := p.span(b)
	w.state.Reset(p.cache.layout, b.n*p.n.hyper.Heads/heads, nil)
	size := p.partialSize()
	for at := first / attnPart; at*attnPart < end; at++ {
		k := i*a.parts + at
		w.state.Merge(a.partial[k*size : (k+1)*size])
	}
	w.store(p, b, head)
}

// span returns the positions [first, end) to which any token of b attends.
func (p *pass) span(b *attnBlock) (first, end int) {
	if p.l.window > 0 {
		first = max(0, b.pos-p.l.window+1)
	}
	return first, b.pos + b.n
}

// load gathers the queries of one block that share a key-value head: tokens × heads of the group.
func (w *attnWorker) load(p *pass, b *attnBlock, head int) {
	h := &p.n.hyper
	group := h.Heads / h.KVHeads
	rows := b.n * group
	w.q, w.lo, w.hi = w.q[:rows*h.HeadDim], w.lo[:rows], w.hi[:rows]
	part := group * h.HeadDim
	for t := range b.n {
		at := ((b.row+t)*h.KVHeads + head) * part
		copy(w.q[t*part:(t+1)*part], p.q[at:at+part])
	}
}

// walk applies the loaded queries to the positions of the partition with the index at.
func (w *attnWorker) walk(p *pass, s *tensor.Attention, b *attnBlock, head, at int) {
	h, c := &p.n.hyper, p.cache
	group := h.Heads / h.KVHeads
	s.Reset(c.layout, b.n*group, w.q)
	first, end := p.span(b)
	first, end = max(first, at*attnPart), min(end, (at+1)*attnPart)
	scale := float32(1 / math.Sqrt(float64(h.HeadDim)))
	for base := first / PageTokens * PageTokens; base < end; base += PageTokens {
		for t := range b.n {
			pos := b.pos + t
			hi := int32(max(0, min(PageTokens, pos+1-base)))
			lo := int32(0)
			if p.l.window > 0 {
				lo = int32(max(0, pos-p.l.window+1-base))
			}
			for g := t * group; g < (t+1)*group; g++ {
				w.lo[g], w.hi[g] = lo, hi
			}
		}
		if next := base + PageTokens; next < end {
			tensor.Prefetch(c.tile(b.seq.Pages[next/PageTokens], p.index, head))
		}
		s.Tile(c.layout, c.tile(b.seq.Pages[base/PageTokens], p.index, head), w.q, w.lo, w.hi, scale)
	}
}

// store finishes the rows of a block and writes them to the memory from which the output projection
// reads them.
func (w *attnWorker) store(p *pass, b *attnBlock, head int) {
	h := &p.n.hyper
	group := h.Heads / h.KVHeads
	for t := range b.n {
		row := p.mix.F32(b.row + t)
		for g := range group {
			at := head*group + g
			if p.l.sinks != nil {
				w.state.Sink(t*group+g, p.l.sinks[at])
			}
			w.state.Finish(t*group+g, row[at*h.HeadDim:(at+1)*h.HeadDim])
		}
	}
}
