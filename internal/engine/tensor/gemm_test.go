package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// gemmCase describes one product; the matrices have gaps between their rows.
type gemmCase struct {
	transA, transB bool
	m, n, k        int
	alpha, beta    float32
	gapA, gapB     int
	gapC, shift    int // shift moves all matrices off their memory alignment
}

func (g gemmCase) String() string {
	t := map[bool]string{false: "n", true: "t"}
	return fmt.Sprintf("%s%s %d×%d×%d alpha %v beta %v gaps %d %d %d shift %d", t[g.transA], t[g.transB], g.m, g.n, g.k, g.alpha, g.beta, g.gapA, g.gapB, g.gapC, g.shift)
}

// gap fills the memory between rows and around matrices: a product that reads it becomes NaN, and
// one that writes it is detected.
var gap = math.Float32frombits(0x7fc0beef)

// stored returns a matrix as stored, with gaps.
func (g gemmCase) stored(r *rand.Rand, rows, cols, between int) ([]float32, int) {
	ld := cols + between
	all := make([]float32, g.shift+rows*ld+40)
	for i := range all {
		all[i] = gap
	}
	x := all[g.shift:]
	for i := range rows {
		for j := range cols {
			x[i*ld+j] = float32(r.NormFloat64())
		}
	}
	return x[:(rows-1)*ld+cols], ld
}

// check computes the product and compares it with double-precision sums.
func (g gemmCase) check(t *testing.T, r *rand.Rand, ws *GemmSpace) {
	t.Helper()
	g.checkWith(t, r, ws, func([]float32) {}, 1e-6)
}

// checkWith is like check, with operands changed by the function prepare, and with a tolerance
// relative to the sum of the terms' magnitudes.
func (g gemmCase) checkWith(t *testing.T, r *rand.Rand, ws *GemmSpace, prepare func([]float32), tolerance float64) {
	t.Helper()
	ar, ac, br, bc := g.m, g.k, g.k, g.n
	if g.transA {
		ar, ac = ac, ar
	}
	if g.transB {
		br, bc = bc, br
	}
	a, lda := g.stored(r, ar, ac, g.gapA)
	b, ldb := g.stored(r, br, bc, g.gapB)
	prepare(a)
	prepare(b)
	c, ldc := g.stored(r, g.m, g.n, g.gapC)
	if g.beta == 0 {
		for i := range c {
			c[i] = gap
		}
	}
	old := append([]float32(nil), c[:cap(c)]...)
	Gemm(g.transA, g.transB, g.m, g.n, g.k, g.alpha, a, lda, b, ldb, g.beta, c, ldc, ws)
	at := func(x []float32, ld int, trans bool, i, j int) float64 {
		if trans {
			i, j = j, i
		}
		return float64(x[i*ld+j])
	}
	for i, got := range c[:cap(c)] {
		row, col := i/ldc, i%ldc
		if row >= g.m || col >= g.n {
			if math.Float32bits(got) != math.Float32bits(old[i]) {
				t.Fatalf("%v: wrote outside of the matrix, at row %d column %d", g, row, col)
			}
			continue
		}
		sum, size := 0.0, 0.0
		for p := range g.k {
			v := at(a, lda, g.transA, row, p) * at(b, ldb, g.transB, p, col)
			sum, size = sum+v, size+math.Abs(v)
		}
		want := float64(g.alpha) * sum
		size *= math.Abs(float64(g.alpha))
		if g.beta != 0 {
			want += float64(g.beta) * float64(old[i])
			size += math.Abs(float64(g.beta) * float64(old[i]))
		}
		if !(math.Abs(float64(got)-want) <= tolerance*size+1e-30) {
			t.Fatalf("%v: row %d column %d is %v, want %v", g, row, col, got, want)
		}
	}
}

// forms calls f with the four combinations of transposition of c.
func (g gemmCase) forms(f func(g gemmCase)) {
	for i := range 4 {
		g.transA, g.transB = i&1 != 0, i&2 != 0
		f(g)
	}
}

