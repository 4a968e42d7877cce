package tensor

import (
	"unsafe"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// product holds the state of one call of Mul.
type product struct {
	m      *Matrix
	dst    []float32
	stride int
	b      *Batch
	toks   []int32
	n      int // tokens
	r1     int // end of the rows
}

// tile prepares c for k tokens, starting at j.
func (x *product) tile(c *call, j, k int) {
	c.n = x.m.Cols / x.m.lay.block
	for i := range k {
		t := j + i
		if x.toks != nil {
			t = int(x.toks[t])
		}
		c.act[i] = x.b.row(x.m.lay.form, t)
	}
}

// aim sets the destinations in c for the sums of k tokens, starting at j, and of the rows from r
// on.
func (x *product) aim(c *call, j, k, r int) {
	for i := range k {
		c.dst[i] = unsafe.Pointer(&x.dst[(j+i)*x.stride+r])
	}
}

// panels computes panels [p,end) for the tokens from j on. Each tile of tokens is multiplied by all
// panels before the next tile, so that it stays in the first-level cache.
func (x *product) panels(j, p, end int) {
	for j < x.n {
		k := x.m.isa.tile(x.n - j)
		x.panelsTile(j, k, p, end)
		j += k
	}
}

// panelsTile computes panels [p,end) for k tokens, starting at j.
func (x *product) panelsTile(j, k, p, end int) {
	m := x.m
	var c call
	x.tile(&c, j, k)
	c.gap = m.panel
	pair := m.isa.pairs(m.lay, k)
	for ; p < end; p++ {
		r := p * panelRows
		c.w = unsafe.Pointer(&m.data[p*m.panel])
		if r+panelRows > x.r1 {
			x.last(c, j, k, r)
			continue
		}
		x.aim(&c, j, k, r)
		if pair && p+1 < end && r+2*panelRows <= x.r1 {
			m.isa.runPair(m.lay, &c)
			p++
			continue
		}
		m.isa.run(m.lay, k, &c)
	}
}

// last computes the last panel of the matrix if it has fewer than 16 rows.
func (x *product) last(c call, j, k, r int) {
	var sums [maxTile][panelRows]float32
	for i := range k {
		c.dst[i] = unsafe.Pointer(&sums[i])
	}
	x.m.isa.run(x.m.lay, k, &c)
	for i := range k {
		at := (j+i)*x.stride + r
		copy(x.dst[at:at+x.r1-r], sums[i][:])
	}
}

// wideTokens is the number of tokens that the kernels for unpacked panels take.
const wideTokens = 8

// wide computes panels from p on by unpacking them two at a time, for as many tokens as fill whole
// tiles; the other tokens use the packed panels. It returns the first panel that it did not
// compute, because that panel has no partner.
func (x *product) wide(p int) int {
	m := x.m
	whole := x.n / wideTokens * wideTokens
	size := m.lay.wideBytes() * (m.Cols / m.lay.block)
	group := max(2, groupBytes/size&^1)
	group = min(group, (x.r1/panelRows-p)&^1)
	if group == 0 {
		return p
	}
	scratch := x.b.borrow(group * size)
	defer x.b.scratch.Put(scratch)
	for p+1 < x.r1/panelRows {
		end := min(p+group, p+(x.r1/panelRows-p)&^1)
		x.wideGroup(*scratch, size, whole, p, end)
		x.panels(whole, p, end)
		p = end
	}
	return p
}

// wideGroup computes panels [p,end), an even number of them, for the first tokens.
func (x *product) wideGroup(scratch []byte, size, tokens, p, end int) {
	m := x.m
	var c call
	c.n, c.gap = m.Cols/m.lay.block, size
	for i := p; i < end; i++ {
		c.w, c.dst[0] = unsafe.Pointer(&m.data[i*m.panel]), unsafe.Pointer(&scratch[(i-p)*size])
		m.isa.unpack(m.lay, &c)
	}
	for j := 0; j < tokens; j += wideTokens {
		x.tile(&c, j, wideTokens)
		for i := p; i < end; i += 2 {
			c.w = unsafe.Pointer(&scratch[(i-p)*size])
			x.aim(&c, j, wideTokens, i*panelRows)
			m.isa.runWide(m.lay, &c)
		}
	}
}

// wideBytes returns the size of an unpacked super-block: 256 weights, their scales and the minimums
// of 16 rows.
func (l *layout) wideBytes() int {
	groups := 16
	switch l.typ {
	case gguf.TypeQ4_K, gguf.TypeQ5_K, gguf.TypeIQ4_XS:
		groups = 8
	}
	n := panelRows * (chunkCols + 4*groups)
	if l.hasMins() {
		n += panelRows * (2*groups + 4)
	}
	return n
}
