package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// plain2 describes a type without blocks.
type plain2 struct {
	typ  string
	size int // bytes per value
	load func(m Mem, y reg.VecVirtual)
}

var plains2 = []plain2{
	{"F32", 4, func(m Mem, y reg.VecVirtual) { VMOVUPS(m, y) }},
	{"F16", 2, func(m Mem, y reg.VecVirtual) { VCVTPH2PS(m, y) }},
	{"BF16", 2, func(m Mem, y reg.VecVirtual) {
		VPMOVZXWD(m, y)
		VPSLLD(U8(16), y, y)
	}},
}

func (d plain2) pass(p *pass2) {
	even, odd := p.sums(), p.sums()
	clear2(even...)
	clear2(odd...)
	i := GP64()
	XORQ(i, i)
	column := func(disp int, sums []reg.VecVirtual) {
		for h, half := range p.halves {
			y := YMM()
			d.load(mem(p.w, (disp*16+8*half)*d.size), y)
			for t, a := range p.act {
				x := YMM()
				VBROADCASTSS(indexed(a, i, 4, 4*disp), x)
				VFMADD231PS(x, y, p.of(sums, h, t))
			}
		}
	}
	SUBQ(U8(2), p.n)
	JLT(p.ref("rest"))
	p.label("two")
	if p.k == 1 {
		for l := range d.size / 2 {
			PREFETCHT0(mem(p.w, prefetch+64*l))
		}
	}
	column(0, even)
	column(1, odd)
	ADDQ(U32(2*16*d.size), p.w)
	ADDQ(U8(2), i)
	CMPQ(i, p.n)
	JLE(p.ref("two"))
	p.label("rest")
	ADDQ(U8(2), p.n)
	CMPQ(i, p.n)
	JGE(p.ref("sum"))
	column(0, even)
	p.label("sum")
	for j := range odd {
		VADDPS(odd[j], even[j], even[j])
	}
	p.store(even)
}
