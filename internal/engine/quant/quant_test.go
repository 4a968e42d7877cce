package quant

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// errorBounds holds the largest allowed relative error (root mean square) of a round trip, for
// normally distributed values and for values with heavier tails, which weights often have. The
// bounds are a few per cent above the measured errors.
var errorBounds = map[gguf.Type][2]float64{
	gguf.TypeF32:    {0, 0},
	gguf.TypeF16:    {0.00022, 0.00022},
	gguf.TypeBF16:   {0.00170, 0.00172},
	gguf.TypeQ8_0:   {0.00554, 0.00693},
	gguf.TypeQ6_K:   {0.01781, 0.02184},
	gguf.TypeQ5_0:   {0.04157, 0.05301},
	gguf.TypeQ5_1:   {0.03496, 0.04120},
	gguf.TypeQ5_K:   {0.03703, 0.04383},
	gguf.TypeQ4_0:   {0.08382, 0.10517},
	gguf.TypeQ4_1:   {0.07259, 0.08529},
	gguf.TypeQ4_K:   {0.07385, 0.08710},
	gguf.TypeIQ4_NL: {0.07609, 0.08757},
	gguf.TypeIQ4_XS: {0.07680, 0.08850},
	gguf.TypeMXFP4:  {0.11498, 0.12711},
	gguf.TypeQ3_K:   {0.14792, 0.17282},
	gguf.TypeQ2_K:   {0.27941, 0.31004},
}

// roundTrip quantises and dequantises x.
func roundTrip(t testing.TB, typ gguf.Type, x []float32) []float32 {
	t.Helper()
	n, err := typ.RowBytes(len(x))
	if err != nil {
		t.Fatal(err)
	}
	buf, out := make([]byte, n), make([]float32, len(x))
	if err := Quantize(typ, buf, x); err != nil {
		t.Fatal(err)
	}
	if err := Dequantize(typ, out, buf); err != nil {
		t.Fatal(err)
	}
	return out
}

// Evidence: engine · Quantization errors stay within their bounds
func TestRoundTripError(t *testing.T) {
	plain := normal(2, 256*256)
	r := rand.New(rand.NewPCG(3, 0))
	heavy := make([]float32, len(plain))
	for i := range heavy { // Laplace's distribution
		heavy[i] = float32(r.ExpFloat64() * float64(1-2*r.IntN(2)))
	}
	for _, typ := range Types() {
		bound, ok := errorBounds[typ]
		if !ok {
			t.Errorf("%v has no bound", typ)
		}
		for i, x := range [][]float32{plain, heavy} {
			e := rms(roundTrip(t, typ, x), x)
			t.Logf("%-7v %.5f (bound %.5f)", typ, e, bound[i])
			if e > bound[i] || e < bound[i]*0.9 {
				t.Errorf("%v: error %.5f, bound %.5f", typ, e, bound[i])
			}
		}
	}
}

// TestScale checks that the relative error does not depend on the size of the values, within the
// range of half-precision scales.
func TestScale(t *testing.T) {
	x := normal(4, 256*16)
	y := make([]float32, len(x))
	for _, typ := range Types() {
		for _, scale := range []float32{1e-2, 1, 1e3} {
			for i, v := range x {
				y[i] = v * scale
			}
			if e, bound := rms(roundTrip(t, typ, y), y), errorBounds[typ][0]*1.1; e > bound {
				t.Errorf("%v at %v: error %.5f, bound %.5f", typ, scale, e, bound)
			}
		}
	}
}

