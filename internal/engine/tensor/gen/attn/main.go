// Command attn writes the kernels for attention, vectors and training in package tensor for x86-64.
// Run it with go generate in the package's directory.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	c := constants()
	for _, rows := range []int{8, 4, 2, 1} {
		tileMul("F16", rows)
		tileMul("F32", rows)
		tileMul("I8", rows)
	}
	for _, rows := range []int{2, 1} {
		tileMul2("F16", rows)
		tileMul2("F32", rows)
		tileMul2("I8", rows)
	}
	for _, rows := range []int{4, 1} {
		scoresQ8(rows)
	}
	scoresQ8two()
	softTop(c)
	softFix(c)
	softWeights(c)
	scaleRows()
	prefetch()
	for _, s := range []set{wide, narrow} {
		vectors(c, s)
		train(c, s)
	}
	Generate()
}

// elements maps element types of tiles to Go types.
var elements = map[string]string{"F16": "uint16", "F32": "float32", "I8": "int8"}

// ahead is the number of bytes by which keys and values are prefetched ahead of their use.
const ahead = 2048

// arg loads a parameter into a general register.
func arg(name string) reg.GPVirtual {
	g := GP64()
	Load(Param(name), g)
	return g
}

// consts are the numbers that the kernels load.
type consts struct {
	at    Mem
	index map[string]int
	bits  map[string]uint32
}

// constants writes the table of numbers; the numbers of exp are explained in vec_exp.go.
func constants() *consts {
	c := &consts{at: GLOBL("attnConsts", 8|16), index: map[string]int{}, bits: map[string]uint32{"bias": 127}}
	for i, e := range []struct {
		name string
		v    float32
	}{
		{"one", 1}, {"log2e", 1.44269504}, {"ln2Hi", 0.693359375}, {"ln2Lo", -2.12194440e-4},
		{"c2", 0.5}, {"c3", 1.6666665459e-1}, {"c4", 4.1665795894e-2}, {"c5", 8.3334519073e-3},
		{"c6", 1.3981999507e-3}, {"c7", 1.9875691500e-4}, {"low", -87.33654}, {"high", 88.8},
		{"-inf", float32(math.Inf(-1))}, {"zero", 0},
	} {
		c.index[e.name], c.bits[e.name] = i*4, math.Float32bits(e.v)
		DATA(i*4, U32(c.bits[e.name]))
	}
	c.index["iota"] = 64
	for i := range 32 {
		DATA(64+i*4, U32(uint32(i)))
	}
	c.whole(192)
	return c
}

// whole appends the numbers of exp, repeated for all lanes of a narrow vector, starting at an
// offset: the narrow instructions cannot broadcast them.
func (c *consts) whole(at int) {
	for _, name := range []string{"log2e", "ln2Hi", "ln2Lo", "c2", "c3", "c4", "c5", "c6", "c7", "low", "high", "bias"} {
		c.index["8 "+name] = at
		for range 8 {
			DATA(at, U32(c.bits[name]))
			at += 4
		}
	}
}

func (c *consts) mem(name string) Mem            { return c.at.Offset(c.index[name]) }
func (c *consts) get(name string) reg.VecVirtual { return wide.spread(c.mem(name)) }

func maxOp(a, b, c Op) { VMAXPS(a, b, c) }
func addOp(a, b, c Op) { VADDPS(a, b, c) }

// at returns an operand for memory relative to base.
func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// rows addresses the rows of a matrix; the stride and its multiples 3, 5 and 7 are in registers s.
type rows struct {
	base reg.Register
	s    [4]reg.GPVirtual // 1, 3, 5, 7 strides
}

func newRows(base, stride reg.GPVirtual, n int) rows {
	r := rows{base: base}
	r.s[0] = stride
	for i, k := range []int{3, 5, 7} {
		if n > k {
			r.s[i+1] = GP64()
			IMUL3Q(Imm(uint64(k)), stride, r.s[i+1])
		}
	}
	return r
}

