package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// brain packs tiles of 16 lines by 32 steps of k as bfloat16, one tile after the other along k.
// Numbers are multiplied by alpha and rounded to nearest, halves away from zero.
//
// If the lines run along k, a tile that is not turned has one row of 64 bytes for each line. If
// they run across k, it has one row for each two steps, whose numbers alternate within the row. For
// a turned tile, the two cases are swapped. TDPBF16PS needs the first kind of row for A and the
// second for B.
func brain(name string, along, turned bool, highWords Mem) {
	TEXT(name, NOSPLIT, "func(dst *byte, dstStep int, src *float32, line, srcStep, n int, alpha float32)")
	Pragma("noescape")
	dst, dstStep, src, line, srcStep, n := arg("dst"), arg("dstStep"), arg("src"), arg("line"), arg("srcStep"), arg("n")
	alpha, half := ZMM(), ZMM()
	VBROADCASTSS(NewParamAddr("alpha", 48), alpha)
	g := GP32()
	MOVL(U32(0x8000), g)
	VPBROADCASTD(g, half)
	index, odd := ZMM(), K()
	if along {
		VMOVDQU64(highWords, index)
	} else {
		MOVL(U32(0xaaaaaaaa), g)
		KMOVD(g, odd)
	}
	load := func(m Mem) reg.VecVirtual {
		z := ZMM()
		VMULPS(m, alpha, z)
		VPADDD(half, z, z)
		return z
	}
	Label("tile")
	p := GP64()
	MOVQ(src, p)
	rows := make([]reg.VecVirtual, 16)
	for i := range rows {
		var x, y reg.VecVirtual
		if along {
			x, y = load(at(p, 0)), load(at(p, 64))
			VPERMT2W(y, index, x)
		} else {
			x = load(at(p, 0))
			ADDQ(line, p)
			y = load(at(p, 0))
			VPSRLD(Imm(16), x, x)
			VMOVDQU16(y, odd, x)
		}
		if i < 15 {
			ADDQ(line, p)
		}
		rows[i] = x
	}
	if turned {
		rows = transpose(rows)
	}
	for i, z := range rows {
		VMOVUPS(z, at(dst, 64*i))
	}
	ADDQ(dstStep, dst)
	ADDQ(srcStep, src)
	DECQ(n)
	JNZ(LabelRef("tile"))
	VZEROUPPER()
	RET()
}

// highWords returns an index for VPERMT2W that selects the upper words of the double words of two
// vectors.
func highWords() Mem {
	m := GLOBL("gemmHighWords", RODATA|NOPTR)
	for i := range 32 {
		DATA(2*i, U16(2*i+1))
	}
	return m
}