// TestGemm multiplies matrices with every number of rows for which there are tiles, and with random
// sizes, in all forms.
//
// Evidence: engine · Matrix products of training are exact on every kernel set
func TestGemm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	ws := new(GemmSpace)
	pick := func(x ...float32) float32 { return x[r.IntN(len(x))] }
	random := func(m, n, k int) gemmCase {
		return gemmCase{m: m, n: n, k: k, alpha: pick(0, 1, 1, -1, 0.37), beta: pick(0, 1, -1, 2.5), gapA: r.IntN(20), gapB: r.IntN(20), gapC: r.IntN(20), shift: r.IntN(17)}
	}
	for m := 1; m <= 25; m++ {
		for _, n := range []int{1, 15, 16, 17, 31, 32, 33, 64} {
			random(m, n, 1+r.IntN(20)).forms(func(g gemmCase) { g.check(t, r, ws) })
		}
	}
	count, most := 12, 100
	if testing.Short() || raceEnabled {
		count, most = 4, 50
	}
	for range count {
		random(1+r.IntN(most), 1+r.IntN(most), 1+r.IntN(5*most)).forms(func(g gemmCase) { g.check(t, r, ws) })
	}
	// These exceed one block in each direction, or have strides at which rows are copied.
	random(gemmRows+13, 9, 30).forms(func(g gemmCase) { g.check(t, r, ws) })
	random(5, gemmCols+33, 11).forms(func(g gemmCase) { g.check(t, r, ws) })
	random(14, 35, 2*gemmDepth+3).forms(func(g gemmCase) { g.check(t, r, ws) })
	gemmCase{m: 110, n: 40, k: 256, alpha: 1}.forms(func(g gemmCase) { g.check(t, r, ws) })
	gemmCase{m: 256, n: 256, k: 70, alpha: 1, beta: 1}.forms(func(g gemmCase) { g.check(t, r, ws) })
}

// FuzzGemm multiplies matrices of any size.
//
// Evidence: engine · Matrix products of training are exact on every kernel set
func FuzzGemm(f *testing.F) {
	f.Add(uint8(0), uint16(12), uint16(32), uint16(192), uint8(0), uint64(1))
	f.Add(uint8(1), uint16(13), uint16(33), uint16(225), uint8(1), uint64(2))
	f.Add(uint8(2), uint16(1), uint16(1), uint16(1), uint8(17), uint64(3))
	f.Add(uint8(3), uint16(100), uint16(31), uint16(2), uint8(255), uint64(4))
	best := gemmISA
	f.Cleanup(func() { gemmISA = best })
	f.Fuzz(func(t *testing.T, form uint8, m, n, k uint16, gaps uint8, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		g := gemmCase{transA: form&1 != 0, transB: form&2 != 0, m: 1 + int(m)%150, n: 1 + int(n)%150, k: 1 + int(k)%500, alpha: float32(form>>2&3) - 1.5,
			beta: float32(form >> 4 & 3), gapA: int(gaps & 3), gapB: int(gaps >> 2 & 3), gapC: int(gaps >> 4 & 3), shift: int(gaps >> 6)}
		for s := isaGo; s <= best; s++ {
			gemmISA = s
			g.check(t, r, nil)
		}
	})
}

// TestGemmAllocates checks that a product with a large enough GemmSpace allocates nothing.
func TestGemmAllocates(t *testing.T) {
	a, c, ws := make([]float32, 70*70), make([]float32, 70*70), new(GemmSpace)
	if n := testing.AllocsPerRun(10, func() {
		gemmCase{}.forms(func(g gemmCase) { Gemm(g.transA, g.transB, 70, 70, 70, 1, a, 70, a, 70, 1, c, 70, ws) })
	}); n > 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}

