package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// set is a vector width for which a kernel is written.
type set struct {
	name  string
	lanes int // 32-bit numbers of a vector
	vec   func() reg.VecVirtual
}

var (
	wide   = set{"AVX512", 16, ZMM}
	narrow = set{"AVX2", 8, YMM}
)

func (s set) bytes() int { return 4 * s.lanes }

func (s set) zero() reg.VecVirtual {
	v := s.vec()
	if s.lanes == 16 {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
	return v
}

// spread broadcasts a number from memory to all lanes.
func (s set) spread(m Op) reg.VecVirtual {
	v := s.vec()
	VBROADCASTSS(m, v)
	return v
}

// fold combines the quarters, or halves, of v with op into one vector of 128 bits.
func (s set) fold(v reg.VecVirtual, op func(a, b, c Op)) reg.VecVirtual {
	y := v
	if s.lanes == 16 {
		y = YMM()
		VEXTRACTF64X4(U8(1), v, y)
		op(y, v.AsY(), y)
	}
	q := XMM()
	VEXTRACTF128(U8(1), y, q)
	op(q, y.AsX(), q)
	return q
}

// reduce combines the lanes of v with op into the lowest lane.
func (s set) reduce(v reg.VecVirtual, op func(a, b, c Op)) reg.VecVirtual {
	q, t := s.fold(v, op), XMM()
	VPERMILPS(U8(0x4e), q, t)
	op(t, q, q)
	VPERMILPS(U8(0xb1), q, t)
	op(t, q, q)
	return q
}

// some selects the lanes of a vector that exist: those in an opmask, those in a mask vector, or
// all.
type some struct {
	set  set
	k    reg.OpmaskVirtual // of wide vectors
	mask reg.VecVirtual    // of narrow ones; nil for all
}

// load reads the lanes that exist, with zeros in the others.
func (l some) load(m Mem) reg.VecVirtual {
	v := l.set.vec()
	switch {
	case l.set.lanes == 16:
		VMOVUPS_Z(m, l.k, v)
	case l.mask != nil:
		VMASKMOVPS(m, l.mask, v)
	default:
		VMOVUPS(m, v)
	}
	return v
}

// loadOr is like load, with the lanes of the parameter other in place of missing ones.
func (l some) loadOr(m Mem, other reg.VecVirtual) reg.VecVirtual {
	if l.set.lanes == 16 {
		v := l.set.vec()
		VMOVAPS(other, v)
		VMOVUPS(m, l.k, v)
		return v
	}
	v := l.load(m)
	if l.mask != nil {
		VBLENDVPS(l.mask, v, other, v)
	}
	return v
}

// store writes the lanes that exist.
func (l some) store(v reg.VecVirtual, m Mem) {
	switch {
	case l.set.lanes == 16:
		VMOVUPS(v, l.k, m)
	case l.mask != nil:
		VMASKMOVPS(v, l.mask, m)
	default:
		VMOVUPS(v, m)
	}
}

// add adds the lanes of v that exist to sum. It may change the other lanes of v.
func (l some) add(v, sum reg.VecVirtual) {
	if l.set.lanes == 16 {
		VADDPS(v, sum, l.k, sum)
		return
	}
	if l.mask != nil {
		VANDPS(l.mask, v, v)
	}
	VADDPS(v, sum, sum)
}

// The function through writes a loop over slices of n elements, one vector at a time. Lanes of the
// last vector beyond the end are masked.
func (s set) through(c *consts, label string, n reg.GPVirtual, slices []reg.GPVirtual, body func(p []reg.GPVirtual, l some)) {
	left := GP64()
	MOVQ(n, left)
	var p []reg.GPVirtual
	for _, x := range slices {
		g := GP64()
		MOVQ(x, g)
		p = append(p, g)
	}
	next := func() {
		for _, g := range p {
			ADDQ(Imm(uint64(s.bytes())), g)
		}
		SUBQ(Imm(uint64(s.lanes)), left)
	}
	if s.lanes == 8 {
		// Masked stores are slow on some processors, so only the remainder uses them.
		CMPQ(left, Imm(8))
		JL(LabelRef(label + "Rest"))
		Label(label)
		body(p, some{set: s})
		next()
		CMPQ(left, Imm(8))
		JGE(LabelRef(label))
		Label(label + "Rest")
		TESTQ(left, left)
		JZ(LabelRef(label + "Done"))
		mask, x := YMM(), XMM()
		MOVD(left.As32(), x)
		VPBROADCASTD(x, mask)
		VPCMPGTD(c.mem("iota"), mask, mask)
		body(p, some{set: s, mask: mask})
		Label(label + "Done")
		return
	}
	k := K()
	KXNORW(k, k, k)
	Label(label)
	CMPQ(left, Imm(16))
	JGE(LabelRef(label + "Full"))
	ones := GP64()
	MOVQ(U32(1), ones)
	MOVQ(left, reg.RCX)
	SHLQ(reg.CL, ones)
	DECQ(ones)
	KMOVW(ones.As32(), k)
	Label(label + "Full")
	body(p, some{set: s, k: k})
	next()
	JG(LabelRef(label))
}
