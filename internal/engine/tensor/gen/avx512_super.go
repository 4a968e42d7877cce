package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// super512 describes a type with super-blocks of 256.
type super512 struct {
	typ    string
	size   int // size in bytes of a super-block over 16 rows
	mins   int // offset of the activations' sums that belong to the minimums; 0: no minimums, but inits
	minsAt int // offset in scratch at which the header code stores the minimums as bytes
	consts func(s *superState)
	head   func(s *superState) // writes the scales to scratch and sets what the minimums need
	step   int                 // number of columns per iteration of the inner loop
	width  int                 // number of columns that share a scale
	// weights returns columns 32·i+4g to 32·i+4g+3 of an iteration; s.col is the first column of
	// the iteration.
	weights func(s *superState, i, g int) reg.VecVirtual
	next    func(s *superState) // after every 32 columns
}

// superState holds the registers of a kernel.
type superState struct {
	p        reg.GPVirtual // address of the super-block
	scr      reg.GPVirtual // scratch memory: 16 vectors of scales, then 8 vectors for the header
	scrAt    int           // offset in the scratch memory
	ahead    reg.GPVirtual // address to prefetch next
	lines    int           // number of cache lines to prefetch per iteration
	col      reg.GPVirtual // first column of the iteration
	init     reg.GPVirtual // address of the iteration's inits, relative to the first
	c        []reg.VecVirtual
	bit      reg.VecVirtual // mask of the next high bit
	d, ndmin reg.VecVirtual
}

// Offsets in scratch, in bytes: scales as floats, then bytes still packed.
const (
	scrScale = 0
	scrBytes = 1024
	scrSize  = 1024 + 512
)

func (s *superState) scratch(disp int) Mem { return mem(s.scr, s.scrAt+disp) }

// load returns 64 bytes of the super-block, loaded unaligned.
func (s *superState) load(disp int) reg.VecVirtual { return memLoad(s.p, disp) }

// at returns an address in the super-block: scale bytes for each column before the iteration's
// first, plus disp.
func (s *superState) at(scale uint8, disp int) Mem { return indexed(s.p, s.col, scale, disp) }

func and(x, mask reg.VecVirtual) reg.VecVirtual {
	z := ZMM()
	VPANDD(x, mask, z)
	return z
}

func shiftRight(n int, x reg.VecVirtual) reg.VecVirtual {
	z := ZMM()
	VPSRLW(U8(n), x, z)
	return z
}

func shiftLeft(n int, x reg.VecVirtual) reg.VecVirtual {
	z := ZMM()
	VPSLLW(U8(n), x, z)
	return z
}

// orAnd computes x | y&mask.
func orAnd(x reg.VecVirtual, y Op, mask reg.VecVirtual) reg.VecVirtual {
	VPTERNLOGD(U8(0xf8), y, mask, x)
	return x
}

func (s *superState) halves(d, dmin int) {
	s.d = ZMM()
	VCVTPH2PS(mem(s.p, d), s.d)
	if dmin >= 0 {
		s.ndmin = ZMM()
		VCVTPH2PS(mem(s.p, dmin), s.ndmin)
		VPXORD_BCST(signBit(), s.ndmin, s.ndmin)
	}
}

func signBit() Mem {
	if m, ok := tables["sign"]; ok {
		return m
	}
	m := GLOBL("sign", 8|16)
	DATA(0, U32(1<<31))
	tables["sign"] = m
	return m
}

// scale writes scale j, given as integers, as floats multiplied by d.
func (s *superState) scale(j int, x reg.VecVirtual) {
	VCVTDQ2PS(x, x)
	VMULPS(x, s.d, x)
	VMOVUPS(x, s.scratch(scrScale+64*j))
}

// unsignedScales converts n scales from pairs of bytes in scratch.
func (s *superState) unsignedScales(n int) {
	byteMask := ZMM()
	g := GP32()
	MOVL(U32(255), g)
	VPBROADCASTD(g, byteMask)
	for p := range n / 2 {
		z, even := ZMM(), ZMM()
		VPMOVZXWD(s.scratch(scrBytes+32*p), z)
		VPANDD(z, byteMask, even)
		VPSRLD(U8(8), z, z)
		s.scale(2*p, even)
		s.scale(2*p+1, z)
	}
}