// TestExtremes checks that values that are all equal, far too large or far too small result in
// finite, plausible numbers.
func TestExtremes(t *testing.T) {
	for name, value := range map[string]func(i int) float32{
		"zero":       func(int) float32 { return 0 },
		"minus zero": func(int) float32 { return float32(math.Copysign(0, -1)) },
		"ones":       func(int) float32 { return 1 },
		"minus ones": func(int) float32 { return -1 },
		"one of":     func(i int) float32 { return float32(1 - min(i%256, 1)) },
		"far apart":  func(i int) float32 { return float32(math.Pow(10, float64(i%8)-8)) },
		"huge":       func(i int) float32 { return math.MaxFloat32 * float32(1-2*(i%2)) },
		"large":      func(i int) float32 { return 1e20 * float32(i%7) },
		"tiny":       func(i int) float32 { return 1e-30 * float32(i%7) },
		"subnormal":  func(i int) float32 { return math.SmallestNonzeroFloat32 * float32(i%7) },
	} {
		x := make([]float32, 512)
		var top float64
		for i := range x {
			x[i] = value(i)
			top = max(top, math.Abs(float64(x[i])))
		}
		for _, typ := range Types() {
			for i, v := range roundTrip(t, typ, x) {
				if math.IsInf(float64(v), 0) && (typ == gguf.TypeF16 || typ == gguf.TypeBF16) {
					continue // values beyond the largest number round to infinity
				}
				if a := math.Abs(float64(v)); a > top*1.1+1e-6 || v != v {
					t.Errorf("%s in %v: value %d is %v, not %v", name, typ, i, v, x[i])
					break
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	nan, inf := normal(1, 256), normal(1, 256)
	nan[77], inf[78] = float32(math.NaN()), float32(math.Inf(-1))
	for _, typ := range Types() {
		n, _ := typ.RowBytes(256)
		for _, err := range []error{
			Dequantize(typ, make([]float32, 256), make([]byte, n-1)), Dequantize(typ, make([]float32, 256), make([]byte, n+1)),
			Quantize(typ, make([]byte, n-1), make([]float32, 256)), Quantize(typ, make([]byte, n+1), make([]float32, 256)),
		} {
			if err == nil || !strings.Contains(err.Error(), "256 values of "+typ.String()+" are") {
				t.Errorf("%v: a wrong length gives %v", typ, err)
			}
		}
		if typ.BlockSize() == 1 {
			continue
		}
		if err := Dequantize(typ, make([]float32, 33), nil); err == nil || !strings.Contains(err.Error(), "not a multiple") {
			t.Errorf("%v: 33 values give %v", typ, err)
		}
		buf := make([]byte, n)
		if err := Quantize(typ, buf, nan); err == nil || !strings.Contains(err.Error(), "value 77 is NaN") {
			t.Errorf("%v: NaN gives %v", typ, err)
		}
		if err := Quantize(typ, buf, inf); err == nil || !strings.Contains(err.Error(), "value 78 is -Inf") {
			t.Errorf("%v: infinity gives %v", typ, err)
		}
	}
	for _, typ := range []gguf.Type{gguf.TypeI32, 4, 16, 999} {
		if err := Dequantize(typ, make([]float32, 256), make([]byte, 1024)); err == nil || !strings.Contains(err.Error(), "is not supported (supported: [F32 ") {
			t.Errorf("%v: %v", typ, err)
		}
	}
}

// FuzzDequantize checks that any bytes of the right length can be decoded, and that the values, if
// finite, can be stored again.
func FuzzDequantize(f *testing.F) {
	for i := range Types() {
		f.Add(uint8(i), scrambled(220))
		f.Add(uint8(i), make([]byte, 220))
		f.Add(uint8(i), []byte(strings.Repeat("\xff", 220)))
		f.Add(uint8(i), []byte(strings.Repeat("\x7f\xfe\x00\x7c", 55)))
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		typ := Types()[int(i)%len(Types())]
		blocks := min(len(data)/typ.BlockBytes(), 64)
		out := make([]float32, blocks*typ.BlockSize())
		n := blocks * typ.BlockBytes()
		if err := Dequantize(typ, out, data[:n]); err != nil {
			t.Fatal(err)
		}
		if len(data) > n && Dequantize(typ, out, data[:n+1]) == nil {
			t.Fatal("a wrong length is no error")
		}
		err := Quantize(typ, make([]byte, n), out)
		if finite := firstNonFinite(out) < 0; finite != (err == nil) && typ.BlockSize() > 1 {
			t.Fatal(err)
		}
	})
}

// FuzzQuantize checks that the error of storing any finite numbers is not greater than that of
// storing zeros.
func FuzzQuantize(f *testing.F) {
	for i := range Types() {
		f.Add(uint8(i), scrambled(1024))
		f.Add(uint8(i), binary.LittleEndian.AppendUint32(nil, math.Float32bits(1)))
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		typ := Types()[int(i)%len(Types())]
		x := make([]float32, 256)
		var top float64
		for k := range x {
			if len(data) >= 4 {
				x[k] = math.Float32frombits(binary.LittleEndian.Uint32(data))
				data = data[4:]
			}
			top = max(top, math.Abs(float64(x[k])))
		}
		n, _ := typ.RowBytes(256)
		buf := make([]byte, n)
		if Quantize(typ, buf, x) != nil {
			if firstNonFinite(x) < 0 {
				t.Fatal("finite values were refused")
			}
			return
		}
		out := make([]float32, 256)
		if err := Dequantize(typ, out, buf); err != nil {
			t.Fatal(err)
		}
		// Outside this range, half-precision scales clip or lose their last bits.
		if e := rms(out, x); firstNonFinite(x) < 0 && top < 60000 && top > 1e-3 && !(e <= 1.001) {
			t.Fatalf("%v: relative error %v for %v", typ, e, x)
		}
	})
}
