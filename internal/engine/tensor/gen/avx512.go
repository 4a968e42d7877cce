package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetch is the number of bytes by which weights are prefetched ahead of their use.
const prefetch = 4096

// avx512 builds the kernels for AVX-512 with VNNI.
func avx512() []kernel {
	var ks []kernel
	add := func(typ string, build func(name string, k int)) {
		for k := 1; k <= 8; k++ {
			name := fmt.Sprintf("avx512%sx%d", strings.ReplaceAll(typ, "_", ""), k)
			build(name, k)
			ks = append(ks, kernel{typ, k, name})
		}
	}
	pair := func(typ string, build func(name string)) {
		name := fmt.Sprintf("avx512%spair", strings.ReplaceAll(typ, "_", ""))
		build(name)
		ks = append(ks, kernel{typ, pairTile, name})
	}
	for _, b := range blocks512 {
		add(b.typ, b.build)
		pair(b.typ, b.buildPair)
	}
	made := map[string]bool{}
	for _, s := range supers512 {
		add(s.typ, s.build)
		pair(s.typ, s.buildPair)
		if !made[s.wideName()] {
			s.buildWide()
			made[s.wideName()] = true
		}
		ks = append(ks, kernel{s.typ, wideTile, s.wideName()}, kernel{s.typ, unpackTile, s.buildUnpack(s.typ)})
	}
	for _, f := range plains512 {
		add(f.typ, f.build)
	}
	rounding512()
	packing512()
	return ks
}

// bytes512 returns a vector of 64 equal bytes.
func bytes512(b uint8) reg.VecVirtual {
	g, z := GP32(), ZMM()
	MOVL(U32(uint32(b)*0x01010101), g)
	VPBROADCASTD(g, z)
	return z
}

// tables holds the constant tables created so far.
var tables = map[string]Mem{}

