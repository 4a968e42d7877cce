package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// TestVectors compares the vector kernels with double precision, for lengths with and without a
// remainder.
func TestVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{1, 15, 16, 17, 64, 100, 2048} {
		x, y, w := normals(r, n), normals(r, n), normals(r, n)
		got := make([]float32, n)
		each := func(what string, want func(i int) float64) {
			t.Helper()
			for i, g := range got {
				if v := want(i); math.Abs(float64(g)-v) > 2e-6*max(1, math.Abs(v)) {
					t.Fatalf("%s of %d: element %d is %v, want %v", what, n, i, g, v)
				}
			}
		}
		f := func(v []float32, i int) float64 { return float64(v[i]) }
		ss, dot := 0.0, 0.0
		for i := range x {
			ss, dot = ss+f(x, i)*f(x, i), dot+f(x, i)*f(y, i)
		}
		RMSNorm(got, x, w, 1e-6)
		each("norm", func(i int) float64 { return f(x, i) / math.Sqrt(ss/float64(n)+1e-6) * f(w, i) })
		SwiGLU(got, x, y)
		each("SwiGLU", func(i int) float64 { return f(x, i) / (1 + math.Exp(-f(x, i))) * f(y, i) })
		ClampedGLU(got, x, y, 1.702, 0.5)
		each("ClampedGLU", func(i int) float64 {
			g, u := min(f(x, i), 0.5), max(-0.5, min(0.5, f(y, i)))
			return g / (1 + math.Exp(-1.702*g)) * (u + 1)
		})
		copy(got, x)
		AddTo(got, y)
		each("AddTo", func(i int) float64 { return f(x, i) + f(y, i) })
		copy(got, x)
		Axpy(got, 0.7, y)
		each("Axpy", func(i int) float64 { return f(x, i) + float64(float32(0.7))*f(y, i) })
		copy(got, x)
		Softmax(got)
		sum := 0.0
		for i := range x {
			sum += math.Exp(f(x, i))
		}
		each("Softmax", func(i int) float64 { return math.Exp(f(x, i)) / sum })
		if d := float64(Dot(x, y)); math.Abs(d-dot) > 1e-5 {
			t.Fatalf("dot product of %d is %v, want %v", n, d, dot)
		}
		half := make([]uint16, n)
		ToHalf(half, x)
		back := make([]float32, n)
		FromHalf(back, half)
		for i, h := range half {
			if back[i] != quant.HalfToFloat(h) {
				t.Fatalf("%#x widened is %v, want %v", h, back[i], quant.HalfToFloat(h))
			}
			if h != quant.FloatToHalf(x[i]) {
				t.Fatalf("half of %v is %#x, want %#x", x[i], h, quant.FloatToHalf(x[i]))
			}
		}
	}
}

// TestExp compares exp with that of the standard library, over its range and at both ends of it.
func TestExp(t *testing.T) {
	for x := -87.0; x < 88; x += 0.0137 {
		got, want := float64(Exp(float32(x))), math.Exp(float64(float32(x)))
		if math.Abs(got-want) > 3e-7*want {
			t.Fatalf("Exp(%v) is %v, want %v", float32(x), got, want)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range [][2]float32{{0, 1}, {-inf, 0}, {inf, inf}, {-100, 0}, {200, inf}} {
		if got := Exp(c[0]); got != c[1] {
			t.Errorf("Exp(%v) is %v, want %v", c[0], got, c[1])
		}
	}
	if nan := float32(math.NaN()); Exp(nan) == Exp(nan) {
		t.Error("Exp of no number is a number")
	}
}

// TestSwiGLUExtremes passes numbers to the kernels that overflow in intermediate results.
func TestSwiGLUExtremes(t *testing.T) {
	gate, up, dst := make([]float32, 32), make([]float32, 32), make([]float32, 32)
	for i := range gate {
		gate[i], up[i] = []float32{-1e30, -200, -90, -88, 0, 90, 1e30, float32(math.NaN())}[i%8], 2
	}
	SwiGLU(dst, gate, up)
	for i, g := range dst {
		want := 0.0
		switch x := float64(gate[i]); {
		case x != x:
			want = x
		default:
			want = x / (1 + math.Exp(-x)) * 2
		}
		if !(math.Abs(float64(g)-want) <= 1e-5*max(1, math.Abs(want))) && !(want != want && g != g) {
			t.Errorf("SwiGLU(%v, 2) is %v, want %v", gate[i], g, want)
		}
	}
}

func TestFinite(t *testing.T) {
	for n := range 70 {
		x := make([]float32, n)
		if !Finite(x) {
			t.Fatalf("%d zeros are not finite", n)
		}
		for i := range x {
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
				x[i] = bad
				if Finite(x) {
					t.Fatalf("%v at %d of %d went unseen", bad, i, n)
				}
			}
			x[i] = 0
		}
	}
}

// TestRope checks that rotation preserves lengths, and that products of rotated vectors depend only
// on the distance.
func TestRope(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, pairs := range []bool{false, true} {
		rope, err := NewRope(RopeConfig{Dims: 64, Pairs: pairs, Base: 10000})
		if err != nil {
			t.Fatal(err)
		}
		q, k := normals(r, 64), normals(r, 64)
		at := func(x []float32, pos int) []float32 {
			angles, y := make([]float32, 64), append([]float32(nil), x...)
			rope.Angles(angles, pos)
			rope.Turn(y, angles)
			return y
		}
		if a, b := Dot(at(q, 10), at(k, 3)), Dot(at(q, 1007), at(k, 1000)); math.Abs(float64(a-b)) > 1e-4 {
			t.Errorf("pairs %v: products at equal distance are %v and %v", pairs, a, b)
		}
		if a, b := Dot(q, q), Dot(at(q, 999), at(q, 999)); math.Abs(float64(a-b)) > 1e-4 {
			t.Errorf("pairs %v: length changed from %v to %v", pairs, a, b)
		}
	}
	for _, c := range []RopeConfig{{Dims: 3, Base: 1e4}, {Dims: 4, Base: 1e4, Factors: []float32{1}}, {Dims: 4, Base: float32(math.NaN())}} {
		if _, err := NewRope(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func BenchmarkVectors(b *testing.B) {
	const n = 2048
	r := rand.New(rand.NewPCG(1, 1))
	x, y, w := normals(r, n), normals(r, n), normals(r, n)
	for name, f := range map[string]func(){
		"RMSNorm": func() { RMSNorm(w, x, y, 1e-6) },
		"SwiGLU":  func() { SwiGLU(w, x, y) },
		"AddTo":   func() { AddTo(w, x) },
		"Axpy":    func() { Axpy(w, 0.5, x) },
		"Finite":  func() { Finite(x) },
		"Softmax": func() { copy(w, x); Softmax(w) },
	} {
		b.Run(fmt.Sprint(name, n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(4 * n)
			for b.Loop() {
				f()
			}
		})
	}
}
