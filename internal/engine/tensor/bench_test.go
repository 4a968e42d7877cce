package tensor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// largeBytes is the total size of the matrices in the bandwidth benchmarks: more than any cache.
const largeBytes = 768 << 20

// randomMatrix returns a matrix of random bits with reasonable scales.
func randomMatrix(b *testing.B, typ gguf.Type, rows, cols int, a *Arena) *Matrix {
	rng := rand.New(rand.NewPCG(1, 1))
	var w []byte
	if typ.BlockSize() == 1 {
		w = weights(b, typ, rows, cols, rng)
	} else {
		w = fill(typ, rows, cols, func() byte { return byte(rng.Uint32()) }, func() uint16 { return 0x1c00 })
	}
	m, err := NewMatrix(typ, rows, cols, w, a.Alloc)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// randomBatch returns n tokens of normally distributed values, prepared for m.
func randomBatch(m *Matrix, n int) *Batch {
	rng := rand.New(rand.NewPCG(2, 2))
	var x Batch
	x.Reset(n, m.Cols)
	for i := range n {
		for k := range x.F32(i) {
			x.F32(i)[k] = float32(rng.NormFloat64())
		}
	}
	x.Prepare(m, 0, n)
	return &x
}

// BenchmarkVector multiplies matrices of 2048×2048 that together do not fit the cache by one token.
// Compare its MB/s with BenchmarkReadLimit.
func BenchmarkVector(b *testing.B) {
	for _, typ := range allTypes {
		b.Run(typ.String(), func(b *testing.B) {
			a := NewArena(0)
			defer a.Close()
			one := randomMatrix(b, typ, 2048, 2048, a)
			ms := []*Matrix{one}
			for len(ms)*one.Bytes() < largeBytes {
				m, err := NewMatrixRows(typ, 2048, 2048, a.Alloc)
				if err != nil {
					b.Fatal(err)
				}
				copy(m.data, one.data)
				ms = append(ms, m)
			}
			x, dst := randomBatch(one, 1), make([]float32, 2048)
			b.ReportAllocs()
			b.SetBytes(int64(one.Bytes()))
			for i := 0; b.Loop(); i++ {
				ms[i%len(ms)].Mul(dst, 2048, x, nil, 0, 2048)
			}
		})
	}
}

// BenchmarkBatch multiplies one matrix by several tokens. GMAC/s is 10⁹ multiplications per second
// on one core.
func BenchmarkBatch(b *testing.B) {
	for _, typ := range []gguf.Type{gguf.TypeQ8_0, gguf.TypeQ4_0, gguf.TypeQ4_K, gguf.TypeQ6_K, gguf.TypeF16} {
		for _, s := range [][2]int{{768, 2048}, {2048, 768}, {2048, 8192}} {
			for _, n := range []int{1, 2, 4, 8, 16, 32, 128, 512} {
				b.Run(fmt.Sprintf("%v/%dx%d/%d", typ, s[0], s[1], n), func(b *testing.B) { benchBatch(b, typ, s[0], s[1], n) })
			}
		}
	}
}

func benchBatch(b *testing.B, typ gguf.Type, rows, cols, n int) {
	a := NewArena(0)
	defer a.Close()
	m := randomMatrix(b, typ, rows, cols, a)
	x, dst := randomBatch(m, n), make([]float32, rows*n)
	b.ReportAllocs()
	for b.Loop() {
		m.Mul(dst, rows, x, nil, 0, rows)
	}
	b.ReportMetric(float64(rows)*float64(cols)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}

// BenchmarkSetRows interleaves a matrix, which is the work of loading.
func BenchmarkSetRows(b *testing.B) {
	for _, typ := range allTypes {
		b.Run(typ.String(), func(b *testing.B) {
			const rows, cols = 2048, 2048
			a := NewArena(0)
			defer a.Close()
			m, err := NewMatrixRows(typ, rows, cols, a.Alloc)
			if err != nil {
				b.Fatal(err)
			}
			w := fill(typ, rows, cols, func() byte { return 1 }, func() uint16 { return 1 })
			b.SetBytes(int64(len(w)))
			b.ReportAllocs()
			for b.Loop() {
				if err := m.SetRows(0, w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrepare rounds activations.
func BenchmarkPrepare(b *testing.B) {
	for _, typ := range []gguf.Type{gguf.TypeQ8_0, gguf.TypeQ4_K} {
		b.Run(typ.String(), func(b *testing.B) {
			a := NewArena(0)
			defer a.Close()
			m := randomMatrix(b, typ, 16, 2048, a)
			x := randomBatch(m, 1)
			b.SetBytes(2048 * 4)
			b.ReportAllocs()
			for b.Loop() {
				x.Prepare(m, 0, 1)
			}
		})
	}
}

// rowsJob multiplies a matrix by one token, 64 rows per piece.
type rowsJob struct {
	m   *Matrix
	x   *Batch
	dst []float32
}

func (j *rowsJob) Do(_, i int) { j.m.Mul(j.dst, j.m.Rows, j.x, nil, i*64, min(j.m.Rows, i*64+64)) }

// BenchmarkVectorPool is BenchmarkVector with two workers and one Run per matrix, as in a forward
// pass.
func BenchmarkVectorPool(b *testing.B) {
	for _, typ := range []gguf.Type{gguf.TypeQ8_0, gguf.TypeQ4_K} {
		b.Run(typ.String(), func(b *testing.B) {
			a := NewArena(0)
			defer a.Close()
			p := NewPool(2)
			defer p.Close()
			one := randomMatrix(b, typ, 2048, 2048, a)
			ms := []*Matrix{one}
			for len(ms)*one.Bytes() < largeBytes {
				m, err := NewMatrixRows(typ, 2048, 2048, a.Alloc)
				if err != nil {
					b.Fatal(err)
				}
				copy(m.data, one.data)
				ms = append(ms, m)
			}
			job := &rowsJob{x: randomBatch(one, 1), dst: make([]float32, 2048)}
			b.ReportAllocs()
			b.SetBytes(int64(one.Bytes()))
			for i := 0; b.Loop(); i++ {
				job.m = ms[i%len(ms)]
				p.Run(2048/64, job)
			}
		})
	}
}
