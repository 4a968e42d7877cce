package quant

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// rms returns the root mean square of got-want relative to that of want.
func rms(got, want []float32) float64 {
	var e, s float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		e += d * d
		s += float64(w) * float64(w)
	}
	if s == 0 {
		return math.Sqrt(e)
	}
	return math.Sqrt(e / s)
}

// values returns the first values of a tensor: whole rows, and enough of them for a reliable
// result.
func values(t testing.TB, x gguf.Tensor) []float32 {
	t.Helper()
	rows := min(x.Rows(), max(1<<15/x.Dims[0], 1))
	out := make([]float32, rows*x.Dims[0])
	n, err := x.Type.RowBytes(len(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := Dequantize(x.Type, out, x.Data[:n]); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReal reads models that llama.cpp quantised from the same F16 file. A wrong layout would
// result in weights unrelated to the original. In addition, this package's rounding must not be
// worse than that of llama.cpp.
func TestReal(t *testing.T) {
	truth, err := gguf.Open(devdata.Path(t, "moe-dev/models/microk-f16.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer truth.Close()
	for _, path := range devdata.Glob(t, "moe-dev/models/microk-*.gguf") {
		slack := 1.02
		if devdata.Sampled(t, path) {
			slack = 1.08 // the samples were quantised by trying over a hundred scales for each block
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, x := range f.Tensors() {
				w, ok := truth.Tensor(x.Name)
				if !ok {
					t.Fatalf("%s is not in the original", x.Name)
				}
				want := values(t, w)
				theirs := rms(values(t, x), want)
				if bound := errorBounds[x.Type][0] * 1.1; theirs > bound {
					t.Errorf("%s is %v with an error of %.5f, more than %.5f", x.Name, x.Type, theirs, bound)
				}
				if ours := rms(roundTrip(t, x.Type, want), want); ours > theirs*slack {
					t.Errorf("%s as %v: our error is %.5f, theirs %.5f", x.Name, x.Type, ours, theirs)
				}
			}
		})
	}
}