func (r rows) mem(i, disp int) Mem {
	switch i {
	case 0:
		return at(r.base, disp)
	case 6:
		return Mem{Base: r.base, Index: r.s[1], Scale: 2, Disp: disp}
	case 3, 5, 7:
		return Mem{Base: r.base, Index: r.s[i/2], Scale: 1, Disp: disp}
	}
	return Mem{Base: r.base, Index: r.s[0], Scale: uint8(i), Disp: disp}
}

// tileMul computes, for n rows of a, 32 columns of a·b added to fix·dst, or to zero if fix is nil.
// Strides are in bytes. Each lane is one chain of multiply-adds in the order of k, so that the bits
// do not depend on the number of rows.
func tileMul(typ string, n int) {
	TEXT(fmt.Sprintf("tileMul%sx%d", typ, n), NOSPLIT, fmt.Sprintf("func(dst *float32, ds int, a *float32, as int, b *%s, bs, n int, fix *float32)", elements[typ]))
	Pragma("noescape")
	dst, a, b, bs, count, fix := arg("dst"), arg("a"), arg("b"), arg("bs"), arg("n"), arg("fix")
	out := newRows(dst, arg("ds"), n)
	acc := make([][2]reg.VecVirtual, n)
	for r := range acc {
		acc[r] = [2]reg.VecVirtual{ZMM(), ZMM()}
	}
	TESTQ(fix, fix)
	JZ(LabelRef("fresh"))
	for r := range acc {
		f := wide.spread(at(fix, 4*r))
		VMULPS(out.mem(r, 0), f, acc[r][0])
		VMULPS(out.mem(r, 64), f, acc[r][1])
	}
	JMP(LabelRef("start"))
	Label("fresh")
	for r := range acc {
		VPXORD(acc[r][0], acc[r][0], acc[r][0])
		VPXORD(acc[r][1], acc[r][1], acc[r][1])
	}
	Label("start")
	in := newRows(a, arg("as"), n)
	TESTQ(count, count)
	JZ(LabelRef("done"))
	Label("loop")
	x, y := ZMM(), ZMM()
	PREFETCHT0(at(b, ahead))
	switch typ {
	case "F16":
		VCVTPH2PS(at(b, 0), x)
		VCVTPH2PS(at(b, 32), y)
	case "F32":
		VMOVUPS(at(b, 0), x)
		VMOVUPS(at(b, 64), y)
	default:
		VPMOVSXBD(at(b, 0), x)
		VPMOVSXBD(at(b, 16), y)
		VCVTDQ2PS(x, x)
		VCVTDQ2PS(y, y)
	}
	for r := range acc {
		f := wide.spread(in.mem(r, 0))
		VFMADD231PS(x, f, acc[r][0])
		VFMADD231PS(y, f, acc[r][1])
	}
	ADDQ(bs, b)
	ADDQ(Imm(4), a)
	DECQ(count)
	JNZ(LabelRef("loop"))
	Label("done")
	// The strides of the output are needed again. Recomputing them saves registers in the loop.
	dst2 := arg("dst")
	out2 := newRows(dst2, arg("ds"), n)
	for r := range acc {
		VMOVUPS(acc[r][0], out2.mem(r, 0))
		VMOVUPS(acc[r][1], out2.mem(r, 64))
	}
	VZEROUPPER()
	RET()
}

