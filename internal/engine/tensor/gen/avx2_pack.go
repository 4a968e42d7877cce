package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packing2 builds the functions that interleave 16 rows; see packing512.
func packing2() {
	pack2("packWords2", "writes 4 bytes of each row, after an exclusive or with flip.", func(z [2]reg.VecVirtual, flip reg.VecVirtual, at func(disp int) Mem) {
		for i, y := range z {
			VPXOR(y, flip, y)
			VMOVDQU(y, at(32*i))
		}
	})
	pack2("packLow2", "writes the lower 2 of 4 bytes.", func(z [2]reg.VecVirtual, flip reg.VecVirtual, at func(disp int) Mem) {
		for _, y := range z {
			VPAND(word2(0xffff), y, y)
		}
		VMOVDQU(narrow2(z), at(0))
	})
	pack2("packHigh2", "writes the upper 2 of the 4 bytes that begin 2 before the item.", func(z [2]reg.VecVirtual, flip reg.VecVirtual, at func(disp int) Mem) {
		for _, y := range z {
			VPSRLD(U8(16), y, y)
		}
		VMOVDQU(narrow2(z), at(0))
	})
	pack2("packBytes2", "writes the first of 4 bytes.", func(z [2]reg.VecVirtual, flip reg.VecVirtual, at func(disp int) Mem) {
		for _, y := range z {
			VPAND(word2(0xff), y, y)
		}
		y := narrow2(z)
		VPACKUSWB(y, y, y)
		VPERMQ(U8(0x08), y, y)
		VMOVDQU(y.AsX(), at(0))
	})
}

// narrow2 converts 16 numbers below 2¹⁶ to words.
func narrow2(z [2]reg.VecVirtual) reg.VecVirtual {
	VPACKUSDW(z[1], z[0], z[0])
	VPERMQ(U8(0xd8), z[0], z[0])
	return z[0]
}

func pack2(name, doc string, store func(z [2]reg.VecVirtual, flip reg.VecVirtual, at func(disp int) Mem)) {
	TEXT(name, 0, "func(dst, src *byte, rows *[16]int32, items *[2]int32, n int, flip uint32)")
	Doc(name + " " + doc)
	Pragma("noescape")
	dst, src, rows, items, n := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("src"), src)
	Load(Param("rows"), rows)
	Load(Param("items"), items)
	Load(Param("n"), n)
	index, flip := [2]reg.VecVirtual{load2(mem(rows, 0)), load2(mem(rows, 32))}, YMM()
	g := GP32()
	Load(Param("flip"), g)
	VMOVD(g, flip.AsX())
	VPBROADCASTD(flip.AsX(), flip)
	if name == "packHigh2" {
		SUBQ(U8(2), src)
	}
	Label("item")
	from, to := GP64(), GP64()
	MOVLQSX(mem(items, 0), from)
	MOVLQSX(mem(items, 4), to)
	ADDQ(src, from)
	var z [2]reg.VecVirtual
	for i := range z {
		z[i] = YMM()
		mask := YMM()
		VPCMPEQD(index[i], index[i], mask)
		VPGATHERDD(mask, Mem{Base: from, Index: index[i], Scale: 1}, z[i])
	}
	store(z, flip, func(disp int) Mem { return indexed(dst, to, 1, disp) })
	ADDQ(U8(8), items)
	DECQ(n)
	JNZ(LabelRef("item"))
	VZEROUPPER()
	RET()
}
