package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// For many tokens the super-blocks of two panels are unpacked once, to bytes and floats, and then
// multiplied by kernels that do nothing else. An unpacked super-block is
//
//	minimums as pairs of words (128/width vectors) and minus their scale, where the type has minimums
//	8 times: the scales of 32 columns (32/width vectors), then the weights (8 vectors)
//
// The function wideBytes in package tensor must agree with this layout.
func (d super512) wideSize() (head, part int) {
	if d.mins != 0 {
		head = 64 * (128/d.width + 1)
	}
	return head, 64 * (32/d.width + 8)
}

// wideName returns the name of the kernel for the unpacked form of this type; types of the same
// shape share one kernel.
func (d super512) wideName() string {
	name := "avx512wide16"
	if d.width == 32 {
		name = "avx512wide32"
	}
	if d.mins != 0 {
		name += "mins"
	}
	return name
}

// buildUnpack builds the function that unpacks a panel; of the struct call it uses w, n and dst[0].
func (d super512) buildUnpack(typ string) string {
	name := "avx512" + strings.ReplaceAll(typ, "_", "") + "unpack"
	TEXT(name, 0, "func(c *byte)")
	Pragma("noescape")
	c, n, out := GP64(), GP64(), GP64()
	s := &superState{p: GP64(), scr: GP64(), col: GP64()}
	Load(Param("c"), c)
	MOVQ(mem(c, callW), s.p)
	MOVQ(mem(c, callN), n)
	MOVQ(mem(c, callDst), out)
	LEAQ(AllocLocal(scrSize+64), s.scr)
	ADDQ(U8(63), s.scr)
	ANDQ(I8(-64), s.scr)
	if d.consts != nil {
		d.consts(s)
	}
	head, part := d.wideSize()

	Label("super")
	d.fetchHead(s)
	d.head(s)
	if d.mins != 0 {
		for i := range 128 / d.width {
			z := ZMM()
			VPMOVZXBW(s.scratch(d.minsAt+32*i), z)
			VMOVDQU32(z, mem(out, 64*i))
		}
		VMOVUPS(s.ndmin, mem(out, head-64))
		ADDQ(U32(head), out)
	}
	XORQ(s.col, s.col)
	Label("columns")
	for i := range d.step / 32 {
		per := 32 / d.width
		for j := range per {
			z := ZMM()
			VMOVUPS(s.scaleAt(d, i*per+j), z)
			VMOVUPS(z, mem(out, 64*j))
		}
		for g := range 8 {
			d.fetch(s, i, g)
			VMOVDQU32(d.weights(s, i, g), mem(out, 64*(per+g)))
		}
		if d.next != nil {
			d.next(s)
		}
		ADDQ(U32(part), out)
	}
	ADDQ(U8(d.step), s.col)
	CMPQ(s.col, U32(256))
	JLT(LabelRef("columns"))
	ADDQ(U32(d.size), s.p)
	DECQ(n)
	JNZ(LabelRef("super"))
	VZEROUPPER()
	RET()
	return name
}

// buildWide builds the kernel for eight tokens and two unpacked panels.
func (d super512) buildWide() {
	p0, p1, col := GP64(), GP64(), GP64()
	t := beginPair(d.wideName(), pairScr, p0, p1)
	ADDQ(p0, p1)
	head, part := d.wideSize()
	p := [2]reg.GPVirtual{p0, p1}
	init := col
	if d.mins == 0 {
		init = GP64()
	}

	Label("super")
	t.clear(nil)
	if d.mins != 0 {
		for i := range 128 / d.width {
			w := [2]reg.VecVirtual{memLoad(p0, 64*i), memLoad(p1, 64*i)}
			t.multiply(w, func(a reg.GPVirtual) Mem { return mem(a, d.mins+4*i) }, dpwssd)
		}
	} else {
		XORQ(init, init)
	}
	for j := range t.act {
		for k, x := range t.dots[j] {
			if d.mins != 0 {
				VCVTDQ2PS(x, x)
				VMULPS(mem(p[k], head-64), x, x)
			}
			VMOVUPS(x, t.sum(pairSuper, j, k))
		}
	}
	if head > 0 {
		ADDQ(U32(head), p0)
		ADDQ(U32(head), p1)
	}
	XORQ(col, col)

	Label("columns")
	per := 32 / d.width
	for half := range per {
		var first func(a reg.GPVirtual) Mem
		if d.mins == 0 {
			first = func(a reg.GPVirtual) Mem { return indexed(a, init, 1, recKInit+4*half) }
		}
		t.clear(first)
		for g := half * 8 / per; g < (half+1)*8/per; g++ {
			w := [2]reg.VecVirtual{memLoad(p0, 64*(per+g)), memLoad(p1, 64*(per+g))}
			t.multiply(w, func(a reg.GPVirtual) Mem { return indexed(a, col, 1, recKQ+4*g) }, dpbusd)
		}
		scale := [2]reg.VecVirtual{memLoad(p0, 64*half), memLoad(p1, 64*half)}
		for j := range t.act {
			for k, x := range t.dots[j] {
				VCVTDQ2PS(x, x)
				VFMADD213PS(t.sum(pairSuper, j, k), scale[k], x)
				VMOVUPS(x, t.sum(pairSuper, j, k))
			}
		}
	}
	ADDQ(U32(part), p0)
	ADDQ(U32(part), p1)
	if d.mins == 0 {
		ADDQ(U8(4*per), init)
	}
	ADDQ(U8(32), col)
	CMPQ(col, U32(256))
	JLT(LabelRef("columns"))

	for j, a := range t.act {
		f, x := ZMM(), ZMM()
		VBROADCASTSS(mem(a, 0), f)
		for k := range 2 {
			VMOVUPS(t.sum(pairSuper, j, k), x)
			VFMADD213PS(t.sum(pairSums, j, k), f, x)
			VMOVUPS(x, t.sum(pairSums, j, k))
		}
		ADDQ(U32(recKBytes), a)
	}
	DECQ(t.left)
	JNZ(LabelRef("super"))
	t.end()
}
