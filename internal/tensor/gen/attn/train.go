package main

import (
	"log"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// train writes the kernels that only learning needs. They take any number of elements, not 0: the lanes of the last
// vector that lie beyond are masked.
func train(c *consts) {
	peakOf()
	productOf()
	expSum(c)
	softmaxBack()
	swiGLUBack(c)
	normBack()
	rotate()
	scaleBy()
}

// through writes a loop over slices of n elements, 16 at a time; k masks the lanes that exist.
func through(label string, n reg.GPVirtual, slices []reg.GPVirtual, body func(p []reg.GPVirtual, k reg.OpmaskVirtual)) {
	left := GP64()
	MOVQ(n, left)
	var p []reg.GPVirtual
	for _, s := range slices {
		g := GP64()
		MOVQ(s, g)
		p = append(p, g)
	}
	k := K()
	KXNORW(k, k, k)
	Label(label)
	CMPQ(left, Imm(16))
	JGE(LabelRef(label + "Full"))
	some := GP64()
	MOVQ(U32(1), some)
	MOVQ(left, reg.RCX)
	SHLQ(reg.CL, some)
	DECQ(some)
	KMOVW(some.As32(), k)
	Label(label + "Full")
	body(p, k)
	for _, g := range p {
		ADDQ(Imm(64), g)
	}
	SUBQ(Imm(16), left)
	JG(LabelRef(label))
}

// load reads the lanes of k, zeros in the others.
func load(m Mem, k reg.OpmaskVirtual) reg.VecVirtual {
	z := ZMM()
	VMOVUPS_Z(m, k, z)
	return z
}

// param spreads a parameter over all lanes.
func param(name string) reg.VecVirtual {
	b, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return spread(b.Addr)
}

func begin(name, params string, slices ...string) (n reg.GPVirtual, p []reg.GPVirtual) {
	TEXT(name, NOSPLIT, "func("+params+")")
	Pragma("noescape")
	for _, s := range slices {
		p = append(p, arg(s))
	}
	return arg("n"), p
}

// giveBack returns one number.
func giveBack(x reg.VecVirtual) {
	VZEROUPPER() // leaves the lowest lanes; without it the store, of an older encoding, is slow
	Store(x, ReturnIndex(0))
	RET()
}

func finish() {
	VZEROUPPER()
	RET()
}

func peakOf() {
	n, p := begin("peakAVX512", "x *float32, n int) (top float32", "x")
	low := ZMM()
	g := GP32()
	MOVL(U32(math.Float32bits(float32(math.Inf(-1)))), g)
	VPBROADCASTD(g, low)
	top := ZMM()
	VMOVAPS(low, top)
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		z := ZMM()
		VMOVAPS(low, z)
		VMOVUPS(at(p[0], 0), k, z)
		VMAXPS(z, top, top)
	})
	giveBack(reduce(top, maxOp))
}

func productOf() {
	n, p := begin("productAVX512", "x, y *float32, n int) (sum float32", "x", "y")
	sum := zero()
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		VFMADD231PS(load(at(p[0], 0), k), load(at(p[1], 0), k), sum)
	})
	giveBack(reduce(sum, addOp))
}

func expSum(c *consts) {
	n, p := begin("expSumAVX512", "x *float32, n int, top float32) (sum float32", "x")
	e, top, sum := c.exp(), param("top"), zero()
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		x := load(at(p[0], 0), k)
		VSUBPS(top, x, x)
		e.exp(x)
		VMOVUPS(x, k, at(p[0], 0))
		VADDPS(x, sum, k, sum)
	})
	giveBack(reduce(sum, addOp))
}

func softmaxBack() {
	n, p := begin("softmaxBackAVX512", "ds, p *float32, n int, delta float32", "ds", "p")
	delta := param("delta")
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		x := load(at(p[0], 0), k)
		VSUBPS(delta, x, x)
		VMULPS(load(at(p[1], 0), k), x, x)
		VMOVUPS(x, k, at(p[0], 0))
	})
	finish()
}

