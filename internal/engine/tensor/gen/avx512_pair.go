package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The pair kernels take eight tokens and two panels at once, so that an activation is loaded once
// for 32 rows. The integer sums fill half of the registers. The floating-point sums stay in memory,
// in the first-level cache, where an instruction can add them without a separate load. Every
// element is computed in the same way as in the other kernels.

const (
	pairTokens = 8
	// The numbers by which the dispatch function selects the pair kernels, and the kernels and
	// functions for unpacked panels.
	pairTile   = 9
	wideTile   = 10
	unpackTile = 11
	// Memory of a pair kernel: the sums of every token and panel, the sums over a super-block, then
	// scratch memory of each panel.
	pairSums  = 0
	pairSuper = 64 * 2 * pairTokens
	pairScr   = 2 * pairSuper
)

// pairTile512 is the state shared by the code of a pair kernel.
type pairTile512 struct {
	act  []reg.GPVirtual
	m    reg.GPVirtual       // the kernel's memory
	left Mem                 // number of blocks still to come
	dots [][2]reg.VecVirtual // of each token and panel
}

// beginPair opens the function. It leaves w pointing to the first panel, and gap holding the
// distance to the second.
func beginPair(name string, size int, w, gap reg.GPVirtual) *pairTile512 {
	TEXT(name, 0, "func(c *byte)")
	Pragma("noescape")
	t := &pairTile512{m: GP64(), left: AllocLocal(8)}
	c, x := GP64(), GP64()
	LEAQ(AllocLocal(size+64), t.m)
	ADDQ(U8(63), t.m)
	ANDQ(I8(-64), t.m)
	Load(Param("c"), c)
	MOVQ(mem(c, callN), x)
	MOVQ(x, t.left)
	MOVQ(mem(c, callW), w)
	MOVQ(mem(c, callGap), gap)
	for i := range pairTokens {
		a := GP64()
		MOVQ(mem(c, callAct+8*i), a)
		t.act = append(t.act, a)
		t.dots = append(t.dots, [2]reg.VecVirtual{ZMM(), ZMM()})
	}
	z := zeros(1)[0]
	for i := range 2 * pairTokens {
		VMOVUPS(z, mem(t.m, pairSums+64*i))
	}
	return t
}

// sum returns the address of a sum; base is pairSums or pairSuper.
func (t *pairTile512) sum(base, token, panel int) Mem { return mem(t.m, base+64*(2*token+panel)) }

func (t *pairTile512) end() {
	c, d, z := GP64(), GP64(), ZMM()
	Load(Param("c"), c)
	for i := range pairTokens {
		MOVQ(mem(c, callDst+8*i), d)
		for p := range 2 {
			VMOVUPS(t.sum(pairSums, i, p), z)
			VMOVUPS(z, mem(d, 64*p))
		}
	}
	VZEROUPPER()
	RET()
}

// clear initialises the integer sums with init, or with zero if it is nil.
func (t *pairTile512) clear(init func(a reg.GPVirtual) Mem) {
	for i, a := range t.act {
		if init == nil {
			clear512(t.dots[i][:])
			continue
		}
		VPBROADCASTD(init(a), t.dots[i][0])
		VPBROADCASTD(init(a), t.dots[i][1])
	}
}

// multiply adds the products of four columns.
func (t *pairTile512) multiply(w [2]reg.VecVirtual, act func(a reg.GPVirtual) Mem, op func(x, y, z Op)) {
	for i, a := range t.act {
		x := ZMM()
		VPBROADCASTD(act(a), x)
		for p := range 2 {
			op(x, w[p], t.dots[i][p])
		}
	}
}

func dpbusd(x, y, z Op) { VPDPBUSD(x, y, z) }
func dpwssd(x, y, z Op) { VPDPWSSD(x, y, z) }

