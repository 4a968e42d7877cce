package quant

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/gguf"
)

const models = "../../../shared/moe-dev/models/"

// rms is the root of the mean square of got-want over that of want.
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

func values(t testing.TB, x gguf.Tensor) []float32 {
	t.Helper()
	out := make([]float32, x.Rows()*x.Dims[0])
	if err := Dequantize(x.Type, out, x.Data); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDequantizeReal reads models that llama.cpp quantised from one and the same file: a wrong layout would
// give weights that have nothing to do with the original's.
func TestDequantizeReal(t *testing.T) {
	for _, orig := range []string{"microk-f16.gguf", "microk-lq-BF16.gguf"} {
		truth, err := gguf.Open(models + orig)
		if err != nil {
			t.Skip("no development models: ", err)
		}
		defer truth.Close()
		paths, _ := filepath.Glob(models + "microk-*.gguf")
		for _, path := range paths {
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			worst := map[gguf.Type]float64{}
			mine := map[gguf.Type]float64{}
			for _, x := range f.Tensors() {
				w, ok := truth.Tensor(x.Name)
				if !ok {
					t.Fatal(x.Name)
				}
				want := values(t, w)
				worst[x.Type] = max(worst[x.Type], rms(values(t, x), want))
				buf := make([]byte, len(x.Data))
				if err := Quantize(x.Type, buf, want); err != nil {
					t.Fatal(err)
				}
				got := make([]float32, len(want))
				Dequantize(x.Type, got, buf)
				mine[x.Type] = max(mine[x.Type], rms(got, want))
			}
			for k, v := range worst {
				t.Logf("%s %s %v theirs %.5f ours %.5f", orig, filepath.Base(path), k, v, mine[k])
			}
			f.Close()
		}
	}
}