func swiGLUBack(c *consts) {
	n, p := begin("swiGLUBackAVX512", "act, dgate, dup, dact, gate, up *float32, n int, gain float32) (sum float32",
		"act", "dgate", "dup", "dact", "gate", "up")
	e, gain, sum := c.exp(), param("gain"), zero()
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		g, x := load(at(p[4], 0), k), zero()
		VSUBPS(g, x, x)
		e.exp(x)
		VADDPS(e.one, x, x)
		sig, silu := ZMM(), ZMM()
		VDIVPS(x, e.one, sig)
		VMULPS(g, sig, silu)
		up, da := load(at(p[5], 0), k), load(at(p[3], 0), k)
		v := ZMM()
		VMULPS(up, silu, v)
		VFMADD231PS(v, da, sum)
		VMULPS(gain, v, v)
		VMOVUPS(v, k, at(p[0], 0))
		VMULPS(gain, da, da)
		VMULPS(silu, da, v)
		VMOVUPS(v, k, at(p[2], 0))
		// sig + silu·(1 - sig)
		VSUBPS(sig, e.one, v)
		VFMADD213PS(sig, silu, v)
		VMULPS(up, da, da)
		VMULPS(v, da, da)
		VMOVUPS(da, k, at(p[1], 0))
	})
	giveBack(reduce(sum, addOp))
}

// normBack goes over the row twice: the sum of dh·x·w is wanted before dx is changed.
func normBack() {
	n, p := begin("normBackAVX512", "dx, dh, x, w, dw *float32, n int, inv float32", "dx", "dh", "x", "w", "dw")
	inv, sum := param("inv"), zero()
	through("sum", n, p[1:], func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		g := load(at(p[1], 0), k)
		VMULPS(load(at(p[0], 0), k), g, g)
		VFMADD231PS(load(at(p[2], 0), k), g, sum)
		dw := load(at(p[3], 0), k)
		VFMADD231PS(inv, g, dw)
		VMOVUPS(dw, k, at(p[3], 0))
	})
	c, d := ZMM(), XMM()
	VBROADCASTSS(reduce(sum, addOp), c)
	VMULPS(inv, c, c)
	VMULPS(inv, c, c)
	VMULPS(inv, c, c)
	VXORPS(d, d, d)
	VCVTSI2SSQ(n, d, d)
	by := ZMM()
	VBROADCASTSS(d, by)
	VDIVPS(by, c, c)
	through("add", n, p[:4], func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		g := load(at(p[1], 0), k)
		VMULPS(load(at(p[3], 0), k), g, g)
		dx := load(at(p[0], 0), k)
		VFMADD231PS(inv, g, dx)
		VFNMADD231PS(load(at(p[2], 0), k), c, dx)
		VMOVUPS(dx, k, at(p[0], 0))
	})
	finish()
}

// rotate turns pairs (lo, hi) by the angles times sign.
func rotate() {
	n, p := begin("rotateAVX512", "lo, hi, cos, sin *float32, n int, sign float32", "lo", "hi", "cos", "sin")
	sign := param("sign")
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		a, b, cos, sin := load(at(p[0], 0), k), load(at(p[1], 0), k), load(at(p[2], 0), k), load(at(p[3], 0), k)
		VMULPS(sign, sin, sin)
		x, y := ZMM(), ZMM()
		VMULPS(cos, a, x)
		VFNMADD231PS(sin, b, x)
		VMULPS(sin, a, y)
		VFMADD231PS(cos, b, y)
		VMOVUPS(x, k, at(p[0], 0))
		VMOVUPS(y, k, at(p[1], 0))
	})
	finish()
}

func scaleBy() {
	n, p := begin("scaleAVX512", "x *float32, n int, a float32", "x")
	a := param("a")
	through("some", n, p, func(p []reg.GPVirtual, k reg.OpmaskVirtual) {
		z := load(at(p[0], 0), k)
		VMULPS(a, z, z)
		VMOVUPS(z, k, at(p[0], 0))
	})
	finish()
}
