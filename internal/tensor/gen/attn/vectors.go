package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vectors writes the kernels over plain slices. n counts elements, a multiple of 16 and not 0.
func vectors(c *consts) {
	loop("addToAVX512", "dst, x *float32, n int", []string{"dst", "x"}, nil, func(p []reg.GPVirtual, _ []reg.VecVirtual) {
		z := ZMM()
		VMOVUPS(at(p[0], 0), z)
		VADDPS(at(p[1], 0), z, z)
		VMOVUPS(z, at(p[0], 0))
	})
	loop("axpyAVX512", "dst, x *float32, n int, a float32", []string{"dst", "x"}, scalar("a", 24), func(p []reg.GPVirtual, k []reg.VecVirtual) {
		z := ZMM()
		VMOVUPS(at(p[0], 0), z)
		VFMADD231PS(at(p[1], 0), k[0], z)
		VMOVUPS(z, at(p[0], 0))
	})
	loop("mulScaledAVX512", "dst, x, w *float32, n int, scale float32", []string{"dst", "x", "w"}, scalar("scale", 32), func(p []reg.GPVirtual, k []reg.VecVirtual) {
		z := ZMM()
		VMULPS(at(p[1], 0), k[0], z)
		VMULPS(at(p[2], 0), z, z)
		VMOVUPS(z, at(p[0], 0))
	})
	swiGLU(c)
	sumSquares()
	halves()
	floats()
	finite()
}

func scalar(name string, offset int) func() []reg.VecVirtual {
	return func() []reg.VecVirtual {
		z := ZMM()
		VBROADCASTSS(NewParamAddr(name, offset), z)
		return []reg.VecVirtual{z}
	}
}

// loop writes a function that walks over slices 16 elements at a time.
func loop(name, params string, slices []string, prepare func() []reg.VecVirtual, body func([]reg.GPVirtual, []reg.VecVirtual)) {
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
		ADDQ(Imm(64), g)
	}
	SUBQ(Imm(16), n)
	JNZ(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// swiGLU joins gate and up: gate/(1+e^-gate)·up.
func swiGLU(c *consts) {
	var e expConsts
	prepare := func() []reg.VecVirtual {
		e = c.exp()
		return nil
	}
	loop("swiGLUAVX512", "dst, gate, up *float32, n int", []string{"dst", "gate", "up"}, prepare, func(p []reg.GPVirtual, _ []reg.VecVirtual) {
		g, x := ZMM(), zero()
		VMOVUPS(at(p[1], 0), g)
		VSUBPS(g, x, x)
		e.exp(x)
		VADDPS(e.one, x, x)
		VDIVPS(x, g, g)
		VMULPS(at(p[2], 0), g, g)
		VMOVUPS(g, at(p[0], 0))
	})
}

// sumSquares adds the squares of n elements, in double precision so that long rows lose nothing.
func sumSquares() {
	TEXT("sumSquaresAVX512", NOSPLIT, "func(x *float32, n int) float64")
	Pragma("noescape")
	x, n := arg("x"), arg("n")
	a, b := zero(), zero()
	Label("some")
	u, v := ZMM(), ZMM()
	VCVTPS2PD(at(x, 0), u)
	VCVTPS2PD(at(x, 32), v)
	VFMADD231PD(u, u, a)
	VFMADD231PD(v, v, b)
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("some"))
	VADDPD(a, b, a)
	h := YMM()
	VEXTRACTF64X4(U8(1), a, h)
	VADDPD(h, a.AsY(), h)
	q := XMM()
	VEXTRACTF128(U8(1), h, q)
	VADDPD(q, h.AsX(), q)
	t := XMM()
	VPERMILPD(U8(1), q, t)
	VADDSD(t, q, q)
	Store(q, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// halves rounds floats to half precision.
func halves() {
	TEXT("toHalfAVX512", NOSPLIT, "func(dst *uint16, x *float32, n int)")
	Pragma("noescape")
	dst, x, n := arg("dst"), arg("x"), arg("n")
	Label("some")
	z, y := ZMM(), YMM()
	VMOVUPS(at(x, 0), z)
	VCVTPS2PH(U8(0), z, y)
	VMOVDQU(y, at(dst, 0))
	ADDQ(Imm(64), x)
	ADDQ(Imm(32), dst)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// floats widens half-precision numbers.
func floats() {
	TEXT("fromHalfAVX512", NOSPLIT, "func(dst *float32, x *uint16, n int)")
	Pragma("noescape")
	dst, x, n := arg("dst"), arg("x"), arg("n")
	Label("some")
	z := ZMM()
	VCVTPH2PS(at(x, 0), z)
	VMOVUPS(z, at(dst, 0))
	ADDQ(Imm(32), x)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// finite tells whether the difference of every element and itself is zero.
func finite() {
	TEXT("finiteAVX512", NOSPLIT, "func(x *float32, n int) bool")
	Pragma("noescape")
	x, n := arg("x"), arg("n")
	bad := zero()
	Label("some")
	z := ZMM()
	VMOVUPS(at(x, 0), z)
	VSUBPS(z, z, z)
	VPORD(z, bad, bad)
	ADDQ(Imm(64), x)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("some"))
	k, g := K(), GP32()
	VPTESTMD(bad, bad, k)
	KMOVW(k, g)
	TESTL(g, g)
	ok := GP8()
	SETEQ(ok)
	Store(ok, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
