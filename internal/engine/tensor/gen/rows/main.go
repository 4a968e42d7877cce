// Command rows writes the kernels of package tensor that multiply rows of 8-bit integers by one
// vector of 16-bit integers. Run it with go generate in the package's directory.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	for _, s := range []set{wide, narrow} {
		dot(s, 4)
		dot(s, 1)
	}
	Generate()
}

// set is a kernel set.
type set struct {
	name string
	vec  func() reg.VecVirtual
	step int // columns of one vector of 16-bit integers
}

var (
	wide   = set{"512", ZMM, 32}
	narrow = set{"256", YMM, 16}
)

// ahead is the number of bytes by which rows are prefetched ahead of their use: a few rows of the
// usual widths.
const ahead = 2048

// columns is the unit of the number of columns, which must be a multiple of it.
const columns = 32

// dot computes the products of n·count rows with x. It processes n rows at a time, so that x is
// read once for them and the sums across lanes overlap.
func dot(s set, n int) {
	TEXT(fmt.Sprintf("dotRows%sx%d", s.name, n), NOSPLIT, "func(dst *int32, rows *int8, x *int16, cols, count int)")
	Pragma("noescape")
	dst, rows, x, cols, count := arg("dst"), arg("rows"), arg("x"), arg("cols"), arg("count")
	from := make([]reg.GPVirtual, n) // row i of the step
	at := GP64()                     // column
	acc := make([]reg.VecVirtual, n)
	for i := range acc {
		acc[i], from[i] = s.vec(), GP64()
	}
	MOVQ(rows, from[0])
	Label("rows")
	for i, a := range acc {
		s.zero(a)
		if i > 0 {
			MOVQ(from[i-1], from[i])
			ADDQ(cols, from[i])
		}
	}
	XORQ(at, at)
	Label("columns")
	for i, f := range from {
		PREFETCHT0(Mem{Base: f, Index: at, Scale: 1, Disp: ahead})
		for c := 0; c < columns; c += s.step {
			w := s.vec()
			VPMOVSXBW(Mem{Base: f, Index: at, Scale: 1, Disp: c}, w)
			s.multiply(acc[i], w, Mem{Base: x, Index: at, Scale: 2, Disp: 2 * c})
		}
	}
	ADDQ(Imm(columns), at)
	CMPQ(at, cols)
	JL(LabelRef("columns"))
	for i, a := range acc {
		v := s.fold(a)
		VPHADDD(v, v, v)
		VPHADDD(v, v, v)
		VMOVD(v, Mem{Base: dst, Disp: 4 * i})
	}
	MOVQ(from[n-1], from[0])
	ADDQ(cols, from[0])
	ADDQ(Imm(uint64(4*n)), dst)
	DECQ(count)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// multiply adds the products of pairs of columns to sum.
func (s set) multiply(sum, w reg.VecVirtual, x Mem) {
	if s.name == "512" {
		VPDPWSSD(x, w, sum)
		return
	}
	VPMADDWD(x, w, w)
	VPADDD(w, sum, sum)
}

// fold adds the parts of a vector until the sum fits 128 bits.
func (s set) fold(v reg.VecVirtual) reg.VecVirtual {
	if s.name == "512" {
		high := YMM()
		VEXTRACTI64X4(Imm(1), v, high)
		low := v.(reg.VecVirtual).AsY()
		VPADDD(high, low, high)
		v = high
	}
	high, sum := XMM(), XMM()
	VEXTRACTI128(Imm(1), v.AsY(), high)
	VPADDD(high, v.AsX(), sum)
	return sum
}

func (s set) zero(v reg.VecVirtual) {
	if s.name == "512" {
		VPXORD(v, v, v)
		return
	}
	VPXOR(v, v, v)
}

// arg loads a parameter into a general register.
func arg(name string) reg.GPVirtual {
	g := GP64()
	Load(Param(name), g)
	return g
}
