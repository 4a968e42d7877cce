package tensor

import (
	"golang.org/x/sys/cpu"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// detect returns the best kernel set for this processor. The flags of package cpu also take into
// account whether the operating system preserves the wide registers.
func detect() isa {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512DQ && x.HasAVX512VNNI && x.HasFMA:
		return isaAVX512
	case x.HasAVX2 && x.HasFMA && x.HasF16C:
		return isaAVX2
	}
	return isaGo
}

// tile returns the number of the n tokens that the next kernel should take.
func (s isa) tile(n int) int {
	switch {
	case s == isaAVX512:
		return min(n, 8)
	case s == isaAVX2 && n >= 4:
		return 4
	case s == isaAVX2:
		return min(n, 2)
	}
	return min(n, maxTile)
}

// run calls the kernel for k tokens.
func (s isa) run(l *layout, k int, c *call) {
	switch s {
	case isaAVX512:
		runAVX512(l.typ, k, c)
	case isaAVX2:
		runAVX2(l.typ, k, c)
	default:
		runGo(l, k, c)
	}
}

// pairs reports whether there is a kernel that takes two panels and k tokens at once.
func (s isa) pairs(l *layout, k int) bool { return s == isaAVX512 && k == 8 && l.block > 1 }

// runPair calls that kernel.
func (s isa) runPair(l *layout, c *call) { runAVX512(l.typ, pairTile, c) }

// unpacks reports whether panels can be unpacked for multiplication by many tokens, and n tokens
// are enough for that to pay off. For types that are simpler to decode, more tokens are needed.
func (s isa) unpacks(l *layout, n int) bool {
	if s != isaAVX512 || !l.form.super() {
		return false
	}
	switch l.typ {
	case gguf.TypeQ4_K, gguf.TypeIQ4_XS, gguf.TypeQ2_K:
		return n >= 48
	}
	return n >= 24
}

// unpack unpacks the panel c.w to c.dst[0].
func (s isa) unpack(l *layout, c *call) { runAVX512(l.typ, unpackTile, c) }

// runWide multiplies two unpacked panels, starting at c.w, by eight tokens.
func (s isa) runWide(l *layout, c *call) { runAVX512(l.typ, wideTile, c) }

// The numbers by which the dispatch function selects the kernels of two panels, those of two
// unpacked panels, and the unpacking functions.
const (
	pairTile   = 9
	wideTile   = 10
	unpackTile = 11
)

// roundVector rounds a chunk with vector instructions. It returns false if there is no function for
// it.
func (f form) roundVector(s isa, dst []byte, x []float32) bool {
	if !f.super() && len(x) < chunkCols {
		clear(dst)
	}
	d, v, n := &dst[0], &x[0], len(x)/32
	switch {
	case s == isaAVX512 && f.super():
		roundSuper512(d, v, f == formKx128)
	case s == isaAVX512:
		roundBlocks512(d, v, n, -f.offset())
	case s == isaAVX2 && f.super():
		roundSuper2(d, v, f == formKx128)
	case s == isaAVX2:
		roundBlocks2(d, v, n, -f.offset())
	default:
		return false
	}
	return true
}

// pack interleaves a chunk of 16 rows. It returns false if there are no functions for it.
func (s isa) pack(p *packPlan, dst, src []byte, rowBytes int) bool {
	if s < isaAVX2 {
		return false
	}
	var rows [panelRows]int32
	for r := range rows {
		rows[r] = int32(r * rowBytes)
	}
	d, q := &dst[0], &src[0]
	for _, it := range [...]struct {
		items []item
		kind  int
	}{{p.words, 0}, {p.low, 1}, {p.high, 2}, {p.bytes, 3}} {
		n := len(it.items)
		if n == 0 {
			continue
		}
		first := &it.items[0]
		switch {
		case s == isaAVX2 && it.kind == 0:
			packWords2(d, q, &rows, first, n, p.flip)
		case s == isaAVX2 && it.kind == 1:
			packLow2(d, q, &rows, first, n, 0)
		case s == isaAVX2 && it.kind == 3:
			packBytes2(d, q, &rows, first, n, 0)
		case s == isaAVX2:
			packHigh2(d, q, &rows, first, n, 0)
		case it.kind == 0:
			packWords512(d, q, &rows, first, n, p.flip)
		case it.kind == 1:
			packLow512(d, q, &rows, first, n, 0)
		case it.kind == 2:
			packHigh512(d, q, &rows, first, n, 0)
		default:
			packBytes512(d, q, &rows, first, n, 0)
		}
	}
	return true
}