// TestGemmLesser runs the tests of products with the other, less capable kernel sets of this
// processor.
func TestGemmLesser(t *testing.T) {
	best := gemmISA
	t.Cleanup(func() { gemmISA = best })
	for s := isaGo; s < best; s++ {
		gemmISA = s
		t.Run(s.String(), func(t *testing.T) {
			TestGemm(t)
			TestGemmNonNumbers(t)
		})
	}
}

// TestGemmNothing checks that empty sums, and products with an alpha of 0, result in beta·C.
func TestGemmNothing(t *testing.T) {
	nan := float32(math.NaN())
	for _, beta := range []float32{0, 1, 0.5} {
		c := []float32{1, 2, 99, 3, 4}
		Gemm(false, false, 2, 2, 0, 1, nil, 0, nil, 2, beta, c, 3, nil)
		d := []float32{1, 2, 99, 3, 4}
		Gemm(false, false, 2, 2, 1, 0, []float32{nan, nan}, 1, []float32{nan, nan}, 2, beta, d, 3, nil)
		for i, v := range []float32{beta, 2 * beta, 99, 3 * beta, 4 * beta} {
			if c[i] != v || d[i] != v {
				t.Errorf("beta %v: elements %d are %v and %v, want %v", beta, i, c[i], d[i], v)
			}
		}
	}
	Gemm(false, false, 0, 5, 5, 1, nil, 5, nil, 5, 0, nil, 5, nil)
	c := []float32{nan}
	Gemm(false, false, 1, 1, 0, 1, nil, 0, nil, 1, 0, c, 1, nil)
	if c[0] != 0 {
		t.Errorf("a C of no number became %v", c[0])
	}
}

// TestGemmNonNumbers checks that a NaN or infinity affects only the results of its row or column.
//
// Evidence: engine · Matrix products of training are exact on every kernel set
func TestGemmNonNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		for _, s := range [][3]int{{5, 7, 3}, {12, 32, 16}, {29, 50, 17}, {13, 33, 300}} {
			m, n, k := s[0], s[1], s[2]
			gemmCase{}.forms(func(g gemmCase) {
				a, b, c := normals(r, m*k), normals(r, k*n), make([]float32, m*n)
				row, col, p, q := r.IntN(m), r.IntN(n), r.IntN(k), r.IntN(k)
				lda, ldb := k, n
				if g.transA {
					lda = m
					a[p*m+row] = bad
				} else {
					a[row*k+p] = bad
				}
				if g.transB {
					ldb = k
					b[col*k+q] = bad
				} else {
					b[q*n+col] = bad
				}
				Gemm(g.transA, g.transB, m, n, k, 1, a, lda, b, ldb, 0, c, n, nil)
				for i, v := range c {
					if finite := v-v == 0; finite == (i/n == row || i%n == col) {
						t.Fatalf("%v%v %v: %v at row %d, column %d, element %d,%d is %v", g.transA, g.transB, s, bad, row, col, i/n, i%n, v)
					}
				}
			})
		}
	}
}

func TestGemmRefuses(t *testing.T) {
	for what, f := range map[string]func(){
		"negative size": func() { Gemm(false, false, -1, 1, 1, 1, nil, 1, nil, 1, 0, nil, 1, nil) },
		"between the rows of": func() {
			Gemm(false, false, 2, 2, 2, 1, make([]float32, 4), 1, make([]float32, 4), 2, 0, make([]float32, 4), 2, nil)
		},
		"A holds 3": func() {
			Gemm(false, false, 2, 2, 2, 1, make([]float32, 3), 2, make([]float32, 4), 2, 0, make([]float32, 4), 2, nil)
		},
		"B holds 4": func() {
			Gemm(false, true, 2, 3, 2, 1, make([]float32, 4), 2, make([]float32, 4), 2, 0, make([]float32, 6), 3, nil)
		},
		"C holds 4": func() {
			Gemm(false, false, 2, 2, 2, 1, make([]float32, 4), 2, make([]float32, 4), 2, 0, make([]float32, 4), 3, nil)
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, what) {
					t.Errorf("panic is %q, want one with %q", got, what)
				}
			}()
			f()
		}()
	}
}
