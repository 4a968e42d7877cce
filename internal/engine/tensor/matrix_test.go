package tensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

func TestNewMatrixErrors(t *testing.T) {
	for _, c := range []struct {
		typ        gguf.Type
		rows, cols int
		data       int
		want       string
	}{
		{gguf.TypeQ4_0, 4, 48, 4 * 27, "not a multiple of the 32"},
		{gguf.TypeQ4_K, 4, 128, 4 * 72, "not a multiple of the 256"},
		{gguf.TypeQ8_0, 4, 32, 4*34 - 1, "not whole rows"},
		{gguf.TypeQ8_0, 4, 32, 5 * 34, "rows [0,5) of 4"},
		{gguf.TypeQ8_0, 0, 32, 0, "no values"},
		{gguf.TypeQ8_0, 4, 0, 0, "no values"},
		{gguf.TypeI32, 4, 32, 4 * 128, "no kernels for weights of type I32"},
		{gguf.Type(1000), 4, 32, 4 * 128, "not supported"},
	} {
		_, err := NewMatrix(c.typ, c.rows, c.cols, make([]byte, c.data), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "tensor: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %d×%d: %v, want %q", c.typ, c.rows, c.cols, err, c.want)
		}
	}
}

func TestSetRowsInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const rows, cols = 83, 512
	raw := weights(t, gguf.TypeQ4_K, rows, cols, rng)
	want, err := NewMatrix(gguf.TypeQ4_K, rows, cols, raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := NewArena(0)
	defer a.Close()
	got, err := NewMatrixRows(gguf.TypeQ4_K, rows, cols, a.Alloc)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for r := 0; r < rows; r += 32 {
		wg.Go(func() {
			if err := got.SetRows(r, raw[r*got.row:min(rows, r+32)*got.row]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if string(got.data) != string(want.data) {
		t.Fatal("set in pieces, the matrix differs")
	}
	for _, c := range [][2]int{{1, 16}, {0, 8}, {-16, 16}, {80, 16}} {
		if err := got.SetRows(c[0], make([]byte, c[1]*got.row)); err == nil {
			t.Errorf("rows from %d on, %d of them: no error", c[0], c[1])
		}
	}
}

func TestMulChecksItsArguments(t *testing.T) {
	m, err := NewMatrix(gguf.TypeQ8_0, 20, 64, make([]byte, 20*68), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b, other, raw Batch
	b.Reset(2, 64)
	b.Prepare(m, 0, 2)
	other.Reset(2, 32)
	raw.Reset(2, 64)
	dst := make([]float32, 40)
	for name, f := range map[string]func(){
		"columns":      func() { m.Mul(dst, 20, &other, nil, 0, 20) },
		"not prepared": func() { m.Mul(dst, 20, &raw, nil, 0, 20) },
		"first row":    func() { m.Mul(dst, 20, &b, nil, 8, 20) },
		"last row":     func() { m.Mul(dst, 20, &b, nil, 0, 18) },
		"rows":         func() { m.Mul(dst, 20, &b, nil, 0, 32) },
		"order":        func() { m.Mul(dst, 20, &b, nil, 16, 0) },
		"results":      func() { m.Mul(dst[:39], 20, &b, nil, 0, 20) },
		"token":        func() { m.Mul(dst, 20, &b, []int32{2}, 0, 20) },
		"minus token":  func() { m.Mul(dst, 20, &b, []int32{-1}, 0, 20) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestMulKernelSetsAgree checks that the vector kernel sets compute the same bits, and that weights
// whose scales are NaN do no harm and are visible in the result.
//
// Evidence: engine · The kernels of all processors agree
func TestMulKernelSetsAgree(t *testing.T) {
	sets := isas()[1:]
	rng := rand.New(rand.NewPCG(7, 7))
	random := func() byte { return byte(rng.Uint32()) }
	scales := map[string]func() uint16{
		"finite": func() uint16 { return uint16(rng.IntN(0x6000)) },
		"any":    func() uint16 { return uint16(rng.Uint32()) },
	}
	for _, typ := range allTypes {
		for name, scale := range scales {
			const rows, cols, n = 37, 768, 9
			raw := fill(typ, rows, cols, random, scale)
			var first []float32
			for _, with := range sets {
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
						b.F32(i)[k] = float32((i*cols+k)%37 - 18)
					}
				}
				b.Prepare(m, 0, n)
				got := make([]float32, n*rows)
				m.Mul(got, rows, &b, nil, 0, rows)
				if first == nil {
					first = got
				}
				for i := range got {
					if math.Float32bits(got[i]) != math.Float32bits(first[i]) && (got[i] == got[i] || first[i] == first[i]) {
						t.Fatalf("%v, %s scales: result %d is %g with %v, %g with %v", typ, name, i, got[i], with, first[i], sets[0])
					}
				}
			}
		}
	}
}

// Evidence: engine · A token allocates no memory
func TestMulDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("allocations are not counted under the race detector")
	}
	for _, with := range isas() {
		for _, typ := range allTypes {
			m, err := newMatrix(typ, 40, 256, nil, with)
			if err != nil {
				t.Fatal(err)
			}
			var b Batch
			b.Reset(5, 256)
			dst := make([]float32, 5*40)
			toks, row := []int32{3, 1, 1}, make([]float32, 256)
			if n := testing.AllocsPerRun(10, func() {
				b.Reset(5, 256)
				b.Prepare(m, 0, 5)
				m.Mul(dst, 40, &b, toks, 0, 40)
				m.Row(7, row)
			}); n != 0 {
				t.Errorf("%v, %v: %v allocations", with, typ, n)
			}
		}
	}
}

// ExampleMatrix_Mul multiplies a small matrix by two vectors.
func ExampleMatrix_Mul() {
	raw := make([]byte, 2*4*4)
	for i, v := range []float32{1, 2, 3, 4, 0, 1, 0, -1} {
		bits := math.Float32bits(v)
		raw[4*i], raw[4*i+1], raw[4*i+2], raw[4*i+3] = byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24)
	}
	m, err := NewMatrix(gguf.TypeF32, 2, 4, raw, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var b Batch
	b.Reset(2, 4)
	copy(b.F32(0), []float32{1, 1, 1, 1})
	copy(b.F32(1), []float32{1, 0, 0, 2})
	b.Prepare(m, 0, 2)
	dst := make([]float32, 4)
	m.Mul(dst, 2, &b, nil, 0, 2)
	fmt.Println(dst)
	// Output: [10 0 9 -2]
}
