package tensor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMulAgainstGo checks that the NEON kernels compute the same bits as the plain ones. The plain
// kernels round sums first to 64 bits and then to 32, which changes the last bit of very few
// results. The memory after the weights is unreadable.
//
// Evidence: engine · The kernels of all processors agree
func TestMulAgainstGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, with := range isas()[1:] {
		for _, typ := range allTypes {
			rows, cols, n := 48, 512, 9
			if typ.BlockSize() == 32 {
				cols += 96
			}
			if typ.BlockSize() == 1 {
				cols += 7
			}
			raw := weights(t, typ, rows, cols, rng)
			var results [2][]float32
			for i, set := range []isa{isaGo, with} {
				m, err := newMatrix(typ, rows, cols, func(n int) []byte { return guarded(t, n) }, set)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.SetRows(0, raw); err != nil {
					t.Fatal(err)
				}
				var b Batch
				b.Reset(n, cols)
				for j := range n {
					for k := range b.F32(j) {
						b.F32(j)[k] = float32(math.Sin(float64(j*cols+k) * 1.7))
					}
				}
				b.Prepare(m, 0, n)
				results[i] = make([]float32, n*rows)
				m.Mul(results[i], rows, &b, nil, 0, rows)
			}
			differ := 0
			for i, want := range results[0] {
				if got := results[1][i]; got != want {
					differ++
					if math.Abs(float64(got-want)) > 1e-5*math.Abs(float64(want))+1e-6 {
						t.Fatalf("%v, %v: result %d is %g, want %g", with, typ, i, got, want)
					}
				}
			}
			if differ > len(results[0])/100 {
				t.Errorf("%v, %v: %d of %d results differ in the last bits", with, typ, differ, len(results[0]))
			}
		}
	}
}

// TestKernelsForAllTypes checks that no type silently falls back to plain Go.
func TestKernelsForAllTypes(t *testing.T) {
	for _, typ := range allTypes {
		if !runDot(typ, 0, nil) || !runNEON(typ, 0, nil) { // no kernel takes 0 tokens, so none runs
			t.Errorf("%v: there is no kernel", typ)
		}
	}
}
