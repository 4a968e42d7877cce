package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expConsts holds the constants that exp needs, in registers or, on processors with only sixteen
// registers, in memory.
type expConsts struct {
	set                                                    set
	log2e, hi, lo, c2, c3, c4, c5, c6, c7, low, high, bias Op
	one                                                    reg.VecVirtual
}

func (s set) exp(c *consts) expConsts {
	get := func(name string) Op {
		if s.lanes == 16 {
			return c.get(name)
		}
		return c.mem("8 " + name)
	}
	return expConsts{
		set: s, log2e: get("log2e"), hi: get("ln2Hi"), lo: get("ln2Lo"), c2: get("c2"), c3: get("c3"), c4: get("c4"), c5: get("c5"),
		c6: get("c6"), c7: get("c7"), low: get("low"), high: get("high"), bias: c.mem("8 bias"), one: s.spread(c.mem("one")),
	}
}

// exp replaces x by e^x; lanes below the lowest become 0, and NaN stays NaN.
func (e expConsts) exp(x reg.VecVirtual) {
	if e.set.lanes == 8 {
		e.exp8(x)
		return
	}
	k := K()
	// Not less than, or unordered: the lanes whose result is not zero.
	VCMPPS(U8(5), e.low, x, k)
	VMINPS(x, e.high, x) // if x is NaN, the result is the second source, x
	n := ZMM()
	VMULPS(e.log2e, x, n)
	VRNDSCALEPS(U8(0), n, n)
	VSCALEFPS_Z(n, e.fraction(x, n), k, x)
}

// exp8 scales by two factors, since a single factor would overflow for the largest results.
func (e expConsts) exp8(x reg.VecVirtual) {
	keep, n, top := YMM(), YMM(), YMM()
	VCMPPS(U8(5), e.low, x, keep)
	VMOVUPS(e.high, top)
	VMINPS(x, top, x)
	VMULPS(e.log2e, x, n)
	VROUNDPS(U8(8), n, n)
	p := e.fraction(x, n)
	half := YMM()
	VCVTPS2DQ(n, n)
	VPSRAD(U8(1), n, half)
	VPSUBD(half, n, n)
	for _, f := range []reg.VecVirtual{half, n} {
		VPADDD(e.bias, f, f)
		VPSLLD(U8(23), f, f)
		VMULPS(f, p, p)
	}
	VANDPS(keep, p, x)
}

// fraction computes e^(x - n·ln2).
func (e expConsts) fraction(x, n reg.VecVirtual) reg.VecVirtual {
	r, p := e.set.vec(), e.set.vec()
	VMOVAPS(x, r)
	VFNMADD231PS(e.hi, n, r)
	VFNMADD231PS(e.lo, n, r)
	VMOVUPS(e.c7, p)
	for _, c := range []Op{e.c6, e.c5, e.c4, e.c3, e.c2} {
		VFMADD213PS(c, r, p)
	}
	VFMADD213PS(e.one, r, p) // p·r + 1
	VFMADD213PS(e.one, r, p) // (p·r + 1)·r + 1
	return p
}
