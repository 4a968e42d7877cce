package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rounding2 builds the functions that round activations; see rounding512.
func rounding2() {
	roundBlocks2()
	roundSuper2()
}

// fold2 halves a vector with op until four lanes are left.
func fold2(op func(x, y, z Op), y reg.VecVirtual) reg.VecVirtual {
	x := XMM()
	VEXTRACTI128(U8(1), y, x)
	op(x, y.AsX(), x)
	return x
}

func foldAll2(op func(x, y, z Op), y reg.VecVirtual) reg.VecVirtual {
	x, t := fold2(op, y), XMM()
	VPSHUFD(U8(0x4e), x, t)
	op(t, x, x)
	VPSHUFD(U8(0xb1), x, t)
	op(t, x, x)
	return x
}

// narrowBytes2 writes four vectors of integers as 32 bytes at m and replaces the vectors by the
// values written.
func narrowBytes2(v *[4]reg.VecVirtual, m Mem) {
	a, b := YMM(), YMM()
	VPACKSSDW(v[1], v[0], a)
	VPACKSSDW(v[3], v[2], b)
	VPACKSSWB(b, a, a)
	order := YMM()
	VMOVDQU(table2("unpackorder", func(i int) uint8 { return []uint8{0, 4, 1, 5, 2, 6, 3, 7}[i/4] * uint8(1-min(1, i%4)) }), order)
	VPERMD(a, order, a)
	VMOVDQU(a, m)
	for i := range v {
		x := m
		x.Disp += 8 * i
		VPMOVSXBD(x, v[i])
	}
}

func roundBlocks2() {
	TEXT("roundBlocks2", 0, "func(dst *byte, x *float32, n int, factor int32)")
	Pragma("noescape")
	dst, x, n, q := GP64(), GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("n"), n)
	factor := GP32()
	Load(Param("factor"), factor)
	LEAQ(mem(dst, recQ), q)

	Label("block")
	var v [4]reg.VecVirtual
	m := YMM()
	for i := range v {
		v[i] = YMM()
		VMOVUPS(mem(x, 32*i), v[i])
		if i == 0 {
			VPAND(word2(0x7fffffff), v[i], m)
			continue
		}
		a := YMM()
		VPAND(word2(0x7fffffff), v[i], a)
		VMAXPS(a, m, m)
	}
	amax := foldAll2(maxps, m)
	top, d, inv, tiny := XMM(), XMM(), XMM(), XMM()
	VMOVUPS(word2(float127), top)
	VDIVPS(top, amax, d)
	VDIVPS(amax, top, inv)
	VMOVUPS(word2(tinyBlock), tiny)
	VCMPPS(U8(0x1e), tiny, amax, tiny) // greater; otherwise the inverse is zero
	VPAND(tiny, inv, inv)
	scale, sum := YMM(), YMM()
	VBROADCASTSS(inv, scale)
	for _, y := range v {
		VMULPS(scale, y, y)
		VCVTPS2DQ(y, y)
	}
	narrowBytes2(&v, mem(q, 0))
	VPADDD(v[0], v[1], sum)
	VPADDD(v[2], sum, sum)
	VPADDD(v[3], sum, sum)
	total := foldAll2(addd, sum)
	half := XMM()
	VCVTPS2PH(U8(0), d, half)
	VCVTPH2PS(half, d)
	VMOVSS(d, mem(dst, recD))
	TESTL(factor, factor)
	JZ(LabelRef("sums"))
	init := GP32()
	VMOVD(total, init)
	IMULL(factor, init)
	MOVL(init, mem(dst, recInit))
	JMP(LabelRef("next"))
	Label("sums")
	VCVTDQ2PS(total, total)
	VMULSS(total, d, d)
	VMOVSS(d, mem(dst, recInit))
	Label("next")
	ADDQ(U8(4), dst)
	ADDQ(U8(32), q)
	SUBQ(I8(-128), x)
	DECQ(n)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