// scoresQ8 multiplies n rounded queries by the quantised keys of 32 positions: exact integer sums
// in blocks of 32 dimensions, then the blocks in order.
func scoresQ8(n int) {
	TEXT(fmt.Sprintf("scoresQ8x%d", n), NOSPLIT, "func(dst *float32, q *int8, qs *float32, sums *int32, keys *byte, ks *uint16, blocks int)")
	Pragma("noescape")
	q, qs, sums, keys, ks, blocks := arg("q"), arg("qs"), arg("sums"), arg("keys"), arg("ks"), arg("blocks")
	row, each := GP64(), GP64()
	MOVQ(blocks, row)
	SHLQ(Imm(5), row) // bytes of a row of q
	MOVQ(blocks, each)
	SHLQ(Imm(2), each) // bytes of a row of qs and sums
	qr, sr, tr := newRows(q, row, n), newRows(qs, each, n), rows{base: sums}
	tr.s = sr.s
	acc := make([][2]reg.VecVirtual, n)
	for r := range acc {
		acc[r] = [2]reg.VecVirtual{wide.zero(), wide.zero()}
	}
	Label("block")
	dot := make([][2]reg.VecVirtual, n)
	for r := range dot {
		dot[r] = [2]reg.VecVirtual{ZMM(), ZMM()}
		VPBROADCASTD(tr.mem(r, 0), dot[r][0])
		VMOVDQA32(dot[r][0], dot[r][1])
	}
	for d := range 8 {
		x, y := ZMM(), ZMM()
		PREFETCHT0(at(keys, ahead+d*128))
		PREFETCHT0(at(keys, ahead+d*128+64))
		VMOVDQU32(at(keys, d*128), x)
		VMOVDQU32(at(keys, d*128+64), y)
		for r := range dot {
			f := ZMM()
			VPBROADCASTD(qr.mem(r, d*4), f)
			VPDPBUSD(f, x, dot[r][0])
			VPDPBUSD(f, y, dot[r][1])
		}
	}
	s, t := ZMM(), ZMM()
	VCVTPH2PS(at(ks, 0), s)
	VCVTPH2PS(at(ks, 32), t)
	for r := range dot {
		f, u, v := wide.spread(sr.mem(r, 0)), ZMM(), ZMM()
		VMULPS(s, f, u)
		VMULPS(t, f, v)
		VCVTDQ2PS(dot[r][0], dot[r][0])
		VCVTDQ2PS(dot[r][1], dot[r][1])
		VFMADD231PS(dot[r][0], u, acc[r][0])
		VFMADD231PS(dot[r][1], v, acc[r][1])
	}
	ADDQ(Imm(32), q)
	ADDQ(Imm(4), qs)
	ADDQ(Imm(4), sums)
	ADDQ(U32(1024), keys)
	ADDQ(Imm(64), ks)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	dst := arg("dst")
	for r := range acc {
		VMOVUPS(acc[r][0], at(dst, r*128))
		VMOVUPS(acc[r][1], at(dst, r*128+64))
	}
	VZEROUPPER()
	RET()
}

// visible returns the masks of the lanes [lo, hi) of two vectors.
func visible(c *consts, lo, hi Mem) (reg.OpmaskVirtual, reg.OpmaskVirtual) {
	l, h := ZMM(), ZMM()
	VPBROADCASTD(lo, l)
	VPBROADCASTD(hi, h)
	var ks [2]reg.OpmaskVirtual
	for i := range ks {
		n := ZMM()
		VMOVDQU32(c.at.Offset(c.index["iota"]+64*i), n)
		below, from := K(), K()
		VPCMPGTD(n, h, below) // hi > lane
		VPCMPGTD(n, l, from)  // lo > lane
		KANDNW(below, from, below)
		ks[i] = below
	}
	return ks[0], ks[1]
}

