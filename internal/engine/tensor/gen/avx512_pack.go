package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packing512 builds the functions that interleave 16 rows. Each function takes a list of items,
// which are pairs of offsets in the row and in the panel. It gathers 32 bits from every row and
// writes the part that it keeps; rows holds the 16 offsets of the rows.
func packing512() {
	pack512("packWords512", "writes 4 bytes of each row, after an exclusive or with flip.", func(z, flip reg.VecVirtual, m Mem) {
		VPXORD(z, flip, z)
		VMOVDQU32(z, m)
	})
	pack512("packLow512", "writes the lower 2 of 4 bytes.", func(z, _ reg.VecVirtual, m Mem) { VPMOVDW(z, m) })
	pack512("packHigh512", "writes the upper 2 of the 4 bytes that begin 2 before the item.", func(z, _ reg.VecVirtual, m Mem) {
		VPSRLD(U8(16), z, z)
		VPMOVDW(z, m)
	})
	pack512("packBytes512", "writes the first of 4 bytes.", func(z, _ reg.VecVirtual, m Mem) { VPMOVDB(z, m) })
}

func pack512(name, doc string, store func(z, flip reg.VecVirtual, m Mem)) {
	TEXT(name, 0, "func(dst, src *byte, rows *[16]int32, items *[2]int32, n int, flip uint32)")
	Doc(name + " " + doc)
	Pragma("noescape")
	dst, src, rows, items, n := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("rows"), rows)
	Load(Param("items"), items)
	Load(Param("n"), n)
	index, flip := ZMM(), ZMM()
	VMOVDQU32(mem(rows, 0), index)
	g := GP32()
	Load(Param("flip"), g)
	VPBROADCASTD(g, flip)
	if name == "packHigh512" {
		SUBQ(U8(2), src)
	}
	Label("item")
	from, to, z, k := GP64(), GP64(), ZMM(), K()
	MOVLQSX(mem(items, 0), from)
	MOVLQSX(mem(items, 4), to)
	ADDQ(src, from)
	KXNORW(k, k, k)
	VPGATHERDD(Mem{Base: from, Index: index, Scale: 1}, k, z)
	store(z, flip, indexed(dst, to, 1, 0))
	ADDQ(U8(8), items)
	DECQ(n)
	JNZ(LabelRef("item"))
	VZEROUPPER()
	RET()
}
