package tensor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
	"github.com/luthier-dev/luthier/internal/tier"
)

var allTypes = []gguf.Type{
	gguf.TypeF32, gguf.TypeF16, gguf.TypeBF16, gguf.TypeQ8_0, gguf.TypeQ4_0, gguf.TypeQ4_1, gguf.TypeQ5_0, gguf.TypeQ5_1,
	gguf.TypeQ2_K, gguf.TypeQ3_K, gguf.TypeQ4_K, gguf.TypeQ5_K, gguf.TypeQ6_K, gguf.TypeIQ4_NL, gguf.TypeIQ4_XS, gguf.TypeMXFP4,
}

// isas returns the kernel sets that this machine can run.
func isas() []isa {
	var s []isa
	for i := isaGo; i <= detect(); i++ {
		s = append(s, i)
	}
	return s
}

// weights returns rows of a type with random values.
func weights(t testing.TB, typ gguf.Type, rows, cols int, rng *rand.Rand) []byte {
	t.Helper()
	n, err := typ.RowBytes(cols)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(rng.NormFloat64()) * 0.05
	}
	w := make([]byte, rows*n)
	if err := quant.Quantize(typ, w, x); err != nil {
		t.Fatal(err)
	}
	return w
}

// halves returns the offsets of the half-precision scales in a block.
func halves(typ gguf.Type) []int {
	var at []int
	for _, f := range layoutOf(typ).header {
		if f.size == 2 && f.count == 1 && !(typ == gguf.TypeIQ4_XS && f.off == 2) {
			at = append(at, f.off)
		}
	}
	return at
}

// fill returns adversarial weights: every byte is a result of f, and the scales are results of the
// function scale.
func fill(typ gguf.Type, rows, cols int, f func() byte, scale func() uint16) []byte {
	n, _ := typ.RowBytes(cols)
	w := make([]byte, rows*n)
	for i := range w {
		w[i] = f()
	}
	switch typ {
	case gguf.TypeF32, gguf.TypeBF16:
		for i := 0; i < len(w); i += typ.BlockBytes() { // the exponent must not be all ones
			w[i+typ.BlockBytes()-1] &= 0xbf
		}
	case gguf.TypeF16:
		for i := 0; i < len(w); i += 2 {
			w[i+1] &= 0xbf
		}
	case gguf.TypeMXFP4:
		for i := 0; i < len(w); i += 17 {
			w[i] = 120 + w[i]%10
		}
	default:
		for i := 0; i < len(w); i += typ.BlockBytes() {
			for _, o := range halves(typ) {
				binary.LittleEndian.PutUint16(w[i+o:], scale())
			}
		}
	}
	return w
}

type caseOf struct {
	name string
	w    func(typ gguf.Type, rows, cols int) []byte
	x    func(i int) float32
}

func cases(t testing.TB, rng *rand.Rand) []caseOf {
	one := func() uint16 { return 0x2c00 } // 1/16
	random := func() byte { return byte(rng.Uint32()) }
	normal := func(int) float32 { return float32(rng.NormFloat64()) }
	all := func(b byte) func() byte { return func() byte { return b } }
	sign := func(i int) float32 { return float32(1 - 2*(i&1)) }
	filled := func(f func() byte, s func() uint16) func(gguf.Type, int, int) []byte {
		return func(typ gguf.Type, rows, cols int) []byte { return fill(typ, rows, cols, f, s) }
	}
	return []caseOf{
		{"normal", func(typ gguf.Type, rows, cols int) []byte { return weights(t, typ, rows, cols, rng) }, normal},
		{"random bits", filled(random, one), normal},
		{"all bits, all one", filled(all(0xff), one), func(int) float32 { return 1 }},
		{"all bits, all minus one", filled(all(0xff), one), func(int) float32 { return -1 }},
		{"no bits, all one", filled(all(0), one), func(int) float32 { return 1 }},
		{"top bits, alternating", filled(all(0x80), one), sign},
		{"0x7f, all one", filled(all(0x7f), one), func(int) float32 { return 1 }},
		{"zero scales", filled(random, func() uint16 { return 0 }), normal},
		{"subnormal scales", filled(random, func() uint16 { return 1 }), normal},
		{"large scales", filled(random, func() uint16 { return 0x7bff }), normal},
		{"zero activations", filled(random, one), func(int) float32 { return 0 }},
		{"tiny activations", filled(random, one), func(int) float32 { return 1e-40 * float32(rng.NormFloat64()) }},
		{"huge activations", filled(random, one), func(int) float32 { return 1e5 * float32(rng.NormFloat64()) }},
		{"mixed activations", filled(random, one), func(i int) float32 { return normal(i) * float32(math.Exp2(float64(i%40-20))) }},
	}
}

