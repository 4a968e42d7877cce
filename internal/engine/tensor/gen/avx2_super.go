package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// super2 describes a type with super-blocks of 256.
type super2 struct {
	typ     string
	size    int  // size in bytes of a super-block over 16 rows
	mins    int  // offset of the activations' sums that belong to the minimums; 0: none
	minsAt  int  // offset in scratch at which the header code stores the minimums as bytes
	dmin    int  // offset of the scale of the minimums
	width   int  // number of columns that share a scale
	run     int  // number of groups whose products fit 16 bits
	signed  bool // the weights are signed, so there is no init
	head    func(s *superState2)
	weights func(s *superState2, half, g int) reg.VecVirtual // group g of 64
}

type superState2 struct{ p, scr reg.GPVirtual }

func (s *superState2) at(disp, half int) Mem { return mem(s.p, disp+32*half) }

func and2(y reg.VecVirtual, mask uint8) reg.VecVirtual {
	z := YMM()
	VPAND(bytes2(mask), y, z)
	return z
}

func right2(n int, y reg.VecVirtual) reg.VecVirtual {
	z := YMM()
	VPSRLW(U8(n), y, z)
	return z
}

func left2(n int, y reg.VecVirtual) reg.VecVirtual {
	z := YMM()
	VPSLLW(U8(n), y, z)
	return z
}

func or2(x, y reg.VecVirtual) reg.VecVirtual {
	VPOR(x, y, x)
	return x
}

// keep writes bytes to scratch; at counts in vectors of 64 bytes.
func (s *superState2) keep(at, half int, y reg.VecVirtual) {
	VMOVDQU(y, mem(s.scr, scrBytes+64*at+32*half))
}

// scale writes eight scales, given as integers in y, multiplied by d; it overwrites y.
func (s *superState2) scale(j, half int, y reg.VecVirtual, d reg.VecVirtual) {
	VCVTDQ2PS(y, y)
	VMULPS(y, d, y)
	VMOVUPS(y, mem(s.scr, scrScale+64*j+32*half))
}

// scales converts n scales from pairs of signed or unsigned bytes at base.
func (s *superState2) scales(n int, base reg.Register, disp, d int, signed bool) {
	for half := range 2 {
		f := YMM()
		VCVTPH2PS(mem(s.p, d+16*half), f)
		for p := range n / 2 {
			z, even := YMM(), YMM()
			m := mem(base, disp+32*p+16*half)
			if signed {
				VPMOVSXBW(m, z)
			} else {
				VPMOVZXBW(m, z)
			}
			VPSLLD(U8(16), z, even)
			VPSRAD(U8(16), even, even)
			VPSRAD(U8(16), z, z)
			s.scale(2*p, half, even, f)
			s.scale(2*p+1, half, z, f)
		}
	}
}

func scalesK42(s *superState2) {
	for half := range 2 {
		low, mid, high := load2(s.at(64, half)), load2(s.at(128, half)), load2(s.at(192, half))
		s.keep(0, half, and2(low, 63))
		s.keep(1, half, or2(and2(high, 15), and2(right2(2, low), 0x30)))
		s.keep(2, half, and2(mid, 63))
		s.keep(3, half, or2(and2(right2(4, high), 15), and2(right2(2, mid), 0x30)))
	}
	s.scales(8, s.scr, scrBytes, 0, false)
}

// bit2 sets value in the bytes of y where the given bit is set in those at m.
func bit2(y reg.VecVirtual, m Mem, bit int, value uint8) reg.VecVirtual {
	b := load2(m)
	VPAND(bytes2(1<<bit), b, b)
	VPCMPEQB(bytes2(1<<bit), b, b)
	VPAND(bytes2(value), b, b)
	VPADDB(b, y, y)
	return y
}

func twoBits2(m Mem, i int) reg.VecVirtual {
	y := load2(m)
	if i > 0 {
		VPSRLW(U8(2*i), y, y)
	}
	VPAND(bytes2(3), y, y)
	return y
}

