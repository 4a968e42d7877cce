package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

// The kernels for AVX2 read the panels as two halves of eight rows. With 16 registers there is room
// for four sums: one or two tokens with both halves, or four tokens with one half after the other.
// Constants stay in memory.
//
// VPMADDUBSW adds two products in 16 bits with saturation, but the limit is never reached. With
// weights below 64 the sums of several columns fit (see run). For wider weights, the magnitude is
// used and their sign is moved to the activation, so that two products are at most 2·128·127.

// avx2 builds the kernels for AVX2 with FMA and F16C.
func avx2() []kernel {
	var ks []kernel
	add := func(typ string, pass func(p *pass2)) {
		for _, k := range []int{1, 2, 4} {
			name := fmt.Sprintf("avx2%sx%d", strings.ReplaceAll(typ, "_", ""), k)
			TEXT(name, 0, "func(c *byte)")
			Pragma("noescape")
			for i, halves := range map[int][][]int{1: {{0, 1}}, 2: {{0, 1}}, 4: {{0}, {1}}}[k] {
				pass(newPass2(k, halves, fmt.Sprint(i)))
			}
			VZEROUPPER()
			RET()
			ks = append(ks, kernel{typ, k, name})
		}
	}
	for _, b := range blocks2 {
		add(b.typ, b.pass)
	}
	for _, s := range supers2 {
		add(s.typ, s.pass)
	}
	for _, p := range plains2 {
		add(p.typ, p.pass)
	}
	packing2()
	rounding2()
	return ks
}

// pass2 is one pass over a panel for k tokens and one or both halves.
type pass2 struct {
	k      int
	halves []int
	suffix string // of the labels
	w, n   reg.GPVirtual
	act    []reg.GPVirtual
}

func newPass2(k int, halves []int, suffix string) *pass2 {
	c := GP64()
	Load(Param("c"), c)
	p := &pass2{k: k, halves: halves, suffix: suffix, w: GP64(), n: GP64()}
	MOVQ(mem(c, callW), p.w)
	MOVQ(mem(c, callN), p.n)
	for i := range k {
		a := GP64()
		MOVQ(mem(c, callAct+8*i), a)
		p.act = append(p.act, a)
	}
	return p
}

func (p *pass2) label(name string) { Label(name + p.suffix) }

func (p *pass2) ref(name string) LabelRef { return LabelRef(name + p.suffix) }

// sums returns registers for each half and token.
func (p *pass2) sums() []reg.VecVirtual {
	var v []reg.VecVirtual
	for range p.k * len(p.halves) {
		v = append(v, YMM())
	}
	return v
}

// of returns the register with the sum for the half at index h and token t.
func (p *pass2) of(v []reg.VecVirtual, h, t int) reg.VecVirtual { return v[h*p.k+t] }

// each calls f for every half and token; half is the number of the half and h its index.
func (p *pass2) each(f func(h, half, t int)) {
	for h, half := range p.halves {
		for t := range p.k {
			f(h, half, t)
		}
	}
}

// store writes the sums to the destination.
func (p *pass2) store(v []reg.VecVirtual) {
	c, d := GP64(), GP64()
	Load(Param("c"), c)
	for t := range p.k {
		MOVQ(mem(c, callDst+8*t), d)
		for h, half := range p.halves {
			VMOVUPS(p.of(v, h, t), mem(d, 32*half))
		}
	}
}

func clear2(v ...reg.VecVirtual) {
	for _, y := range v {
		i, err := x86.VPXOR(y, y, y)
		if err != nil {
			log.Fatal(err)
		}
		i.CancellingInputs = true
		Instruction(i)
	}
}

// table2 returns a constant of 32 bytes.
func table2(name string, value func(i int) uint8) Mem {
	if m, ok := tables[name]; ok {
		return m
	}
	m := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i := range 32 {
		DATA(i, U8(value(i)))
	}
	tables[name] = m
	return m
}

// bytes2 returns a constant of 32 equal bytes.
func bytes2(b uint8) Mem {
	return table2(fmt.Sprintf("bytes%d", b), func(int) uint8 { return b })
}

// ones2 returns 16 ones of 16 bits: VPMADDWD with them adds neighbours.
func ones2() Mem { return table2("ones16", func(i int) uint8 { return uint8(1 - i%2) }) }

// word2 returns 8 equal numbers of 32 bits.
func word2(x uint32) Mem {
	return table2(fmt.Sprintf("word%x", x), func(i int) uint8 { return uint8(x >> (i % 4 * 8)) })
}

func load2(m Mem) reg.VecVirtual {
	y := YMM()
	VMOVDQU(m, y)
	return y
}

// nibble2 returns the lower or upper halves of the bytes at m.
func nibble2(m Mem, high bool) reg.VecVirtual {
	y := load2(m)
	if high {
		VPSRLW(U8(4), y, y)
	}
	VPAND(bytes2(15), y, y)
	return y
}

// lookup2 looks nibbles up in a table of signed values, which are the given values minus 128.
func lookup2(name string, values [16]uint8, y reg.VecVirtual) reg.VecVirtual {
	z := YMM()
	VMOVDQU(table2(name+"signed", func(i int) uint8 { return values[i%16] - 128 }), z)
	VPSHUFB(y, z, z)
	return z
}

// dots2 multiplies groups of four columns and adds the products. The function weights loads group g
// of a half, and act loads group g of a token. The parameter run is the number of groups whose sum
// fits 16 bits; signed weights are split into magnitude and sign. init, if not nil, is the start
// value of the sums. The result is in the set of registers that dots2 returns, dots or wide, as
// 32-bit numbers.
func (p *pass2) dots2(dots, wide []reg.VecVirtual, groups []int, run int, signed bool,
	weights func(half, g int) reg.VecVirtual, act, init func(t, g int) Mem) []reg.VecVirtual {
	for i, g := range groups {
		for h, half := range p.halves {
			w := weights(half, g)
			for t := range p.k {
				d, a := p.of(dots, h, t), YMM()
				VPBROADCASTD(act(t, g), a)
				m := w
				if signed {
					m = YMM()
					VPSIGNB(w, a, a)
					VPABSB(w, m)
				}
				if i%run == 0 {
					VPMADDUBSW(a, m, d)
				} else {
					VPMADDUBSW(a, m, a)
					VPADDW(a, d, d)
				}
			}
		}
		if (i+1)%run != 0 && i+1 != len(groups) {
			continue
		}
		for j, d := range dots {
			VPMADDWD(ones2(), d, d)
			switch {
			case len(groups) <= run: // a single run: dots hold the sum
			case i < run:
				VMOVDQA(d, wide[j])
			default:
				VPADDD(d, wide[j], wide[j])
			}
		}
	}
	if len(groups) > run {
		dots = wide
	}
	if init == nil {
		return dots
	}
	p.each(func(h, _, t int) {
		a := YMM()
		VPBROADCASTD(init(t, groups[0]), a)
		VPADDD(a, p.of(dots, h, t), p.of(dots, h, t))
	})
	return dots
}

func span(lo, n int) []int {
	var s []int
	for i := range n {
		s = append(s, lo+i)
	}
	return s
}