// table returns a constant of 16 bytes.
func table(name string, value func(i int) uint8) Mem {
	if m, ok := tables[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 16 {
		DATA(i, U8(value(i)))
	}
	tables[name] = m
	return m
}

// table512 returns a vector with the 16 bytes of a look-up table in each of its four lanes.
func table512(name string, values [16]uint8) reg.VecVirtual {
	z := ZMM()
	VBROADCASTI32X4(table(name, func(i int) uint8 { return values[i] }), z)
	return z
}

// Offsets in the activations' records; see form.go.
const (
	recD      = 0
	recInit   = 32
	recQ      = 64
	recBytes  = 320
	recKSum32 = 16
	recKSum16 = 32
	recKInit  = 64
	recKQ     = 128
	recKBytes = 384
)

// block512 describes a type with blocks of 32.
type block512 struct {
	typ       string
	hdr, body int                                       // sizes in bytes of the header and of the values over 16 rows
	sums      bool                                      // a minimum is added, and there is no init
	consts    func(b *blockState)                       // loads constants
	head      func(b *blockState)                       // reads the header: sets scale and minimum
	weights   func(b *blockState, g int) reg.VecVirtual // columns 4g to 4g+3
}

type blockState struct {
	h, q           reg.GPVirtual // header and values of the block
	gap            reg.Register  // distance of this panel from the panel to which h and q point; nil: none
	c              []reg.VecVirtual
	high, bit      reg.VecVirtual // fifth bits, and the bit masks of two groups spread over bytes
	one            reg.VecVirtual
	scale, minimum reg.VecVirtual
}

func halfScale(b *blockState) {
	b.scale = ZMM()
	VCVTPH2PS(b.header(0), b.scale)
}

func halfScaleMin(b *blockState) {
	halfScale(b)
	b.minimum = ZMM()
	VCVTPH2PS(b.header(32), b.minimum)
}

// nibbles reads the low halves of the bytes for the first 16 columns and the high halves for the
// others. c[0] must be a vector of 15s.
func nibbles(b *blockState, g int) reg.VecVirtual {
	z := ZMM()
	if g < 4 {
		VPANDD(b.body(64*g), b.c[0], z)
		return z
	}
	VPSRLW(U8(4), b.load(b.body(64*(g-4))), z)
	VPANDD(z, b.c[0], z)
	return z
}

// header returns the address of the header of the panel's block. Its counterpart body returns that
// of the values.
func (b *blockState) header(disp int) Mem { return b.address(b.h, disp) }
func (b *blockState) body(disp int) Mem   { return b.address(b.q, disp) }

func (b *blockState) address(base reg.Register, disp int) Mem {
	m := mem(base, disp)
	if b.gap != nil {
		m.Index, m.Scale = b.gap, 1
	}
	return m
}

func (b *blockState) load(m Mem) reg.VecVirtual {
	z := ZMM()
	VMOVDQU32(m, z)
	return z
}

func memLoad(base reg.Register, disp int) reg.VecVirtual {
	z := ZMM()
	VMOVDQU32(mem(base, disp), z)
	return z
}

// looked reads nibbles and looks them up in the table c[1].
func looked(b *blockState, g int) reg.VecVirtual {
	z := nibbles(b, g)
	VPSHUFB(z, b.c[1], z)
	return z
}

// Look-up tables of the 4-bit types, with 128 added to the values.
var (
	iq4Values   = [16]uint8{1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241}
	mxfp4Values = [16]uint8{128, 129, 130, 131, 132, 134, 136, 140, 128, 127, 126, 125, 124, 122, 120, 116}
)

func lookup(name string, values [16]uint8) func(*blockState) {
	return func(b *blockState) {
		mask15(b)
		b.c = append(b.c, table512(name, values))
	}
}

// powerScale converts an exponent x to 2^(x-128), half of the power of two that x denotes; results
// that would be subnormal become 0.
func powerScale(b *blockState) {
	x := XMM()
	VMOVDQU8(b.header(0), x)
	VPSUBUSB(b.one, x, x)
	b.scale = ZMM()
	VPMOVZXBD(x, b.scale)
	VPSLLD(U8(23), b.scale, b.scale)
}

// fifths loads the constants for fiveBits: 15s, 16s, and for even and odd groups the bits of their
// four columns.
func fifths(b *blockState) {
	b.c = append(b.c, bytes512(15), bytes512(16))
	for _, bits := range []uint32{0x08040201, 0x80402010} {
		g, z := GP32(), ZMM()
		MOVL(U32(bits), g)
		VPBROADCASTD(g, z)
		b.c = append(b.c, z)
	}
}

// fiveBits reads nibbles and adds the fifth bit: bit 4g+i of the row's word of high bits belongs to
// column 4g+i.
func fiveBits(b *blockState, g int) reg.VecVirtual {
	z, k := nibbles(b, g), K()
	if g%2 == 0 {
		b.bit = ZMM()
		VBROADCASTI32X4(spread[g/2], b.bit)
		VPSHUFB(b.bit, b.high, b.bit)
	}
	VPTESTMB(b.bit, b.c[2+g%2], k)
	VPADDB(z, b.c[1], k, z)
	return z
}

// spread holds the shuffles that copy byte i of every 32-bit lane over the whole lane.
var spread = func() (m [4]Mem) {
	for i := range m {
		m[i] = table(fmt.Sprintf("spread%d", i), func(j int) uint8 { return uint8(j&^3 + i) })
	}
	return m
}()

func mask15(b *blockState) { b.c = append(b.c, bytes512(15)) }

var blocks512 = []block512{
	{typ: "Q8_0", hdr: 32, body: 512, head: halfScale, weights: func(b *blockState, g int) reg.VecVirtual {
		return b.load(b.body(64 * g))
	}},
	{typ: "Q4_0", hdr: 32, body: 256, consts: mask15, head: halfScale, weights: nibbles},
	{typ: "Q4_1", hdr: 64, body: 256, sums: true, consts: mask15, head: halfScaleMin, weights: nibbles},
	{typ: "Q5_0", hdr: 96, body: 256, consts: fifths, head: func(b *blockState) {
		halfScale(b)
		b.high = b.load(b.header(32))
	}, weights: fiveBits},
	{typ: "Q5_1", hdr: 128, body: 256, sums: true, consts: fifths, head: func(b *blockState) {
		halfScaleMin(b)
		b.high = b.load(b.header(64))
	}, weights: fiveBits},
	{typ: "IQ4_NL", hdr: 32, body: 256, consts: lookup("iq4", iq4Values), head: halfScale, weights: looked},
	{typ: "MXFP4", hdr: 16, body: 256, consts: func(b *blockState) {
		lookup("mxfp4", mxfp4Values)(b)
		b.one = XMM()
		VPSRLW(U8(3), b.c[0].AsX(), b.one) // 15s become 1s: the low bits of the bytes are shifted out or into the top of the next byte
		VPANDD(b.one, b.c[0].AsX(), b.one)
	}, head: powerScale, weights: looked},
}

func (d block512) build(name string, k int) {
	t := begin(name, k)
	b := &blockState{h: GP64(), q: GP64()}
	if d.consts != nil {
		d.consts(b)
	}
	nb, i := GP64(), GP64()
	MOVQ(t.w, b.q)

	Label("chunk")
	MOVQ(U32(8), nb)
	CMPQ(t.n, nb)
	CMOVQLT(t.n, nb)
	SUBQ(nb, t.n)
	MOVQ(b.q, b.h) // headers first, then the values
	IMUL3Q(U32(d.hdr), nb, i)
	ADDQ(i, b.q)
	if t.k <= 8 {
		for i := range d.hdr / 8 {
			PREFETCHT0(b.header(prefetch + 64*i))
		}
	}
	SHLQ(U8(2), nb)
	XORQ(i, i) // 4 × the number of the block

	Label("block")
	d.block(t, b, i)
	ADDQ(U32(d.hdr), b.h)
	ADDQ(U32(d.body), b.q)
	ADDQ(U8(4), i)
	CMPQ(i, nb)
	JLT(LabelRef("block"))
	for _, a := range t.act {
		ADDQ(U32(recBytes), a)
	}
	TESTQ(t.n, t.n)
	JNZ(LabelRef("chunk"))
	t.end()
}

// block adds one block of 32 to the sums.
func (d block512) block(t *tile, b *blockState, i reg.GPVirtual) {
	d.head(b)
	dots := t.dots
	if d.sums {
		clear512(dots)
	} else {
		for j, a := range t.act {
			VPBROADCASTD(indexed(a, i, 1, recInit), dots[j])
		}
	}
	for g := range 8 {
		if g*64 < d.body {
			PREFETCHT0(b.body(prefetch + 64*g))
		}
		w := d.weights(b, g)
		for j, a := range t.act {
			VPDPBUSD_BCST(indexed(a, i, 8, recQ+4*g), w, dots[j])
		}
	}
	for j, a := range t.act {
		s := ZMM()
		VMULPS_BCST(indexed(a, i, 1, recD), b.scale, s)
		VCVTDQ2PS(dots[j], dots[j])
		VFMADD231PS(s, dots[j], t.acc[j])
		if d.sums {
			VFMADD231PS_BCST(indexed(a, i, 1, recInit), b.minimum, t.acc[j])
		}
	}
}
