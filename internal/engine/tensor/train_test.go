package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// row is a slice within a larger one whose other numbers must not change.
type row struct {
	all, x []float32
}

func newRow(x []float32) row {
	all := make([]float32, len(x)+40)
	for i := range all {
		all[i] = gap
	}
	copy(all[7:], x)
	return row{all, all[7:][:len(x)]}
}

// near compares with double precision, and checks the numbers around the row.
func (r row) near(t *testing.T, what string, want func(i int) float64) {
	t.Helper()
	for i, v := range r.all {
		if i -= 7; i < 0 || i >= len(r.x) {
			if math.Float32bits(v) != math.Float32bits(gap) {
				t.Fatalf("%s of %d: wrote at %d", what, len(r.x), i)
			}
		} else if w := want(i); !(math.Abs(float64(v)-w) <= 4e-6*max(1, math.Abs(w))) {
			t.Fatalf("%s of %d: element %d is %v, want %v", what, len(r.x), i, v, w)
		}
	}
}

func doubles(x []float32) []float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = float64(v)
	}
	return d
}

// TestLearning compares the training kernels with double precision for all small lengths.
//
// Evidence: engine · Matrix products of training are exact on every kernel set
func TestLearning(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for n := range 100 {
		testLearning(t, r, n)
	}
	testLearning(t, r, 192)
	testLearning(t, r, 2048)
}

func testLearning(t *testing.T, r *rand.Rand, n int) {
	x, y, w, z := normals(r, n), normals(r, n), normals(r, n), normals(r, n)
	dx, dy, dw, dz := doubles(x), doubles(y), doubles(w), doubles(z)
	one := func(what string, got float32, want float64) {
		t.Helper()
		if !(math.Abs(float64(got)-want) <= 4e-6*float64(n+1)) {
			t.Fatalf("%s of %d is %v, want %v", what, n, got, want)
		}
	}
	dot, squares, top := 0.0, 0.0, math.Inf(-1)
	for i := range x {
		dot, squares, top = dot+dx[i]*dy[i], squares+dx[i]*dx[i], max(top, dx[i])
	}
	one("product", Product(newRow(x).x, newRow(y).x), dot)
	if got := Peak(newRow(x).x); float64(got) != top {
		t.Fatalf("peak of %d is %v, want %v", n, got, top)
	}
	scaled := newRow(x)
	Scale(scaled.x, 0.5)
	scaled.near(t, "Scale", func(i int) float64 { return dx[i] / 2 })
	testSoftmax(t, x, y, one)

	angles := append(append([]float32(nil), y...), w...)
	turned := newRow(append(append([]float32(nil), x...), z...))
	Rotate(turned.x, newRow(angles).x)
	turned.near(t, "Rotate", func(i int) float64 {
		if i < n {
			return dx[i]*dy[i] - dz[i]*dw[i]
		}
		i -= n
		return dx[i]*dw[i] + dz[i]*dy[i]
	})
	RotateBack(turned.x, newRow(angles).x)
	turned.near(t, "RotateBack", func(i int) float64 { // a rotation and its inverse, with (cos, sin) pairs of any magnitude
		size := dy[i%max(n, 1)]*dy[i%max(n, 1)] + dw[i%max(n, 1)]*dw[i%max(n, 1)]
		return size * append(append([]float64(nil), dx...), dz...)[i]
	})
	if n > 0 {
		testNormBack(t, x, y, w, z, squares)
	}
	testSwiGLUBack(t, x, y, z)
}

func testSoftmax(t *testing.T, x, y []float32, one func(string, float32, float64)) {
	dx, dy, sum := doubles(x), doubles(y), 0.0
	for _, v := range dx {
		sum += math.Exp(v - 0.3)
	}
	e := newRow(x)
	one("ExpSum", ExpSum(e.x, 0.3), sum)
	e.near(t, "ExpSum", func(i int) float64 { return math.Exp(dx[i] - float64(float32(0.3))) })
	p := newRow(x)
	SoftmaxRow(p.x)
	p.near(t, "SoftmaxRow", func(i int) float64 { return math.Exp(dx[i]-0.3) / sum })
	ds := newRow(y)
	SoftmaxBack(ds.x, newRow(x).x, 0.25)
	ds.near(t, "SoftmaxBack", func(i int) float64 { return dx[i] * (dy[i] - 0.25) })
}