// signedScales converts n scales from pairs of bytes at base.
func (s *superState) signedScales(n int, base reg.Register, disp int) {
	for p := range n / 2 {
		z, even := ZMM(), ZMM()
		VPMOVSXBW(mem(base, disp+32*p), z)
		VPSLLD(U8(16), z, even)
		VPSRAD(U8(16), even, even)
		VPSRAD(U8(16), z, z)
		s.scale(2*p, even)
		s.scale(2*p+1, z)
	}
}

// scalesK4 reads the header of Q4_K and Q5_K: 8 scales and 8 minimums of six bits in 12 bytes.
func scalesK4(s *superState) {
	s.halves(0, 32)
	m15, m48 := bytes512(15), bytes512(0x30)
	m63 := ZMM()
	VPORD(m15, m48, m63)
	low, mid, high := s.load(64), s.load(128), s.load(192)
	store := func(i int, z reg.VecVirtual) { VMOVDQU32(z, s.scratch(scrBytes+64*i)) }
	store(0, and(low, m63))
	store(1, orAnd(and(high, m15), shiftRight(2, low), m48))
	store(2, and(mid, m63))
	store(3, orAnd(and(shiftRight(4, high), m15), shiftRight(2, mid), m48))
	s.unsignedScales(8)
}

// nibbleAt returns the low or high halves of the bytes at m.
func (s *superState) nibbleAt(m Mem, high bool) reg.VecVirtual {
	z := ZMM()
	if !high {
		VPANDD(m, s.c[0], z)
		return z
	}
	VMOVDQU32(m, z)
	VPSRLW(U8(4), z, z)
	VPANDD(z, s.c[0], z)
	return z
}

// bitAdd adds s.c[1] to the bytes of z for which s.bit is set in the bytes at high.
func (s *superState) bitAdd(z reg.VecVirtual, high Mem) reg.VecVirtual {
	k := K()
	VPTESTMB(high, s.bit, k)
	VPADDB(z, s.c[1], k, z)
	return z
}

func (s *superState) nextBit() { VPADDB(s.bit, s.bit, s.bit) }