func roundSuper2() {
	TEXT("roundSuper2", 0, "func(dst *byte, x *float32, wide bool)")
	Pragma("noescape")
	dst, x := GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	wide := GP8()
	Load(Param("wide"), wide)

	m := YMM()
	for i := range 32 {
		if i == 0 {
			VMOVUPS(mem(x, 0), m)
			VPAND(word2(0x7fffffff), m, m)
			continue
		}
		a := load2(mem(x, 32*i))
		VPAND(word2(0x7fffffff), a, a)
		VMAXPS(a, m, m)
	}
	amax := foldAll2(maxps, m)
	bits := GP32()
	VMOVD(amax, bits)
	CMPL(bits, U32(tinySuper))
	JLT(LabelRef("zero"))

	all, at, found := YMM(), GP64(), GP64()
	VBROADCASTSS(amax, all)
	XORQ(at, at)
	Label("search")
	a := load2(indexed(x, at, 1, 0))
	VPAND(word2(0x7fffffff), a, a)
	VCMPPS(U8(0), all, a, a)
	VMOVMSKPS(a, found.As32())
	TESTL(found.As32(), found.As32())
	JNZ(LabelRef("found"))
	ADDQ(U8(32), at)
	CMPQ(at, U32(1024))
	JLT(LabelRef("search"))
	JMP(LabelRef("zero")) // reached only if the values are NaN
	Label("found")
	BSFL(found.As32(), found.As32())
	peak, scale, inverse := XMM(), XMM(), XMM()
	LEAQ(indexed(x, at, 1, 0), at)
	VMOVSS(indexed(at, found, 4, 0), peak)
	VMOVUPS(word2(float127|1<<31), scale)
	VDIVSS(peak, scale, scale)
	VMOVUPS(word2(0x3f800000), inverse)
	VDIVSS(scale, inverse, inverse)
	VMOVSS(inverse, mem(dst, 0))
	factor := YMM()
	VBROADCASTSS(scale, factor)
	zero := XMM()
	VPXOR(zero, zero, zero)
	store := func(shift int, v reg.VecVirtual, at int) {
		t := XMM()
		VPSLLD(U8(shift), v, t)
		VPSUBD(t, zero, t)
		VMOVDQU(t, mem(dst, recKInit+16*at))
	}
	var wides [2]reg.VecVirtual // sums of 32
	for i := range 2 {          // 128 values
		var pairs reg.VecVirtual
		for j := range 2 { // 64 values: 4 sums of 16
			var part [4]reg.VecVirtual
			for k := range 2 {
				var v [4]reg.VecVirtual
				for l := range v {
					v[l] = YMM()
					VMULPS(mem(x, 512*i+256*j+128*k+32*l), factor, v[l])
					VCVTPS2DQ(v[l], v[l])
				}
				narrowBytes2(&v, mem(dst, recKQ+128*i+64*j+32*k))
				VPADDD(v[1], v[0], v[0])
				VPADDD(v[3], v[2], v[2])
				part[2*k], part[2*k+1] = fold2(addd, v[0]), fold2(addd, v[2])
			}
			VPHADDD(part[1], part[0], part[0])
			VPHADDD(part[3], part[2], part[2])
			VPHADDD(part[2], part[0], part[0])
			w := XMM()
			VPACKSSDW(part[0], part[0], w)
			VMOVQ(w, mem(dst, recKSum16+16*i+8*j))
			store(5, part[0], 2*i+j)
			if j == 0 {
				pairs = part[0]
			} else {
				VPHADDD(part[0], pairs, pairs)
			}
		}
		w := XMM()
		VPACKSSDW(pairs, pairs, w)
		VMOVQ(w, mem(dst, recKSum32+8*i))
		wides[i] = pairs
	}
	TESTB(wide, wide)
	JZ(LabelRef("done"))
	for i, v := range wides {
		store(7, v, i)
	}
	Label("done")
	VZEROUPPER()
	RET()

	Label("zero")
	z := YMM()
	clear2(z)
	for i := range recKBytes / 32 {
		VMOVDQU(z, mem(dst, 32*i))
	}
	VZEROUPPER()
	RET()
}
