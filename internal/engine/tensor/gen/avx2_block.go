package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// block2 describes a type with blocks of 32.
type block2 struct {
	typ       string
	hdr, body int  // sizes in bytes of the header and of the values over 16 rows
	run       int  // number of groups whose products fit 16 bits
	signed    bool // the weights are signed, so there is no init
	sums      bool // a minimum is added, and there is no init
	high      int  // offset of the high bits in the header, if any
	power     bool // the scale is a power of two
	weights   func(b *blockState2, half, g int) reg.VecVirtual
}

type blockState2 struct{ h, q reg.GPVirtual }

func (b *blockState2) nibbles(half, g int) reg.VecVirtual {
	return nibble2(mem(b.q, 64*(g%4)+32*half), g >= 4)
}

// fiveBits2 adds fifth bits, which begin at the given offset in the header.
func fiveBits2(at int) func(*blockState2, int, int) reg.VecVirtual {
	return func(b *blockState2, half, g int) reg.VecVirtual {
		y, f := b.nibbles(half, g), YMM()
		VMOVDQU(mem(b.h, at+32*half), f)
		VPSHUFB(table2(fmt.Sprintf("spreads%d", g/2), func(i int) uint8 { return uint8(i%16&^3 + g/2) }), f, f)
		bits := table2(fmt.Sprintf("bits%d", g%2), func(i int) uint8 { return 1 << (i%4 + g%2*4) })
		VPAND(bits, f, f)
		VPCMPEQB(bits, f, f)
		VPAND(bytes2(16), f, f)
		VPOR(f, y, y)
		return y
	}
}

var blocks2 = []block2{
	{typ: "Q8_0", hdr: 32, body: 512, run: 1, signed: true, weights: func(b *blockState2, half, g int) reg.VecVirtual {
		y := load2(mem(b.q, 64*g+32*half))
		VPXOR(bytes2(128), y, y)
		return y
	}},
	{typ: "Q4_0", hdr: 32, body: 256, run: 8, weights: (*blockState2).nibbles},
	{typ: "Q4_1", hdr: 64, body: 256, run: 8, sums: true, weights: (*blockState2).nibbles},
	{typ: "Q5_0", hdr: 96, body: 256, run: 4, weights: fiveBits2(32)},
	{typ: "Q5_1", hdr: 128, body: 256, run: 4, sums: true, weights: fiveBits2(64)},
	{typ: "IQ4_NL", hdr: 32, body: 256, run: 1, signed: true, weights: func(b *blockState2, half, g int) reg.VecVirtual {
		return lookup2("iq4", iq4Values, b.nibbles(half, g))
	}},
	{typ: "MXFP4", hdr: 16, body: 256, run: 8, signed: true, power: true, weights: func(b *blockState2, half, g int) reg.VecVirtual {
		return lookup2("mxfp4", mxfp4Values, b.nibbles(half, g))
	}},
}

func (d block2) pass(p *pass2) {
	b := &blockState2{h: GP64(), q: GP64()}
	acc, dots, wide := p.sums(), p.sums(), p.sums()
	clear2(acc...)
	nb, i := GP64(), GP64()
	MOVQ(p.w, b.q)

	p.label("chunk")
	MOVQ(U32(8), nb)
	CMPQ(p.n, nb)
	CMOVQLT(p.n, nb)
	SUBQ(nb, p.n)
	MOVQ(b.q, b.h)
	IMUL3Q(U32(d.hdr), nb, i)
	ADDQ(i, b.q)
	SHLQ(U8(2), nb)
	XORQ(i, i)

	p.label("block")
	if p.k == 1 {
		for l := range (d.hdr + d.body + 63) / 64 {
			PREFETCHT0(mem(b.q, prefetch+64*l))
		}
	}
	act := func(t, g int) Mem { return indexed(p.act[t], i, 8, recQ+4*g) }
	init := func(t, _ int) Mem { return indexed(p.act[t], i, 1, recInit) }
	if d.signed || d.sums {
		init = nil
	}
	result := p.dots2(dots, wide, span(0, 8), d.run, d.signed, func(half, g int) reg.VecVirtual { return d.weights(b, half, g) }, act, init)
	p.each(func(h, half, t int) {
		scale := YMM()
		VBROADCASTSS(indexed(p.act[t], i, 1, recD), scale)
		w := YMM()
		d.scale(b, half, w)
		VMULPS(w, scale, scale)
		dot, sum := p.of(result, h, t), p.of(acc, h, t)
		VCVTDQ2PS(dot, dot)
		VFMADD231PS(scale, dot, sum)
		if d.sums {
			VBROADCASTSS(indexed(p.act[t], i, 1, recInit), scale)
			VCVTPH2PS(mem(b.h, 32+16*half), w)
			VFMADD231PS(scale, w, sum)
		}
	})
	ADDQ(U32(d.hdr), b.h)
	ADDQ(U32(d.body), b.q)
	ADDQ(U8(4), i)
	CMPQ(i, nb)
	JLT(p.ref("block"))
	for _, a := range p.act {
		ADDQ(U32(recBytes), a)
	}
	TESTQ(p.n, p.n)
	JNZ(p.ref("chunk"))
	p.store(acc)
}

// scale reads the scales of a half.
func (d block2) scale(b *blockState2, half int, y reg.VecVirtual) {
	if !d.power {
		VCVTPH2PS(mem(b.h, 16*half), y)
		return
	}
	VPMOVZXBD(mem(b.h, 8*half), y)
	VPSUBD(word2(1), y, y)
	VPMAXSD(word2(0), y, y)
	VPSLLD(U8(23), y, y)
}
