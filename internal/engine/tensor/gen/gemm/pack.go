package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// copyPanel copies n rows of up to 16·vecs numbers. Lanes outside the mask are not read and become
// 0; lanes without a bit in keep are not written.
func copyPanel(name string, vecs int) {
	TEXT(name, NOSPLIT, "func(dst *float32, ds int, src *float32, ss, n int, mask, keep uint32)")
	Pragma("noescape")
	dst, ds, src, ss, n := arg("dst"), arg("ds"), arg("src"), arg("ss"), arg("n")
	in, out := masks("mask", vecs), masks("keep", vecs)
	Label("row")
	for i := range vecs {
		z := ZMM()
		VMOVUPS_Z(at(src, 64*i), in[i], z)
		VMOVUPS(z, out[i], at(dst, 64*i))
	}
	ADDQ(ss, src)
	ADDQ(ds, dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// masks loads the bits of a parameter into opmasks, 16 bits per mask.
func masks(name string, n int) (k []reg.OpmaskVirtual) {
	g := GP32()
	Load(Param(name), g)
	for i := range n {
		if i > 0 {
			SHRL(Imm(16), g)
		}
		m := K()
		KMOVW(g, m)
		k = append(k, m)
	}
	return k
}

// turn transposes at most 16 rows of n numbers: dst has n rows of 16 lanes, of which those in the
// mask are written. Missing rows are treated as copies of the last row.
func turn() {
	TEXT("gemmTurn16", NOSPLIT, "func(dst *float32, ds int, src *float32, ss, n, rows int, mask uint32)")
	Pragma("noescape")
	dst, ds, src, n := arg("dst"), arg("ds"), arg("src"), arg("n")
	keep := masks("mask", 1)[0]
	all := K()
	KXNORW(all, all, all)
	Label("block")
	CMPQ(n, Imm(16))
	JGE(LabelRef("full"))
	g, one := GP32(), GP64()
	MOVQ(U32(1), one)
	MOVQ(n, reg.RCX)
	SHLQ(reg.CL, one)
	DECQ(one)
	MOVL(one.As32(), g)
	KMOVW(g, all)
	Label("full")
	p, left, step := GP64(), arg("rows"), arg("ss")
	zero := GP64()
	XORQ(zero, zero)
	MOVQ(src, p)
	rows := make([]reg.VecVirtual, 16)
	for i := range rows {
		rows[i] = ZMM()
		VMOVUPS_Z(at(p, 0), all, rows[i])
		if i < 15 {
			DECQ(left)
			CMOVQEQ(zero, step)
			ADDQ(step, p)
		}
	}
	for i, z := range transpose(rows) {
		VMOVUPS(z, keep, at(dst, 0))
		ADDQ(ds, dst)
		if i < 15 {
			DECQ(n)
			JZ(LabelRef("done"))
		}
	}
	ADDQ(Imm(64), src)
	DECQ(n)
	JNZ(LabelRef("block"))
	Label("done")
	VZEROUPPER()
	RET()
}

// copyNarrow copies n rows of lanes numbers each.
func copyNarrow(name string, lanes int) {
	TEXT(name, NOSPLIT, "func(dst *float32, ds int, src *float32, ss, n int)")
	Pragma("noescape")
	dst, ds, src, ss, n := arg("dst"), arg("ds"), arg("src"), arg("ss"), arg("n")
	Label("row")
	for i := 0; i < lanes; {
		x, y := XMM(), YMM()
		switch left := lanes - i; {
		case left >= 8:
			VMOVUPS(at(src, 4*i), y)
			VMOVUPS(y, at(dst, 4*i))
			i += 8
		case left >= 4:
			VMOVUPS(at(src, 4*i), x)
			VMOVUPS(x, at(dst, 4*i))
			i += 4
		case left >= 2:
			VMOVSD(at(src, 4*i), x)
			VMOVSD(x, at(dst, 4*i))
			i += 2
		default:
			VMOVSS(at(src, 4*i), x)
			VMOVSS(x, at(dst, 4*i))
			i++
		}
	}
	ADDQ(ss, src)
	ADDQ(ds, dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// turn8 transposes 8 rows of n numbers, a multiple of 8 greater than 0: dst has n rows of 8 lanes.
func turn8() {
	TEXT("gemmTurn8", NOSPLIT, "func(dst *float32, ds int, src *float32, ss, n int)")
	Pragma("noescape")
	dst, ds, src, ss, n := arg("dst"), arg("ds"), arg("src"), arg("ss"), arg("n")
	in, out := newLines(src, ss, 8), newLines(dst, ds, 8)
	down := GP64()
	MOVQ(ds, down)
	SHLQ(Imm(3), down)
	Label("block")
	r := make([]reg.VecVirtual, 8)
	for i := range 4 { // the halves of rows that are four apart are combined into one vector
		r[i], r[i+4] = YMM(), YMM()
		VMOVUPS(in.mem(i, 0), r[i].AsX())
		VINSERTF128(U8(1), in.mem(i+4, 0), r[i], r[i])
		VMOVUPS(in.mem(i, 16), r[i+4].AsX())
		VINSERTF128(U8(1), in.mem(i+4, 16), r[i+4], r[i+4])
	}
	for h := 0; h < 8; h += 4 {
		a, b, c, d := YMM(), YMM(), YMM(), YMM()
		VUNPCKLPS(r[h+1], r[h], a)
		VUNPCKHPS(r[h+1], r[h], b)
		VUNPCKLPS(r[h+3], r[h+2], c)
		VUNPCKHPS(r[h+3], r[h+2], d)
		for i, p := range [][2]reg.VecVirtual{{a, c}, {b, d}} {
			low, high := YMM(), YMM()
			VUNPCKLPD(p[1], p[0], low)
			VUNPCKHPD(p[1], p[0], high)
			VMOVUPS(low, out.mem(h+2*i, 0))
			VMOVUPS(high, out.mem(h+2*i+1, 0))
		}
	}
	ADDQ(Imm(32), src)
	ADDQ(down, dst)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// transpose exchanges rows and columns of 16 vectors, in pairs of 32 bits, of 64 and of 128.
func transpose(r []reg.VecVirtual) []reg.VecVirtual {
	pairs := func(from []reg.VecVirtual, distance int, low, high func(x, y Op, z reg.VecVirtual)) []reg.VecVirtual {
		to := make([]reg.VecVirtual, 16)
		for i := range to {
			if i&distance == 0 {
				to[i], to[i+distance] = ZMM(), ZMM()
				low(from[i+distance], from[i], to[i])
				high(from[i+distance], from[i], to[i+distance])
			}
		}
		return to
	}
	shuffle := func(imm uint8) func(x, y Op, z reg.VecVirtual) {
		return func(x, y Op, z reg.VecVirtual) { VSHUFF32X4(U8(imm), x, y, z) }
	}
	r = pairs(r, 1, func(x, y Op, z reg.VecVirtual) { VUNPCKLPS(x, y, z) }, func(x, y Op, z reg.VecVirtual) { VUNPCKHPS(x, y, z) })
	r = pairs(r, 2, func(x, y Op, z reg.VecVirtual) { VUNPCKLPD(x, y, z) }, func(x, y Op, z reg.VecVirtual) { VUNPCKHPD(x, y, z) })
	r = pairs(r, 4, shuffle(0x88), shuffle(0xdd))
	r = pairs(r, 8, shuffle(0x88), shuffle(0xdd))
	// The index at which each column ended up.
	out := make([]reg.VecVirtual, 16)
	for i, z := range r {
		out[column(i)] = z
	}
	return out
}

// column returns the number of the column that vector i holds after the exchanges of transpose.
func column(i int) int {
	// Bits 0 and 1 select one of the four vectors in a group of 128 bits; bits 2 and 3 select the
	// group.
	return i&1<<1 | i>>1&1 | i&12
}

// peak runs only multiply-adds between registers: n times 24 of them. That is the reference for the
// speed of products.
func peak(s set) {
	TEXT(fmt.Sprintf("gemmPeak%s", s.name), NOSPLIT, "func(n int)")
	n := arg("n")
	x, y := s.vec(), s.vec()
	s.zero(x)
	s.zero(y)
	acc := make([]reg.VecVirtual, 24)
	if s.bytes == 32 {
		acc = acc[:12]
	}
	for i := range acc {
		acc[i] = s.vec()
		s.zero(acc[i])
	}
	Label("step")
	for i := range acc {
		VFMADD231PS(x, y, acc[i])
	}
	DECQ(n)
	JNZ(LabelRef("step"))
	VZEROUPPER()
	RET()
}