var supers2 = []super2{
	{typ: "Q4_K", size: 2304, mins: recKSum32, minsAt: scrBytes + 128, dmin: 32, width: 32, run: 8, head: scalesK42,
		weights: func(s *superState2, half, g int) reg.VecVirtual {
			return nibble2(s.at(256+g/16*512+g%8*64, half), g/8%2 == 1)
		}},
	{typ: "Q5_K", size: 2816, mins: recKSum32, minsAt: scrBytes + 128, dmin: 32, width: 32, run: 4, head: scalesK42,
		weights: func(s *superState2, half, g int) reg.VecVirtual {
			return bit2(nibble2(s.at(768+g/16*512+g%8*64, half), g/8%2 == 1), s.at(256+g%8*64, half), g/8, 16)
		}},
	{typ: "Q6_K", size: 3360, width: 16, run: 2,
		head: func(s *superState2) { s.scales(16, s.p, 3072, 3328, true) },
		weights: func(s *superState2, half, g int) reg.VecVirtual {
			i := g / 8 % 4
			y := nibble2(s.at(1024+g/32*1024+(i%2*8+g%8)*64, half), i >= 2)
			h := load2(s.at(g/32*512+g%8*64, half))
			switch i {
			case 0:
				VPSLLW(U8(4), h, h)
			case 1:
				VPSLLW(U8(2), h, h)
			case 3:
				VPSRLW(U8(2), h, h)
			}
			VPAND(bytes2(0x30), h, h)
			return or2(y, h)
		}},
	{typ: "Q2_K", size: 1344, mins: recKSum16, minsAt: scrBytes + 256, dmin: 32, width: 16, run: 4,
		head: func(s *superState2) {
			for half := range 2 {
				for i := range 4 {
					y := load2(s.at(64+64*i, half))
					s.keep(i, half, and2(y, 15))
					s.keep(4+i, half, and2(right2(4, y), 15))
				}
			}
			s.scales(16, s.scr, scrBytes, 0, false)
		},
		weights: func(s *superState2, half, g int) reg.VecVirtual {
			return twoBits2(s.at(320+g/32*512+g%8*64, half), g/8%4)
		}},
	{typ: "Q3_K", size: 1760, width: 16, run: 2,
		head: func(s *superState2) {
			for half := range 2 {
				low, mid, high := load2(s.at(1536, half)), load2(s.at(1600, half)), load2(s.at(1664, half))
				keep := func(i int, y reg.VecVirtual) {
					VPSUBB(bytes2(32), y, y)
					s.keep(i, half, y)
				}
				keep(0, or2(and2(low, 15), and2(left2(4, high), 0x30)))
				keep(1, or2(and2(mid, 15), and2(left2(2, high), 0x30)))
				keep(2, or2(and2(right2(4, low), 15), and2(high, 0x30)))
				keep(3, or2(and2(right2(4, mid), 15), and2(right2(2, high), 0x30)))
			}
			s.scales(16, s.scr, scrBytes, 1728, true)
		},
		weights: func(s *superState2, half, g int) reg.VecVirtual {
			y := twoBits2(s.at(512+g/32*512+g%8*64, half), g/8%4)
			VPADDB(bytes2(28), y, y)
			return bit2(y, s.at(g%8*64, half), g/8, 4)
		}},
	{typ: "IQ4_XS", size: 2176, width: 32, run: 1, signed: true, head: scalesIQ4XS2,
		weights: func(s *superState2, half, g int) reg.VecVirtual {
			return lookup2("iq4", iq4Values, nibble2(s.at(128+g/8*256+g%4*64, half), g%8 >= 4))
		}},
}

