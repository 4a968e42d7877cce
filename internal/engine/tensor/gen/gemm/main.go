// Command gemm writes the matrix product kernels in package tensor. Run it with go generate in the
// package's directory.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	for rows := range 12 {
		tile(wide, rows+1)
	}
	for rows := range 6 {
		tile(narrow, rows+1)
	}
	turn()
	turn8()
	for _, lanes := range []int{4, 5, 6, 16} {
		copyNarrow(fmt.Sprintf("gemmCopyNarrow%d", lanes), lanes)
	}
	copyPanel("gemmCopy32", 2)
	copyPanel("gemmCopy16", 1)
	words := highWords()
	brain("gemmBrainAlong", true, false, words)
	brain("gemmBrainAlongTurned", true, true, words)
	brain("gemmBrainAcross", false, false, words)
	brain("gemmBrainAcrossTurned", false, true, words)
	peak(wide)
	peak(narrow)
	Generate()
}

// Offsets in the struct gemmTile of package tensor.
const (
	tileA     = 0
	tileB     = 8
	tileC     = 16
	tileRowA  = 24
	tileStepA = 32
	tileStepB = 40
	tileRowC  = 48
	tileK     = 56
	tileAlpha = 64
	tileBeta  = 68
	tileMask  = 72
)

// set is a kernel set, whose tiles are two vectors of columns by some number of rows.
type set struct {
	name  string
	bytes int // size of a vector in bytes
	vec   func() reg.VecVirtual
}

var (
	wide   = set{"512", 64, ZMM}
	narrow = set{"256", 32, YMM}
)

func (s set) zero(v reg.VecVirtual) {
	if s.bytes == 64 {
		VPXORD(v, v, v)
		return
	}
	VXORPS(v, v, v)
}

func at(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }

// arg loads a parameter into a general register.
func arg(name string) reg.GPVirtual {
	g := GP64()
	Load(Param(name), g)
	return g
}

// field loads a field of the struct t.
func field(t reg.Register, offset int) reg.GPVirtual {
	g := GP64()
	MOVQ(at(t, offset), g)
	return g
}

// lines addresses n rows with a stride in a register; odd multiples of the stride are in separate
// registers.
type lines struct {
	base reg.Register
	odd  map[int]reg.GPVirtual
}

func newLines(base, stride reg.GPVirtual, n int) lines {
	l := lines{base, map[int]reg.GPVirtual{1: stride}}
	for i := 3; i < n; i += 2 {
		l.odd[i] = GP64()
		IMUL3Q(Imm(uint64(i)), stride, l.odd[i])
	}
	return l
}

func (l lines) mem(i, disp int) Mem {
	if i == 0 {
		return at(l.base, disp)
	}
	scale := uint8(1)
	for i%2 == 0 {
		i, scale = i/2, scale*2
	}
	return Mem{Base: l.base, Index: l.odd[i], Scale: scale, Disp: disp}
}

// tile multiplies rows of A by two vectors of columns of B: one broadcast and two multiply-adds per
// row and step.
func tile(s set, rows int) {
	TEXT(fmt.Sprintf("gemmTile%sx%d", s.name, rows), NOSPLIT, "func(t *byte)")
	Pragma("noescape")
	t := arg("t")
	acc := make([][2]reg.VecVirtual, rows)
	for r := range acc {
		acc[r] = [2]reg.VecVirtual{s.vec(), s.vec()}
		s.zero(acc[r][0])
		s.zero(acc[r][1])
	}
	a, b, k, stepA, stepB := field(t, tileA), field(t, tileB), field(t, tileK), field(t, tileStepA), field(t, tileStepB)
	ahead(s, t, rows)
	in := newLines(a, field(t, tileRowA), rows)
	Label("step")
	x, y := s.vec(), s.vec()
	VMOVUPS(at(b, 0), x)
	VMOVUPS(at(b, s.bytes), y)
	for r := range acc {
		f := s.vec()
		VBROADCASTSS(in.mem(r, 0), f)
		VFMADD231PS(x, f, acc[r][0])
		VFMADD231PS(y, f, acc[r][1])
	}
	ADDQ(stepA, a)
	ADDQ(stepB, b)
	DECQ(k)
	JNZ(LabelRef("step"))
	if s.bytes == 64 {
		store512(t, acc)
	} else {
		store256(t, acc)
	}
	VZEROUPPER()
	RET()
}

// ahead prefetches the tile of C, which is needed when the sums are complete.
func ahead(s set, t reg.Register, rows int) {
	p, stride := field(t, tileC), field(t, tileRowC)
	for r := range rows {
		PREFETCHT0(at(p, 0))
		PREFETCHT0(at(p, 2*s.bytes-4))
		if r < rows-1 {
			ADDQ(stride, p)
		}
	}
}

// store512 writes alpha·sum + beta·C for the columns in the mask; if beta is 0, it does not read C.
func store512(t reg.Register, acc [][2]reg.VecVirtual) {
	alpha, beta, bits := ZMM(), ZMM(), GP32()
	left, right := K(), K()
	VBROADCASTSS(at(t, tileAlpha), alpha)
	MOVL(at(t, tileMask), bits)
	KMOVW(bits, left)
	SHRL(Imm(16), bits)
	KMOVW(bits, right)
	c, stride := field(t, tileC), field(t, tileRowC)
	sums := func(each func(v reg.VecVirtual, m Mem, k reg.OpmaskVirtual)) {
		p := GP64()
		MOVQ(c, p)
		for r := range acc {
			each(acc[r][0], at(p, 0), left)
			each(acc[r][1], at(p, 64), right)
			if r < len(acc)-1 {
				ADDQ(stride, p)
			}
		}
	}
	old := GP32()
	MOVL(at(t, tileBeta), old)
	ADDL(old, old) // shifts out the sign bit
	JZ(LabelRef("fresh"))
	VBROADCASTSS(at(t, tileBeta), beta)
	sums(func(v reg.VecVirtual, m Mem, k reg.OpmaskVirtual) {
		o := ZMM()
		VMOVUPS_Z(m, k, o)
		VMULPS(alpha, v, v)
		VFMADD231PS(o, beta, v)
		VMOVUPS(v, k, m)
	})
	VZEROUPPER()
	RET()
	Label("fresh")
	sums(func(v reg.VecVirtual, m Mem, k reg.OpmaskVirtual) {
		VMULPS(alpha, v, v)
		VMOVUPS(v, k, m)
	})
}

// store256 is like store512, without a mask.
func store256(t reg.Register, acc [][2]reg.VecVirtual) {
	alpha, beta := YMM(), YMM()
	VBROADCASTSS(at(t, tileAlpha), alpha)
	c, stride := field(t, tileC), field(t, tileRowC)
	sums := func(each func(v reg.VecVirtual, m Mem)) {
		p := GP64()
		MOVQ(c, p)
		for r := range acc {
			each(acc[r][0], at(p, 0))
			each(acc[r][1], at(p, 32))
			if r < len(acc)-1 {
				ADDQ(stride, p)
			}
		}
	}
	old := GP32()
	MOVL(at(t, tileBeta), old)
	ADDL(old, old) // shifts out the sign bit
	JZ(LabelRef("fresh"))
	VBROADCASTSS(at(t, tileBeta), beta)
	sums(func(v reg.VecVirtual, m Mem) {
		VMULPS(alpha, v, v)
		VFMADD231PS(m, beta, v)
		VMOVUPS(v, m)
	})
	VZEROUPPER()
	RET()
	Label("fresh")
	sums(func(v reg.VecVirtual, m Mem) {
		VMULPS(alpha, v, v)
		VMOVUPS(v, m)
	})
}
