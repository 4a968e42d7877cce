package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// plain512 describes a type without blocks.
type plain512 struct {
	typ  string
	size int // bytes per value
	load func(m Mem, z reg.VecVirtual)
}

var plains512 = []plain512{
	{"F32", 4, func(m Mem, z reg.VecVirtual) { VMOVUPS(m, z) }},
	{"F16", 2, func(m Mem, z reg.VecVirtual) { VCVTPH2PS(m, z) }},
	{"BF16", 2, func(m Mem, z reg.VecVirtual) {
		VPMOVZXWD(m, z)
		VPSLLD(U8(16), z, z)
	}},
}

// build sums even and odd columns separately, so that additions wait less for the previous sum.
func (d plain512) build(name string, k int) {
	t := begin(name, k)
	odd := zeros(k)
	i := GP64()
	XORQ(i, i)
	column := func(disp int, sums []reg.VecVirtual) {
		z := ZMM()
		d.load(mem(t.w, disp*d.size*16), z)
		for j, a := range t.act {
			VFMADD231PS_BCST(indexed(a, i, 4, 4*disp), z, sums[j])
		}
	}

	SUBQ(U8(4), t.n)
	JLT(LabelRef("rest"))
	Label("four")
	if k <= 8 {
		for l := range d.size {
			PREFETCHT0(mem(t.w, prefetch+64*l))
		}
	}
	for c := range 4 {
		column(c, [][]reg.VecVirtual{t.acc, odd}[c%2])
	}
	ADDQ(U32(4*16*d.size), t.w)
	ADDQ(U8(4), i)
	CMPQ(i, t.n)
	JLE(LabelRef("four"))

	Label("rest")
	ADDQ(U8(4), t.n)
	for c := range 3 {
		CMPQ(i, t.n)
		JGE(LabelRef("sum"))
		column(0, [][]reg.VecVirtual{t.acc, odd}[c%2])
		ADDQ(U32(16*d.size), t.w)
		INCQ(i)
	}
	Label("sum")
	for j := range odd {
		VADDPS(odd[j], t.acc[j], t.acc[j])
	}
	t.end()
}