func scalesIQ4XS2(s *superState2) {
	for half := range 2 {
		d, high := YMM(), YMM()
		VCVTPH2PS(mem(s.p, 16*half), d)
		VPMOVZXWD(mem(s.p, 96+16*half), high)
		for j := range 8 {
			y, h := YMM(), YMM()
			VPMOVZXWD(mem(s.p, 32+j/4*32+16*half), y)
			VPSRLD(U8(j%4*4), y, y)
			VPAND(word2(15), y, y)
			if j < 2 {
				VPSLLD(U8(4-2*j), high, h)
			} else {
				VPSRLD(U8(2*j-4), high, h)
			}
			VPAND(word2(0x30), h, h)
			VPOR(h, y, y)
			VPSUBD(word2(32), y, y)
			s.scale(j, half, y, d)
		}
	}
}

func (d super2) pass(p *pass2) {
	s := &superState2{p: p.w, scr: GP64()}
	LEAQ(scratch2(p), s.scr)
	ADDQ(U8(63), s.scr)
	ANDQ(I8(-64), s.scr)
	acc := p.sums()
	clear2(acc...)
	p.store(acc) // the sums over the super-blocks stay in memory
	dots, wide, sums := p.sums(), p.sums(), p.sums()

	p.label("super")
	if p.k == 1 {
		for l := range (d.size + 63) / 64 {
			PREFETCHT0(mem(s.p, prefetch+64*l))
		}
	}
	d.head(s)
	d.minimums(p, s, sums)
	act := func(t, g int) Mem { return mem(p.act[t], recKQ+4*g) }
	init := func(t, g int) Mem { return mem(p.act[t], recKInit+4*(4*g/d.width)) }
	if d.signed || d.mins != 0 {
		init = nil
	}
	per := d.width / 4
	for j := range 256 / d.width {
		result := p.dots2(dots, wide, span(j*per, per), d.run, d.signed, func(half, g int) reg.VecVirtual { return d.weights(s, half, g) }, act, init)
		p.each(func(h, half, t int) {
			dot := p.of(result, h, t)
			VCVTDQ2PS(dot, dot)
			VFMADD231PS(mem(s.scr, scrScale+64*j+32*half), dot, p.of(sums, h, t))
		})
	}
	c, dst := GP64(), GP64()
	Load(Param("c"), c)
	for t, a := range p.act {
		f := YMM()
		MOVQ(mem(c, callDst+8*t), dst)
		VBROADCASTSS(mem(a, 0), f)
		for h, half := range p.halves {
			x := p.of(sums, h, t)
			VFMADD213PS(mem(dst, 32*half), f, x)
			VMOVUPS(x, mem(dst, 32*half))
		}
		ADDQ(U32(recKBytes), a)
	}
	ADDQ(U32(d.size), s.p)
	DECQ(p.n)
	JNZ(p.ref("super"))
}

// scratch2 returns the function's scratch memory, shared by its passes.
func scratch2(p *pass2) Mem {
	if p.suffix == "0" {
		scratchOfFunction = AllocLocal(scrSize + 64)
	}
	return scratchOfFunction
}

var scratchOfFunction Mem

// minimums initialises the sums with the amounts that the minimums subtract.
func (d super2) minimums(p *pass2, s *superState2, sums []reg.VecVirtual) {
	clear2(sums...)
	if d.mins == 0 {
		return
	}
	for i := range 128 / d.width {
		for h, half := range p.halves {
			m := YMM() // pairs of words
			VPMOVZXBW(mem(s.scr, d.minsAt+32*i+16*half), m)
			for t, a := range p.act {
				x := YMM()
				VPBROADCASTD(mem(a, d.mins+4*i), x)
				VPMADDWD(x, m, x)
				VPADDD(x, p.of(sums, h, t), p.of(sums, h, t))
			}
		}
	}
	for h, half := range p.halves {
		f := YMM()
		VCVTPH2PS(mem(s.p, d.dmin+16*half), f)
		VXORPS(word2(1<<31), f, f)
		for t := range p.k {
			x := p.of(sums, h, t)
			VCVTDQ2PS(x, x)
			VMULPS(x, f, x)
		}
	}
}
