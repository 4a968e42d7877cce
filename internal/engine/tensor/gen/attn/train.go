package main

import (
	"log"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// train writes the kernels that only training needs. They accept any number of elements except 0:
// the lanes of the last vector beyond the end are masked.
func train(c *consts, s set) {
	peakOf(c, s)
	productOf(c, s)
	expSum(c, s)
	softmaxBack(c, s)
	swiGLUBack(c, s)
	normBack(c, s)
	rotate(c, s)
	scaleBy(c, s)
}

// param broadcasts a parameter to all lanes.
func (s set) param(name string) reg.VecVirtual {
	b, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return s.spread(b.Addr)
}

func begin(name, params string, slices ...string) (n reg.GPVirtual, p []reg.GPVirtual) {
	TEXT(name, NOSPLIT, "func("+params+")")
	Pragma("noescape")
	for _, s := range slices {
		p = append(p, arg(s))
	}
	return arg("n"), p
}

// giveBack returns one number from the function.
func giveBack(x reg.VecVirtual) {
	VZEROUPPER() // keeps the lowest lanes; without it the store, in an older encoding, is slow
	Store(x, ReturnIndex(0))
	RET()
}

func finish() {
	VZEROUPPER()
	RET()
}

func peakOf(c *consts, s set) {
	n, p := begin("peak"+s.name, "x *float32, n int) (top float32", "x")
	low, top := s.spread(c.mem("-inf")), s.vec()
	VMOVAPS(low, top)
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		VMAXPS(l.loadOr(at(p[0], 0), low), top, top)
	})
	giveBack(s.reduce(top, maxOp))
}

func productOf(c *consts, s set) {
	n, p := begin("product"+s.name, "x, y *float32, n int) (sum float32", "x", "y")
	sum := s.zero()
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		VFMADD231PS(l.load(at(p[0], 0)), l.load(at(p[1], 0)), sum)
	})
	giveBack(s.reduce(sum, addOp))
}

func expSum(c *consts, s set) {
	n, p := begin("expSum"+s.name, "x *float32, n int, top float32) (sum float32", "x")
	e, top, sum := s.exp(c), s.param("top"), s.zero()
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		x := l.load(at(p[0], 0))
		VSUBPS(top, x, x)
		e.exp(x)
		l.store(x, at(p[0], 0))
		l.add(x, sum)
	})
	giveBack(s.reduce(sum, addOp))
}

func softmaxBack(c *consts, s set) {
	n, p := begin("softmaxBack"+s.name, "ds, p *float32, n int, delta float32", "ds", "p")
	delta := s.param("delta")
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		x := l.load(at(p[0], 0))
		VSUBPS(delta, x, x)
		VMULPS(l.load(at(p[1], 0)), x, x)
		l.store(x, at(p[0], 0))
	})
	finish()
}

func swiGLUBack(c *consts, s set) {
	n, p := begin("swiGLUBack"+s.name, "act, dgate, dup, dact, gate, up *float32, n int, gain float32) (sum float32",
		"act", "dgate", "dup", "dact", "gate", "up")
	e, gain, sum := s.exp(c), s.param("gain"), s.zero()
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		g, x := l.load(at(p[4], 0)), s.zero()
		VSUBPS(g, x, x)
		e.exp(x)
		VADDPS(e.one, x, x)
		sig, silu := s.vec(), s.vec()
		VDIVPS(x, e.one, sig)
		VMULPS(g, sig, silu)
		up, da := l.load(at(p[5], 0)), l.load(at(p[3], 0))
		v := s.vec()
		VMULPS(up, silu, v)
		VFMADD231PS(v, da, sum)
		VMULPS(gain, v, v)
		l.store(v, at(p[0], 0))
		VMULPS(gain, da, da)
		VMULPS(silu, da, v)
		l.store(v, at(p[2], 0))
		// sig + silu·(1 - sig)
		VSUBPS(sig, e.one, v)
		VFMADD213PS(sig, silu, v)
		VMULPS(up, da, da)
		VMULPS(v, da, da)
		l.store(da, at(p[1], 0))
	})
	giveBack(s.reduce(sum, addOp))
}

// normBack reads the row twice, because dx needs the complete sum of dh·x·w.
func normBack(c *consts, s set) {
	n, p := begin("normBack"+s.name, "dx, dh, x, w, dw *float32, n int, inv float32", "dx", "dh", "x", "w", "dw")
	inv, sum := s.param("inv"), s.zero()
	s.through(c, "sum", n, p[1:], func(p []reg.GPVirtual, l some) {
		g := l.load(at(p[1], 0))
		VMULPS(l.load(at(p[0], 0)), g, g)
		VFMADD231PS(l.load(at(p[2], 0)), g, sum)
		dw := l.load(at(p[3], 0))
		VFMADD231PS(inv, g, dw)
		l.store(dw, at(p[3], 0))
	})
	k, d := s.vec(), XMM()
	VBROADCASTSS(s.reduce(sum, addOp), k)
	VMULPS(inv, k, k)
	VMULPS(inv, k, k)
	VMULPS(inv, k, k)
	VXORPS(d, d, d)
	VCVTSI2SSQ(n, d, d)
	by := s.vec()
	VBROADCASTSS(d, by)
	VDIVPS(by, k, k)
	s.through(c, "add", n, p[:4], func(p []reg.GPVirtual, l some) {
		g := l.load(at(p[1], 0))
		VMULPS(l.load(at(p[3], 0)), g, g)
		dx := l.load(at(p[0], 0))
		VFMADD231PS(inv, g, dx)
		VFNMADD231PS(l.load(at(p[2], 0)), k, dx)
		l.store(dx, at(p[0], 0))
	})
	finish()
}

// rotate rotates pairs (lo, hi) by the angles times sign.
func rotate(c *consts, s set) {
	n, p := begin("rotate"+s.name, "lo, hi, cos, sin *float32, n int, sign float32", "lo", "hi", "cos", "sin")
	sign := s.param("sign")
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		a, b, cos, sin := l.load(at(p[0], 0)), l.load(at(p[1], 0)), l.load(at(p[2], 0)), l.load(at(p[3], 0))
		VMULPS(sign, sin, sin)
		x, y := s.vec(), s.vec()
		VMULPS(cos, a, x)
		VFNMADD231PS(sin, b, x)
		VMULPS(sin, a, y)
		VFMADD231PS(cos, b, y)
		l.store(x, at(p[0], 0))
		l.store(y, at(p[1], 0))
	})
	finish()
}

func scaleBy(c *consts, s set) {
	n, p := begin("scale"+s.name, "x *float32, n int, a float32", "x")
	a := s.param("a")
	s.through(c, "some", n, p, func(p []reg.GPVirtual, l some) {
		z := l.load(at(p[0], 0))
		VMULPS(a, z, z)
		l.store(z, at(p[0], 0))
	})
	finish()
}