// roundedRow returns a row of a batch in the form that the kernels read.
func roundedRow(b *Batch, f form, i int) []float64 {
	x := make([]float64, b.cols)
	if f == formF32 {
		for k, v := range b.F32(i) {
			x[k] = float64(v)
		}
		return x
	}
	rec := make([]byte, b.forms[f].stride)
	f.round(isaGo, rec, b.F32(i))
	if f == formBF16 {
		for k := range x {
			x[k] = float64(floatAt(rec[4*k:]))
		}
		return x
	}
	for k := range x {
		r := rec[k/chunkCols*f.record():]
		if f.super() {
			x[k] = float64(floatAt(r)) * float64(int8(r[recKQ+k%chunkCols]))
		} else {
			x[k] = float64(floatAt(r[recD+k%chunkCols/32*4:])) * float64(int8(r[recQ+k%chunkCols]))
		}
	}
	return x
}

// TestMulAgainstDefinition compares every kernel with a float64 product of the dequantised weights
// and the rounded activations, on ordinary and on adversarial inputs.
//
// Evidence: engine · The kernels of all processors agree
func TestMulAgainstDefinition(t *testing.T) {
	tier.Normal(t)
	for _, with := range isas() {
		for _, typ := range allTypes {
			t.Run(fmt.Sprintf("%v/%v", with, typ), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(typ)))
				for i, c := range cases(t, rng) {
					if raceEnabled && i%4 != 0 {
						continue
					}
					cols := 256 * (1 + rng.IntN(2))
					if typ.BlockSize() < 256 {
						cols += 32 * rng.IntN(8)
					}
					if typ.BlockSize() == 1 {
						cols += rng.IntN(5)
					}
					checkMul(t, with, typ, 1+rng.IntN(36), cols, 1+rng.IntN(18), c)
				}
			})
		}
	}
}

func checkMul(t *testing.T, with isa, typ gguf.Type, rows, cols, n int, c caseOf) {
	t.Helper()
	raw := c.w(typ, rows, cols)
	m, err := newMatrix(typ, rows, cols, nil, with)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetRows(0, raw); err != nil {
		t.Fatal(err)
	}
	var b Batch
	b.Reset(n, cols)
	for i := range n {
		for k := range b.F32(i) {
			b.F32(i)[k] = c.x(k)
		}
	}
	b.Prepare(m, 0, n)
	got := make([]float32, n*rows)
	m.Mul(got, rows, &b, nil, 0, rows)
	w := make([]float32, cols)
	for r := range rows {
		m.Row(r, w)
		top := spread(m, w)
		for i := range n {
			x := roundedRow(&b, m.lay.form, i)
			var want, size float64
			for k := range w {
				want += float64(w[k]) * x[k]
				size += (math.Abs(float64(w[k])) + top) * math.Abs(x[k])
			}
			// The sums are of f32 numbers, with at most cols/16 terms in sequence.
			bound := size*4e-6 + 1e-37
			if g := float64(got[i*rows+r]); !(math.Abs(g-want) <= bound) && !(size > 1e38) {
				t.Fatalf("%s: %d×%d, row %d, token %d of %d: %g, want %g within %g", c.name, rows, cols, r, i, n, g, want, bound)
			}
		}
	}
}

// spread bounds the amount that an offset or a minimum adds to the terms of a sum before it is
// subtracted again.
func spread(m *Matrix, w []float32) float64 {
	var top float64
	for _, v := range w {
		top = max(top, math.Abs(float64(v)))
	}
	if m.lay.block == 1 {
		return 0
	}
	return top
}