var supers512 = []super512{
	{typ: "Q4_K", size: 2304, mins: recKSum32, minsAt: scrBytes + 128, step: 64, width: 32, head: scalesK4,
		consts: func(s *superState) { s.c = append(s.c, bytes512(15)) },
		weights: func(s *superState, i, g int) reg.VecVirtual {
			return s.nibbleAt(s.at(8, 256+64*g), i == 1)
		}},
	{typ: "Q5_K", size: 2816, mins: recKSum32, minsAt: scrBytes + 128, step: 64, width: 32,
		consts: func(s *superState) { s.c = append(s.c, bytes512(15), bytes512(16)) },
		head: func(s *superState) {
			scalesK4(s)
			s.bit = bytes512(1)
		},
		weights: func(s *superState, i, g int) reg.VecVirtual {
			return s.bitAdd(s.nibbleAt(s.at(8, 768+64*g), i == 1), mem(s.p, 256+64*g))
		}, next: (*superState).nextBit},
	{typ: "Q6_K", size: 3360, step: 128, width: 16,
		consts: func(s *superState) { s.c = append(s.c, bytes512(15), bytes512(0x30)) },
		head: func(s *superState) {
			s.halves(3328, -1)
			s.signedScales(16, s.p, 3072)
		},
		weights: func(s *superState, i, g int) reg.VecVirtual {
			z := s.nibbleAt(s.at(8, 1024+64*(i%2*8+g)), i >= 2)
			if i == 2 {
				return orAnd(z, s.at(4, 64*g), s.c[1])
			}
			h := ZMM()
			VMOVDQU32(s.at(4, 64*g), h)
			switch i {
			case 0:
				VPSLLW(U8(4), h, h)
			case 1:
				VPSLLW(U8(2), h, h)
			case 3:
				VPSRLW(U8(2), h, h)
			}
			return orAnd(z, h, s.c[1])
		}},
	{typ: "Q2_K", size: 1344, mins: recKSum16, minsAt: scrBytes + 256, step: 128, width: 16,
		consts: func(s *superState) { s.c = append(s.c, bytes512(3)) },
		head: func(s *superState) {
			s.halves(0, 32)
			m15 := bytes512(15)
			for i := range 4 {
				z := s.load(64 + 64*i)
				VMOVDQU32(and(z, m15), s.scratch(scrBytes+64*i))
				VMOVDQU32(and(shiftRight(4, z), m15), s.scratch(scrBytes+256+64*i))
			}
			s.unsignedScales(16)
		},
		weights: func(s *superState, i, g int) reg.VecVirtual { return s.twoBits(s.at(4, 320+64*g), i) }},
	{typ: "Q3_K", size: 1760, step: 128, width: 16,
		consts: func(s *superState) { s.c = append(s.c, bytes512(3), bytes512(4), bytes512(28)) },
		head: func(s *superState) {
			s.halves(1728, -1)
			m15, m48 := bytes512(15), bytes512(0x30)
			bias := bytes512(32)
			low, mid, high := s.load(1536), s.load(1600), s.load(1664)
			store := func(i int, z reg.VecVirtual) {
				VPSUBB(bias, z, z)
				VMOVDQU32(z, s.scratch(scrBytes+64*i))
			}
			store(0, orAnd(and(low, m15), shiftLeft(4, high), m48))
			store(1, orAnd(and(mid, m15), shiftLeft(2, high), m48))
			store(2, orAnd(and(shiftRight(4, low), m15), high, m48))
			store(3, orAnd(and(shiftRight(4, mid), m15), shiftRight(2, high), m48))
			s.signedScales(16, s.scr, s.scrAt+scrBytes)
			s.bit = bytes512(1)
		},
		weights: func(s *superState, i, g int) reg.VecVirtual {
			z := s.twoBits(s.at(4, 512+64*g), i)
			VPADDB(z, s.c[2], z)
			return s.bitAdd(z, mem(s.p, 64*g))
		}, next: (*superState).nextBit},
	{typ: "IQ4_XS", size: 2176, step: 32, width: 32,
		consts: func(s *superState) { s.c = append(s.c, bytes512(15), table512("iq4", iq4Values)) },
		head:   scalesIQ4XS,
		weights: func(s *superState, _, g int) reg.VecVirtual {
			z := s.nibbleAt(s.at(8, 128+64*(g%4)), g >= 4)
			VPSHUFB(z, s.c[1], z)
			return z
		}},
}

// twoBits returns bits 2i and 2i+1 of the bytes at m.
func (s *superState) twoBits(m Mem, i int) reg.VecVirtual {
	z := ZMM()
	if i == 0 {
		VPANDD(m, s.c[0], z)
		return z
	}
	VMOVDQU32(m, z)
	VPSRLW(U8(2*i), z, z)
	VPANDD(z, s.c[0], z)
	return z
}

// scalesIQ4XS assembles eight scales of six bits: the low four bits of each are in two pairs of
// bytes, the high two bits of each in one pair.
func scalesIQ4XS(s *superState) {
	s.halves(0, -1)
	lane := func(x uint32) reg.VecVirtual {
		g, z := GP32(), ZMM()
		MOVL(U32(x), g)
		VPBROADCASTD(g, z)
		return z
	}
	m15, m48, bias := lane(15), lane(0x30), lane(32)
	low := []reg.VecVirtual{ZMM(), ZMM()}
	VPMOVZXWD(mem(s.p, 32), low[0])
	VPMOVZXWD(mem(s.p, 64), low[1])
	high := ZMM()
	VPMOVZXWD(mem(s.p, 96), high)
	for j := range 8 {
		z, h := ZMM(), ZMM()
		VPSRLD(U8(j%4*4), low[j/4], z)
		VPANDD(z, m15, z)
		if j < 2 {
			VPSLLD(U8(4-2*j), high, h)
		} else {
			VPSRLD(U8(2*j-4), high, h)
		}
		orAnd(z, h, m48)
		VPSUBD(bias, z, z)
		s.scale(j, z)
	}
}