func testNormBack(t *testing.T, x, dh, w, before []float32, squares float64) {
	n := float64(len(x))
	dx, ddh, dw, db := doubles(x), doubles(dh), doubles(w), doubles(before)
	h := newRow(before)
	r := 1 / math.Sqrt(squares/n+1e-6)
	inv := RMSNormRow(h.x, newRow(x).x, newRow(w).x, 1e-6)
	if math.Abs(float64(inv)-r) > 2e-6*r {
		t.Fatalf("factor of %v is %v, want %v", n, inv, r)
	}
	h.near(t, "RMSNormRow", func(i int) float64 { return dx[i] * dw[i] * r })
	gx, gw := newRow(before), newRow(before)
	RMSNormBack(gx.x, newRow(dh).x, newRow(x).x, newRow(w).x, inv, gw.x)
	c := 0.0
	for i := range dx {
		c += dx[i] * ddh[i] * dw[i]
	}
	gw.near(t, "RMSNormBack's dw", func(i int) float64 { return db[i] + ddh[i]*dx[i]*r })
	if n > 2 { // the derivative for a shorter row is a difference of large numbers
		gx.near(t, "RMSNormBack's dx", func(i int) float64 { return db[i] + ddh[i]*dw[i]*r - dx[i]*c*r*r*r/n })
	}
}

func testSwiGLUBack(t *testing.T, gate, up, da []float32) {
	g, u, d := doubles(gate), doubles(up), doubles(da)
	act, dgate, dup := newRow(make([]float32, len(g))), newRow(make([]float32, len(g))), newRow(make([]float32, len(g)))
	const gain = 0.75
	sum := SwiGLUBack(act.x, dgate.x, dup.x, newRow(da).x, newRow(gate).x, newRow(up).x, gain)
	sig := func(i int) float64 { return 1 / (1 + math.Exp(-g[i])) }
	want := 0.0
	for i := range g {
		want += d[i] * g[i] * sig(i) * u[i]
	}
	if math.Abs(float64(sum)-want) > 4e-6*float64(len(g)+1) {
		t.Fatalf("gradient of the gain of %d is %v, want %v", len(g), sum, want)
	}
	act.near(t, "SwiGLUBack's act", func(i int) float64 { return gain * g[i] * sig(i) * u[i] })
	dup.near(t, "SwiGLUBack's dup", func(i int) float64 { return gain * d[i] * g[i] * sig(i) })
	dgate.near(t, "SwiGLUBack's dgate", func(i int) float64 { return gain * d[i] * u[i] * sig(i) * (1 + g[i]*(1-sig(i))) })
}

// TestExpSumExtremes passes numbers that overflow or vanish to the kernels, in whole vectors and in
// the remainder.
func TestExpSumExtremes(t *testing.T) {
	inf := float32(math.Inf(1))
	ends := []float32{-inf, -1e30, -100, -87.4, -87.3, -1, 0, 1, 88, 88.7, 89, 1e30, inf}
	x := make([]float32, 37)
	for i := range x {
		x[i] = ends[i%len(ends)]
	}
	ExpSum(x, 0)
	for i, got := range x {
		v := ends[i%len(ends)]
		if want := Exp(v); got != want && !(math.Abs(float64(got-want)) <= 1e-6*float64(want)) {
			t.Errorf("e to %v is %v at %d, want %v", v, got, i, want)
		}
	}
}

// TestLearningNonNumbers checks that a row with a NaN becomes all NaN, instead of wrong numbers.
func TestLearningNonNumbers(t *testing.T) {
	nan := float32(math.NaN())
	for _, at := range []int{0, 15, 16, 36} {
		x := make([]float32, 37)
		x[at] = nan
		SoftmaxRow(x)
		for i, v := range x {
			if v == v {
				t.Errorf("number %v at %d of a row with none at %d", v, i, at)
			}
		}
	}
}

func BenchmarkLearning(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{32, 192, 2048} {
		x, y, w, z, dst, d2 := normals(r, n), normals(r, n), normals(r, n), normals(r, n), normals(r, n), normals(r, n)
		turn := make([]float32, n) // a rotation by 0
		for i := range n / 2 {
			turn[i] = 1
		}
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"Product", func() { Product(x, y) }},
			{"SoftmaxRow", func() { copy(dst, x); SoftmaxRow(dst) }},
			{"SoftmaxBack", func() { copy(dst, x); SoftmaxBack(dst, y, 0.1) }},
			{"RMSNormRow", func() { RMSNormRow(dst, x, w, 1e-6) }},
			{"RMSNormBack", func() { RMSNormBack(dst, x, y, w, 1e-3, d2) }},
			{"SwiGLUBack", func() { SwiGLUBack(dst, d2, z, x, y, w, 1) }},
			{"Rotate", func() { Rotate(dst, turn) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(4 * n))
				for b.Loop() {
					c.f()
				}
			})
		}
	}
}
