package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors writes the kernels over plain slices. Their parameter n is the number of elements, a
// multiple of 16 greater than 0.
func vectors(c *consts, s set) {
	s.loop("addTo"+s.name, "dst, x *float32, n int", []string{"dst", "x"}, nil, func(p []reg.GPVirtual, _ []reg.VecVirtual) {
		z := s.vec()
		VMOVUPS(at(p[0], 0), z)
		VADDPS(at(p[1], 0), z, z)
		VMOVUPS(z, at(p[0], 0))
	})
	s.loop("axpy"+s.name, "dst, x *float32, n int, a float32", []string{"dst", "x"}, s.scalar("a", 24), func(p []reg.GPVirtual, k []reg.VecVirtual) {
		z := s.vec()
		VMOVUPS(at(p[0], 0), z)
		VFMADD231PS(at(p[1], 0), k[0], z)
		VMOVUPS(z, at(p[0], 0))
	})
	s.loop("mulScaled"+s.name, "dst, x, w *float32, n int, scale float32", []string{"dst", "x", "w"}, s.scalar("scale", 32), func(p []reg.GPVirtual, k []reg.VecVirtual) {
		z := s.vec()
		VMULPS(at(p[1], 0), k[0], z)
		VMULPS(at(p[2], 0), z, z)
		VMOVUPS(z, at(p[0], 0))
	})
	swiGLU(c, s)
	sumSquares(s)
	halves(s)
	floats(s)
	finite(s)
}

func (s set) scalar(name string, offset int) func() []reg.VecVirtual {
	return func() []reg.VecVirtual {
		return []reg.VecVirtual{s.spread(NewParamAddr(name, offset))}
	}
}

// loop writes a function that iterates over slices one vector at a time.
func (s set) loop(name, params string, slices []string, prepare func() []reg.VecVirtual, body func([]reg.GPVirtual, []reg.VecVirtual)) {
	TEXT(name, NOSPLIT, fmt.Sprintf("func(%s)", params))
	Pragma("noescape")
	var p []reg.GPVirtual
	for _, s := range slices {
		p = append(p, arg(s))
	}
	n := arg("n")
	var k []reg.VecVirtual
	if prepare != nil {
		k = prepare()
	}
	Label("some")
	body(p, k)
	for _, g := range p {
		ADDQ(Imm(uint64(s.bytes())), g)
	}
	SUBQ(Imm(uint64(s.lanes)), n)
	JNZ(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// swiGLU combines gate and up: gate/(1+e^-gate)·up.
func swiGLU(c *consts, s set) {
	var e expConsts
	prepare := func() []reg.VecVirtual {
		e = s.exp(c)
		return nil
	}
	s.loop("swiGLU"+s.name, "dst, gate, up *float32, n int", []string{"dst", "gate", "up"}, prepare, func(p []reg.GPVirtual, _ []reg.VecVirtual) {
		g, x := s.vec(), s.zero()
		VMOVUPS(at(p[1], 0), g)
		VSUBPS(g, x, x)
		e.exp(x)
		VADDPS(e.one, x, x)
		VDIVPS(x, g, g)
		VMULPS(at(p[2], 0), g, g)
		VMOVUPS(g, at(p[0], 0))
	})
}

// sumSquares adds the squares of n elements, in double precision so that long rows lose no
// precision.
func sumSquares(s set) {
	TEXT("sumSquares"+s.name, NOSPLIT, "func(x *float32, n int) float64")
	Pragma("noescape")
	x, n := arg("x"), arg("n")
	a, b := s.zero(), s.zero()
	Label("some")
	u, v := s.vec(), s.vec()
	VCVTPS2PD(at(x, 0), u)
	VCVTPS2PD(at(x, s.bytes()/2), v)
	VFMADD231PD(u, u, a)
	VFMADD231PD(v, v, b)
	ADDQ(Imm(uint64(s.bytes())), x)
	SUBQ(Imm(uint64(s.lanes)), n)
	JNZ(LabelRef("some"))
	VADDPD(a, b, a)
	q := s.fold(a, func(a, b, c Op) { VADDPD(a, b, c) })
	t := XMM()
	VPERMILPD(U8(1), q, t)
	VADDSD(t, q, q)
	Store(q, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// half returns a register of half the width of a vector of s.
func (s set) half() reg.VecVirtual {
	if s.lanes == 16 {
		return YMM()
	}
	return XMM()
}

// halves rounds floats to half precision.
func halves(s set) {
	TEXT("toHalf"+s.name, NOSPLIT, "func(dst *uint16, x *float32, n int)")
	Pragma("noescape")
	dst, x, n := arg("dst"), arg("x"), arg("n")
	Label("some")
	z, y := s.vec(), s.half()
	VMOVUPS(at(x, 0), z)
	VCVTPS2PH(U8(0), z, y)
	VMOVDQU(y, at(dst, 0))
	ADDQ(Imm(uint64(s.bytes())), x)
	ADDQ(Imm(uint64(s.bytes()/2)), dst)
	SUBQ(Imm(uint64(s.lanes)), n)
	JNZ(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// floats widens half-precision numbers.
func floats(s set) {
	TEXT("fromHalf"+s.name, NOSPLIT, "func(dst *float32, x *uint16, n int)")
	Pragma("noescape")
	dst, x, n := arg("dst"), arg("x"), arg("n")
	Label("some")
	z := s.vec()
	VCVTPH2PS(at(x, 0), z)
	VMOVUPS(z, at(dst, 0))
	ADDQ(Imm(uint64(s.bytes()/2)), x)
	ADDQ(Imm(uint64(s.bytes())), dst)
	SUBQ(Imm(uint64(s.lanes)), n)
	JNZ(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// finite reports whether every element minus itself is zero.
func finite(s set) {
	TEXT("finite"+s.name, NOSPLIT, "func(x *float32, n int) bool")
	Pragma("noescape")
	x, n := arg("x"), arg("n")
	bad := s.zero()
	Label("some")
	z := s.vec()
	VMOVUPS(at(x, 0), z)
	VSUBPS(z, z, z)
	if s.lanes == 16 {
		VPORD(z, bad, bad)
	} else {
		VORPS(z, bad, bad)
	}
	ADDQ(Imm(uint64(s.bytes())), x)
	SUBQ(Imm(uint64(s.lanes)), n)
	JNZ(LabelRef("some"))
	if s.lanes == 16 {
		k, g := K(), GP32()
		VPTESTMD(bad, bad, k)
		KMOVW(k, g)
		TESTL(g, g)
	} else {
		VPTEST(bad, bad)
	}
	ok := GP8()
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