// TestRow checks that interleaved rows can be restored exactly.
func TestRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, typ := range allTypes {
		rows, cols := 37, 512+256
		raw := fill(typ, rows, cols, func() byte { return byte(rng.Uint32()) }, func() uint16 { return uint16(rng.IntN(0x7c00)) })
		m, err := NewMatrix(typ, rows, cols, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, want := make([]float32, cols), make([]float32, cols)
		for r := range rows {
			m.Row(r, got)
			if err := quant.Dequantize(typ, want, raw[r*m.row:(r+1)*m.row]); err != nil {
				t.Fatal(err)
			}
			for k := range want {
				if math.Float32bits(got[k]) != math.Float32bits(want[k]) {
					t.Fatalf("%v: row %d, column %d: %g, want %g", typ, r, k, got[k], want[k])
				}
			}
		}
	}
}

// TestBatchInvariance checks that an element of the product has the same bits alone, in a batch of
// any size, with tokens in any order or repeated, and for any range of rows.
//
// Evidence: engine · Batch, chunks and threads do not change a bit
func TestBatchInvariance(t *testing.T) {
	tier.Normal(t)
	const rows, cols = 53, 768
	n, sizes := 57, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 23, 24, 25, 31, 40, 47, 48, 50, 57}
	if raceEnabled {
		n, sizes = 26, []int{1, 5, 8, 26}
	}
	for _, with := range isas() {
		for _, typ := range allTypes {
			t.Run(fmt.Sprintf("%v/%v", with, typ), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, uint64(typ)))
				m, err := newMatrix(typ, rows, cols, nil, with)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.SetRows(0, weights(t, typ, rows, cols, rng)); err != nil {
					t.Fatal(err)
				}
				var b Batch
				b.Reset(n, cols)
				for i := range n {
					for k := range b.F32(i) {
						b.F32(i)[k] = float32(rng.NormFloat64())
					}
				}
				b.Prepare(m, 0, n)
				want := make([]float32, n*rows)
				for i := range n {
					m.Mul(want[i*rows:], rows, &b, []int32{int32(i)}, 0, rows)
				}
				for _, size := range sizes {
					toks := make([]int32, size)
					for j := range toks {
						toks[j] = int32(rng.IntN(n))
					}
					const stride = rows + 3
					got := make([]float32, (size+1)*stride)
					for i := range got {
						got[i] = float32(math.NaN())
					}
					for r := 0; r < rows; {
						end := min(rows, r+16*(1+rng.IntN(3)))
						m.Mul(got, stride, &b, toks, r, end)
						r = end
					}
					for j, tok := range toks {
						for r := range rows {
							if g, w := got[j*stride+r], want[int(tok)*rows+r]; math.Float32bits(g) != math.Float32bits(w) {
								t.Fatalf("%d tokens, token %d, row %d: %g, alone %g", size, tok, r, g, w)
							}
						}
						for r := rows; r < stride; r++ {
							if g := got[j*stride+r]; g == g {
								t.Fatalf("%d tokens: written behind the last row of token %d", size, j)
							}
						}
					}
				}
			})
		}
	}
}

// TestPackVector checks that the vector functions interleave like the plain one, and read no byte
// out of bounds.
func TestPackVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, with := range isas()[1:] {
		for _, typ := range allTypes {
			for _, blocks := range []int{1, 2, 3, 7, 8, 9, 17, 255, 256, 257, 258} {
				cols, rows := blocks*typ.BlockSize(), 32
				n, _ := typ.RowBytes(cols)
				raw := guarded(t, rows*n)
				for i := range raw {
					raw[i] = byte(rng.Uint32())
				}
				want, _ := newMatrix(typ, rows, cols, nil, isaGo)
				got, _ := newMatrix(typ, rows, cols, nil, with)
				for _, m := range []*Matrix{want, got} {
					if err := m.SetRows(0, raw); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(want.data, got.data) {
					t.Fatalf("%v, %v, %d columns: the panels differ", with, typ, cols)
				}
			}
		}
	}
}