func (d super512) build(name string, k int) {
	t := begin(name, k)
	s := &superState{p: t.w, scr: GP64(), col: GP64(), init: GP64()}
	LEAQ(AllocLocal(scrSize+64), s.scr)
	ADDQ(U8(63), s.scr)
	ANDQ(I8(-64), s.scr)
	if d.consts != nil {
		d.consts(s)
	}
	sums := vectors(k)

	Label("super")
	s.lines = 0
	if k <= 8 {
		s.lines = (d.size*d.step/256 + 63) / 64
		s.ahead = GP64()
		LEAQ(mem(s.p, prefetch), s.ahead)
	}
	d.head(s)
	clear512(sums)
	if d.mins != 0 {
		for p := range 128 / d.width {
			m := ZMM() // pairs of words
			VPMOVZXBW(s.scratch(d.minsAt+32*p), m)
			for j, a := range t.act {
				VPDPWSSD_BCST(mem(a, d.mins+4*p), m, sums[j])
			}
		}
		for _, z := range sums {
			VCVTDQ2PS(z, z)
			VMULPS(z, s.ndmin, z)
		}
	}
	XORQ(s.col, s.col)
	if d.mins == 0 {
		XORQ(s.init, s.init)
	}

	Label("columns")
	for i := range d.step / 32 {
		d.columns(t, s, sums, i)
		if d.next != nil {
			d.next(s)
		}
	}
	if s.lines > 0 {
		ADDQ(U32(64*s.lines), s.ahead)
	}
	ADDQ(U8(d.step), s.col)
	if d.mins == 0 {
		ADDQ(U8(d.step/d.width*4), s.init)
	}
	CMPQ(s.col, U32(256))
	JLT(LabelRef("columns"))

	for j, a := range t.act {
		VFMADD231PS_BCST(mem(a, 0), sums[j], t.acc[j])
		ADDQ(U32(recKBytes), a)
	}
	ADDQ(U32(d.size), s.p)
	DECQ(t.n)
	JNZ(LabelRef("super"))
	t.end()
}

// columns adds columns 32i to 32i+31 of an iteration.
func (d super512) columns(t *tile, s *superState, sums []reg.VecVirtual, i int) {
	per := 32 / d.width
	for half := range per {
		dots := t.dots
		if d.mins != 0 {
			clear512(dots)
		} else {
			for j, a := range t.act {
				VPBROADCASTD(indexed(a, s.init, 1, recKInit+4*(i*per+half)), dots[j])
			}
		}
		for g := half * 8 / per; g < (half+1)*8/per; g++ {
			slots := d.step / 4 // spread evenly, since a core supports few cache misses at once
			for l, slot := 0, 8*i+g; l < s.lines; l++ {
				if l*slots/s.lines == slot {
					PREFETCHT0(mem(s.ahead, 64*l))
				}
			}
			w := d.weights(s, i, g)
			for j, a := range t.act {
				VPDPBUSD_BCST(indexed(a, s.col, 1, recKQ+32*i+4*g), w, dots[j])
			}
		}
		for j := range t.act {
			VCVTDQ2PS(dots[j], dots[j])
			VFMADD231PS(s.scaleAt(d, i*per+half), dots[j], sums[j])
		}
	}
}

// scaleAt returns the address of scale j of the iteration.
func (s *superState) scaleAt(d super512, j int) Mem {
	// The scales of an iteration take 64·step/width bytes: 2 for each column when the width is 32,
	// 4 when it is 16.
	return indexed(s.scr, s.col, uint8(64/d.width), s.scrAt+scrScale+64*j)
}