func (d block512) buildPair(name string) {
	h, q, gap := GP64(), GP64(), GP64()
	t := beginPair(name, pairSuper, q, gap)
	b := [2]*blockState{{h: h, q: q}, {h: h, q: q, gap: gap}}
	if d.consts != nil {
		d.consts(b[0])
		b[1].c, b[1].one = b[0].c, b[0].one
	}
	nb, i, limit := GP64(), GP64(), AllocLocal(8)

	Label("chunk")
	MOVQ(t.left, i)
	MOVQ(U32(8), nb)
	CMPQ(i, nb)
	CMOVQLT(i, nb)
	SUBQ(nb, i)
	MOVQ(i, t.left)
	MOVQ(q, h)
	IMUL3Q(U32(d.hdr), nb, i)
	ADDQ(i, q)
	SHLQ(U8(2), nb)
	MOVQ(nb, limit)
	XORQ(i, i)
	ahead := GP64() // see super512.buildPair
	LEAQ(mem(q, prefetch), ahead)
	CMPQ(t.left, U8(prefetch/(d.hdr+d.body)))
	JGT(LabelRef("inside"))
	LEAQ(indexed(ahead, gap, 2, 0), ahead)
	Label("inside")

	Label("block")
	for _, s := range b {
		d.head(s)
	}
	var init func(a reg.GPVirtual) Mem
	if !d.sums {
		init = func(a reg.GPVirtual) Mem { return indexed(a, i, 1, recInit) }
	}
	t.clear(init)
	for g := range 8 {
		if g*64 < d.body {
			PREFETCHT0(mem(ahead, 64*g))
			PREFETCHT0(b[1].body(prefetch + 64*g))
		}
		w := [2]reg.VecVirtual{d.weights(b[0], g), d.weights(b[1], g)}
		t.multiply(w, func(a reg.GPVirtual) Mem { return indexed(a, i, 8, recQ+4*g) }, dpbusd)
	}
	for j, a := range t.act {
		for p, s := range b {
			z, x := ZMM(), t.dots[j][p]
			VMULPS_BCST(indexed(a, i, 1, recD), s.scale, z)
			VCVTDQ2PS(x, x)
			VFMADD213PS(t.sum(pairSums, j, p), z, x)
			if d.sums {
				VFMADD231PS_BCST(indexed(a, i, 1, recInit), s.minimum, x)
			}
			VMOVUPS(x, t.sum(pairSums, j, p))
		}
	}
	ADDQ(U32(d.hdr), h)
	ADDQ(U32(d.body), q)
	ADDQ(U32(d.body), ahead)
	ADDQ(U8(4), i)
	CMPQ(i, limit)
	JLT(LabelRef("block"))
	for _, a := range t.act {
		ADDQ(U32(recBytes), a)
	}
	CMPQ(t.left, U8(0))
	JNE(LabelRef("chunk"))
	t.end()
}

func (d super512) buildPair(name string) {
	p0, p1, col, init := GP64(), GP64(), GP64(), GP64()
	t := beginPair(name, pairScr+2*scrSize, p0, p1)
	ADDQ(p0, p1)
	s := [2]*superState{
		{p: p0, scr: t.m, scrAt: pairScr, col: col, init: init},
		{p: p1, scr: t.m, scrAt: pairScr + scrSize, col: col, init: init},
	}
	if d.consts != nil {
		d.consts(s[0])
		s[1].c = s[0].c
	}

	s[0].ahead = GP64()

	Label("super")
	// The end of the first panel is followed by the second, which is already being read. After this
	// pair, the next memory needed is the start of the panel after the second.
	LEAQ(mem(p0, prefetch), s[0].ahead)
	CMPQ(t.left, U8((prefetch+d.size-1)/d.size))
	JGT(LabelRef("inside"))
	SUBQ(p0, s[0].ahead)
	LEAQ(indexed(s[0].ahead, p1, 2, 0), s[0].ahead)
	SUBQ(p0, s[0].ahead)
	Label("inside")
	for _, x := range s {
		d.fetchHead(x)
		d.head(x)
	}
	s[1].bit = s[0].bit
	d.pairMinimums(t, s)
	XORQ(col, col)
	if d.mins == 0 {
		XORQ(init, init)
	}

	Label("columns")
	for i := range d.step / 32 {
		d.pairColumns(t, s, i)
		if d.next != nil {
			d.next(s[0])
		}
	}
	ADDQ(U8(d.step), col)
	if d.mins == 0 {
		ADDQ(U8(d.step/d.width*4), init)
	}
	CMPQ(col, U32(256))
	JLT(LabelRef("columns"))

	for j, a := range t.act {
		f, x := ZMM(), ZMM()
		VBROADCASTSS(mem(a, 0), f)
		for p := range 2 {
			VMOVUPS(t.sum(pairSuper, j, p), x)
			VFMADD213PS(t.sum(pairSums, j, p), f, x)
			VMOVUPS(x, t.sum(pairSums, j, p))
		}
		ADDQ(U32(recKBytes), a)
	}
	ADDQ(U32(d.size), p0)
	ADDQ(U32(d.size), p1)
	DECQ(t.left)
	JNZ(LabelRef("super"))
	t.end()
}