// softTop scales the scores of rows, raises their running maximum and stores the old one in fix.
func softTop(c *consts) {
	TEXT("softTop", NOSPLIT, "func(scores *float32, rows int, top, fix *float32, lo, hi *int32, scale float32)")
	Pragma("noescape")
	s, n, top, fix, lo, hi := arg("scores"), arg("rows"), arg("top"), arg("fix"), arg("lo"), arg("hi")
	mult := ZMM()
	VBROADCASTSS(NewParamAddr("scale", 48), mult)
	low := c.get("-inf")
	Label("row")
	k0, k1 := visible(c, at(lo, 0), at(hi, 0))
	x, y := ZMM(), ZMM()
	VMULPS(at(s, 0), mult, x)
	VMULPS(at(s, 64), mult, y)
	VBLENDMPS(x, low, k0, x)
	VBLENDMPS(y, low, k1, y)
	VMOVUPS(x, at(s, 0))
	VMOVUPS(y, at(s, 64))
	VMAXPS(x, y, x)
	m := wide.reduce(x, maxOp)
	old := XMM()
	VMOVSS(at(top, 0), old)
	VMOVSS(old, at(fix, 0))
	VMAXSS(m, old, old)
	VMOVSS(old, at(top, 0))
	ADDQ(Imm(128), s)
	for _, g := range []reg.GPVirtual{top, fix, lo, hi} {
		ADDQ(Imm(4), g)
	}
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// softFix turns old maxima into the factors that rescale the sums under the old maxima to the new
// maxima.
func softFix(c *consts) {
	TEXT("softFix", NOSPLIT, "func(fix, top *float32, rows int)")
	Pragma("noescape")
	fix, top, n := arg("fix"), arg("top"), arg("rows")
	e := wide.exp(c)
	low := c.get("-inf")
	lane := ZMM()
	VMOVDQU32(c.mem("iota"), lane)
	Label("some")
	left := ZMM()
	VPBROADCASTD(n.As32(), left)
	k, none := K(), K()
	VPCMPGTD(lane, left, k)
	x, t := ZMM(), ZMM()
	VMOVUPS_Z(at(fix, 0), k, x)
	VMOVUPS_Z(at(top, 0), k, t)
	VCMPPS(U8(0), low, t, none)
	VSUBPS(t, x, x)
	e.exp(x)
	VBLENDMPS(e.one, x, none, x) // if nothing has been accumulated yet, there is nothing to rescale
	VMOVUPS(x, k, at(fix, 0))
	ADDQ(Imm(64), fix)
	ADDQ(Imm(64), top)
	SUBQ(Imm(16), n)
	JG(LabelRef("some"))
	VZEROUPPER()
	RET()
}

// softWeights turns scaled scores into weights relative to the maximum, and adds them to the
// running sums.
func softWeights(c *consts) {
	TEXT("softWeights", NOSPLIT, "func(scores *float32, rows int, top, sum, fix *float32, lo, hi *int32)")
	Pragma("noescape")
	s, n, top, sum, fix, lo, hi := arg("scores"), arg("rows"), arg("top"), arg("sum"), arg("fix"), arg("lo"), arg("hi")
	e := wide.exp(c)
	Label("row")
	k0, k1 := visible(c, at(lo, 0), at(hi, 0))
	m := wide.spread(at(top, 0))
	x, y := ZMM(), ZMM()
	VMOVUPS(at(s, 0), x)
	VMOVUPS(at(s, 64), y)
	VSUBPS(m, x, x)
	VSUBPS(m, y, y)
	e.exp(x)
	e.exp(y)
	VMOVAPS_Z(x, k0, x)
	VMOVAPS_Z(y, k1, y)
	VMOVUPS(x, at(s, 0))
	VMOVUPS(y, at(s, 64))
	VADDPS(x, y, x)
	total := wide.reduce(x, addOp)
	old := XMM()
	VMOVSS(at(sum, 0), old)
	VFMADD132SS(at(fix, 0), total, old)
	VMOVSS(old, at(sum, 0))
	ADDQ(Imm(128), s)
	for _, g := range []reg.GPVirtual{top, sum, fix, lo, hi} {
		ADDQ(Imm(4), g)
	}
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// prefetch prefetches n bytes, a multiple of 64 greater than 0.
func prefetch() {
	TEXT("prefetchAMD64", NOSPLIT, "func(p *byte, n int)")
	Pragma("noescape")
	p, n := arg("p"), arg("n")
	Label("line")
	PREFETCHT0(at(p, 0))
	ADDQ(Imm(64), p)
	SUBQ(Imm(64), n)
	JG(LabelRef("line"))
	RET()
}

// scaleRows multiplies rows of 32 weights by 32 half-precision scales.
func scaleRows() {
	TEXT("scaleRowsAVX512", NOSPLIT, "func(dst, weights *float32, scales *uint16, rows int)")
	Pragma("noescape")
	dst, w, s, n := arg("dst"), arg("weights"), arg("scales"), arg("rows")
	x, y := ZMM(), ZMM()
	VCVTPH2PS(at(s, 0), x)
	VCVTPH2PS(at(s, 32), y)
	Label("row")
	a, b := ZMM(), ZMM()
	VMULPS(at(w, 0), x, a)
	VMULPS(at(w, 64), y, b)
	VMOVUPS(a, at(dst, 0))
	VMOVUPS(b, at(dst, 64))
	ADDQ(Imm(128), w)
	ADDQ(Imm(128), dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}
