package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rounding512 builds the functions that round activations; form.go defines their results, bit for
// bit.
func rounding512() {
	roundBlocks512()
	roundSuper512()
}

// word512 returns a vector of 16 equal 32-bit numbers.
func word512(x uint32) reg.VecVirtual {
	g, z := GP32(), ZMM()
	MOVL(U32(x), g)
	VPBROADCASTD(g, z)
	return z
}

// Floating-point numbers as bit patterns.
const (
	float127  = 0x42fe0000
	tinyBlock = (127 - 60) << 23
	tinySuper = (127 - 100) << 23
)

// fold halves a vector with op until four lanes are left.
func fold(op func(x, y, z Op), z reg.VecVirtual) reg.VecVirtual {
	y, x := YMM(), XMM()
	VEXTRACTI64X4(U8(1), z, y)
	op(y, z.AsY(), y)
	VEXTRACTI32X4(U8(1), y, x)
	op(x, y.AsX(), x)
	return x
}

// foldAll leaves the result in the lowest four lanes.
func foldAll(op func(x, y, z Op), z reg.VecVirtual) reg.VecVirtual {
	x, t := fold(op, z), XMM()
	VPSHUFD(U8(0x4e), x, t)
	op(t, x, x)
	VPSHUFD(U8(0xb1), x, t)
	op(t, x, x)
	return x
}

func maxps(x, y, z Op) { VMAXPS(x, y, z) }
func addd(x, y, z Op)  { VPADDD(x, y, z) }

// roundBlocks512 rounds n blocks of 32 of a chunk. The parameter factor is the factor by which the
// sum is multiplied for init; if it is 0, the sum times the scale is written instead.
func roundBlocks512() {
	TEXT("roundBlocks512", 0, "func(dst *byte, x *float32, n int, factor int32)")
	Pragma("noescape")
	dst, x, n := GP64(), GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	Load(Param("n"), n)
	factor := GP32()
	Load(Param("factor"), factor)
	magnitude, top, tiny := word512(0x7fffffff), word512(float127), word512(tinyBlock)
	q := GP64()
	LEAQ(mem(dst, recQ), q)

	Label("block")
	var v [2]reg.VecVirtual
	for i := range v {
		v[i] = ZMM()
		VMOVUPS(mem(x, 64*i), v[i])
	}
	a, b := ZMM(), ZMM()
	VPANDD(v[0], magnitude, a)
	VPANDD(v[1], magnitude, b)
	VMAXPS(a, b, a)
	amax := foldAll(maxps, a)
	d, inv, k := XMM(), XMM(), K()
	VDIVPS(top.AsX(), amax, d)
	VCMPPS(U8(0x1e), tiny.AsX(), amax, k) // greater; otherwise the inverse is zero
	VDIVPS_Z(amax, top.AsX(), k, inv)
	scale := ZMM()
	VBROADCASTSS(inv, scale)
	var sum reg.VecVirtual
	for i := range v {
		VMULPS(scale, v[i], v[i])
		VCVTPS2DQ(v[i], v[i])
		bytes := XMM()
		VPMOVSDB(v[i], bytes)
		VMOVDQU8(bytes, mem(q, 16*i))
		VPMOVSXBD(bytes, v[i])
	}
	sum = v[0]
	VPADDD(v[1], sum, sum)
	total := foldAll(addd, sum)
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

// roundSuper512 rounds a super-block of 256. If wide is true, the inits are -128 times the sums of
// 32 values, otherwise -32 times the sums of 16.
func roundSuper512() {
	TEXT("roundSuper512", 0, "func(dst *byte, x *float32, wide bool)")
	Pragma("noescape")
	dst, x := GP64(), GP64()
	Load(Param("dst"), dst)
	Load(Param("x"), x)
	wide := GP8()
	Load(Param("wide"), wide)
	magnitude := word512(0x7fffffff)

	m := ZMM()
	VPANDD(mem(x, 0), magnitude, m)
	for i := 1; i < 16; i++ {
		a := ZMM()
		VPANDD(mem(x, 64*i), magnitude, a)
		VMAXPS(a, m, m)
	}
	amax := foldAll(maxps, m)
	bits := GP32()
	VMOVD(amax, bits)
	CMPL(bits, U32(tinySuper))
	JLT(LabelRef("zero"))

	// The first value of that magnitude determines the sign.
	all, at, found := ZMM(), GP64(), GP64()
	VBROADCASTSS(amax, all)
	XORQ(at, at)
	Label("search")
	a, k := ZMM(), K()
	VPANDD(indexed(x, at, 1, 0), magnitude, a)
	VCMPPS(U8(0), all, a, k)
	KMOVW(k, found.As32())
	TESTL(found.As32(), found.As32())
	JNZ(LabelRef("found"))
	ADDQ(U8(64), at)
	CMPQ(at, U32(1024))
	JLT(LabelRef("search"))
	JMP(LabelRef("zero")) // reached only if the values are NaN
	Label("found")
	BSFL(found.As32(), found.As32())
	peak, scale, inverse, one := XMM(), XMM(), XMM(), XMM()
	LEAQ(indexed(x, at, 1, 0), at)
	VMOVSS(indexed(at, found, 4, 0), peak)
	g := GP32()
	MOVL(U32(float127|1<<31), g)
	VMOVD(g, scale)
	VDIVSS(peak, scale, scale)
	MOVL(U32(0x3f800000), g)
	VMOVD(g, one)
	VDIVSS(scale, one, inverse)
	VMOVSS(inverse, mem(dst, 0))
	factor := ZMM()
	VBROADCASTSS(scale, factor)
	sums := []reg.VecVirtual{}
	for i := range 4 {
		part := []reg.VecVirtual{}
		for j := range 4 {
			v, b := ZMM(), XMM()
			VMULPS(mem(x, 256*i+64*j), factor, v)
			VCVTPS2DQ(v, v)
			VPMOVSDB(v, b)
			VMOVDQU8(b, mem(dst, recKQ+64*i+16*j))
			VPMOVSXBD(b, v)
			part = append(part, fold(addd, v))
		}
		VPHADDD(part[1], part[0], part[0])
		VPHADDD(part[3], part[2], part[2])
		VPHADDD(part[2], part[0], part[0])
		w := XMM()
		VPACKSSDW(part[0], part[0], w)
		VMOVQ(w, mem(dst, recKSum16+8*i))
		sums = append(sums, part[0])
	}
	var pairs [2]reg.VecVirtual
	for i := range pairs {
		pairs[i] = XMM()
		VPHADDD(sums[2*i+1], sums[2*i], pairs[i])
	}
	words, zero := XMM(), XMM()
	VPACKSSDW(pairs[1], pairs[0], words)
	VMOVDQU(words, mem(dst, recKSum32))
	VPXOR(zero, zero, zero)
	TESTB(wide, wide)
	JNZ(LabelRef("wide"))
	store := func(shift int, v reg.VecVirtual, at int) {
		t := XMM()
		VPSLLD(U8(shift), v, t)
		VPSUBD(t, zero, t)
		VMOVDQU(t, mem(dst, recKInit+16*at))
	}
	for i, v := range sums {
		store(5, v, i)
	}
	VZEROUPPER()
	RET()
	Label("wide")
	for i, v := range pairs {
		store(7, v, i)
	}
	VZEROUPPER()
	RET()

	Label("zero")
	z := ZMM()
	clear512([]reg.VecVirtual{z})
	for i := range recKBytes / 64 {
		VMOVDQU32(z, mem(dst, 64*i))
	}
	VZEROUPPER()
	RET()
}
