package quant

import (
	"math"
	"math/big"
	"testing"
)

// halfValue computes a binary16 number from the format's definition.
func halfValue(h uint16) float64 {
	sign := 1.0
	if h>>15 != 0 {
		sign = -1
	}
	exp, frac := int(h>>10&31), float64(h&1023)
	switch {
	case exp == 31 && frac != 0:
		return math.NaN()
	case exp == 31:
		return sign * math.Inf(1)
	case exp == 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	}
	return sign * math.Ldexp(1+frac/1024, exp-15)
}

func TestHalfToFloat(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		got, want := HalfToFloat(h), halfValue(h)
		if math.Float64bits(float64(got)) != math.Float64bits(want) && !(want != want && got != got) {
			t.Fatalf("%04x: %v, not %v", h, got, want)
		}
		// A number that a half can represent is converted to itself; a NaN stays a NaN with its
		// sign.
		back := FloatToHalf(got)
		if want == want && back != h {
			t.Fatalf("%04x comes back as %04x", h, back)
		}
		if want != want && (back&0x7c00 != 0x7c00 || back&0x3ff == 0 || back>>15 != h>>15) {
			t.Fatalf("NaN %04x comes back as %04x", h, back)
		}
	}
}

// TestFloatToHalf tests the midpoints between neighbouring halves and the numbers next to them,
// where rounding decides.
func TestFloatToHalf(t *testing.T) {
	for i := range 0x7c00 {
		lo, hi := halfValue(uint16(i)), halfValue(uint16(i+1))
		if i == 0x7bff {
			hi = 65536 // the successor of the largest half, if it existed; from the midpoint on, values become infinity
		}
		mid := float32((lo + hi) / 2) // exact: one bit more than a half has
		even := uint16(i + i&1)
		for _, tt := range []struct {
			x    float32
			want uint16
		}{{math.Nextafter32(mid, 0), uint16(i)}, {mid, even}, {math.Nextafter32(mid, 1e9), uint16(i + 1)}} {
			if got := FloatToHalf(tt.x); got != tt.want {
				t.Fatalf("%v: %04x, not %04x", tt.x, got, tt.want)
			}
			if got := FloatToHalf(-tt.x); got != tt.want|0x8000 {
				t.Fatalf("%v: %04x, not %04x", -tt.x, got, tt.want|0x8000)
			}
		}
	}
	for x, want := range map[float32]uint16{65504: 0x7bff, 65519.996: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, float32(math.Inf(1)): 0x7c00, 1e-40: 0, 0: 0} {
		if got := FloatToHalf(x); got != want {
			t.Errorf("%v: %04x, not %04x", x, got, want)
		}
	}
}

// TestBF16 tests every bfloat16 number and the midpoint after it.
func TestBF16(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		x := BF16ToFloat(h)
		if math.Float32bits(x) != uint32(h)<<16 {
			t.Fatalf("%04x is %v", h, x)
		}
		back := FloatToBF16(x)
		if x != x {
			if y := BF16ToFloat(back); y == y {
				t.Fatalf("NaN %04x comes back as %04x", h, back)
			}
			continue
		}
		if back != h {
			t.Fatalf("%04x comes back as %04x", h, back)
		}
		if h&0x7fff >= 0x7f80 {
			continue // infinity has no successor
		}
		for add, want := range map[uint32]uint16{0x7fff: h, 0x8000: h + h&1, 0x8001: h + 1} {
			if got := FloatToBF16(math.Float32frombits(uint32(h)<<16 + add)); got != want {
				t.Fatalf("%04x + %04x: %04x, not %04x", h, add, got, want)
			}
		}
	}
}

// FuzzHalf compares the conversion with the rounding of math/big.
func FuzzHalf(f *testing.F) {
	for _, x := range []float32{0, 1, -1.5, 65504, 65520, 6e-8, 6.1e-5, float32(math.Inf(-1))} {
		f.Add(math.Float32bits(x))
	}
	f.Fuzz(func(t *testing.T, bits uint32) {
		x := math.Float32frombits(bits)
		h := FloatToHalf(x)
		if x != x {
			if y := HalfToFloat(h); y == y {
				t.Fatalf("NaN became %v", y)
			}
			return
		}
		if math.IsInf(float64(x), 0) || math.Abs(float64(x)) >= 65520 {
			if y := HalfToFloat(h); !math.IsInf(float64(y), 0) || y > 0 != (x > 0) {
				t.Fatalf("%v became %v", x, y)
			}
			return
		}
		prec := uint(11)
		if _, e := math.Frexp(float64(x)); e < -13 { // subnormal: the last bit is 2⁻²⁴
			prec = uint(max(e+24, 0))
		}
		want := 0.0
		if prec > 0 {
			want, _ = new(big.Float).SetPrec(prec).SetFloat64(float64(x)).Float64()
		} else if math.Abs(float64(x)) > 0x1p-25 {
			want = math.Copysign(0x1p-24, float64(x))
		}
		if got := float64(HalfToFloat(h)); got != want {
			t.Fatalf("%v became %v, not %v", x, got, want)
		}
	})
}