// pairMinimums initialises the sums of the super-block with the amounts that the minimums subtract.
func (d super512) pairMinimums(t *pairTile512, s [2]*superState) {
	t.clear(nil)
	if d.mins == 0 {
		for j := range t.act {
			for p := range 2 {
				VMOVUPS(t.dots[0][0], t.sum(pairSuper, j, p))
			}
		}
		return
	}
	for i := range 128 / d.width {
		w := [2]reg.VecVirtual{ZMM(), ZMM()} // pairs of words
		for p := range w {
			VPMOVZXBW(s[p].scratch(d.minsAt+32*i), w[p])
		}
		t.multiply(w, func(a reg.GPVirtual) Mem { return mem(a, d.mins+4*i) }, dpwssd)
	}
	for j := range t.act {
		for p, x := range t.dots[j] {
			VCVTDQ2PS(x, x)
			VMULPS(x, s[p].ndmin, x)
			VMOVUPS(x, t.sum(pairSuper, j, p))
		}
	}
}

// pairColumns adds columns 32i to 32i+31 of an iteration.
func (d super512) pairColumns(t *pairTile512, s [2]*superState, i int) {
	per := 32 / d.width
	for half := range per {
		k := i*per + half
		var init func(a reg.GPVirtual) Mem
		if d.mins == 0 {
			init = func(a reg.GPVirtual) Mem { return indexed(a, s[0].init, 1, recKInit+4*k) }
		}
		t.clear(init)
		for g := half * 8 / per; g < (half+1)*8/per; g++ {
			d.fetch(s[0], i, g)
			d.fetch(s[1], i, g)
			w := [2]reg.VecVirtual{d.weights(s[0], i, g), d.weights(s[1], i, g)}
			t.multiply(w, func(a reg.GPVirtual) Mem { return indexed(a, s[0].col, 1, recKQ+32*i+4*g) }, dpbusd)
		}
		scale := [2]reg.VecVirtual{ZMM(), ZMM()}
		for p, x := range s {
			VMOVUPS(x.scaleAt(d, k), scale[p])
		}
		for j := range t.act {
			for p, x := range t.dots[j] {
				VCVTDQ2PS(x, x)
				VFMADD213PS(t.sum(pairSuper, j, p), scale[p], x)
				VMOVUPS(x, t.sum(pairSuper, j, p))
			}
		}
	}
}

// density returns the number of bytes per column that fetch prefetches; the function fetchHead
// prefetches the rest.
func (d super512) density() int {
	if d.size < 2048 {
		return 4
	}
	return 8
}

// fetch prefetches the memory that belongs to group g of the 32 columns i of an iteration.
func (d super512) fetch(s *superState, i, g int) {
	n := d.density()
	if lines := n * 32 / 64; g%(8/lines) == 0 {
		m := s.fetchFrom(64 * (lines*i + g*lines/8))
		m.Index, m.Scale = s.col, uint8(n)
		PREFETCHT0(m)
	}
}

// fetchFrom returns an address in the memory to be prefetched.
func (s *superState) fetchFrom(disp int) Mem {
	if s.ahead != nil {
		return mem(s.ahead, disp)
	}
	return mem(s.p, prefetch+disp)
}

func (d super512) fetchHead(s *superState) {
	for at := 256 * d.density(); at < d.size; at += 64 {
		PREFETCHT0(s.fetchFrom(at))
	}
}
