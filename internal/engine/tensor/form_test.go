package tensor

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestRoundVector checks that the vector functions round exactly like the plain ones.
func TestRoundVector(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	inputs := map[string]func(i int) float32{
		"normal":    func(int) float32 { return float32(rng.NormFloat64()) },
		"zero":      func(int) float32 { return 0 },
		"minus":     func(int) float32 { return float32(math.Copysign(0, -1)) },
		"ties":      func(i int) float32 { return float32(i%255-127) / 2 },
		"equal":     func(i int) float32 { return float32(1 - i%2*2) },
		"subnormal": func(int) float32 { return math.Float32frombits(rng.Uint32() & 0x807fffff) },
		"any": func(int) float32 {
			return math.Float32frombits(rng.Uint32()&^(1<<30) | rng.Uint32()&0x3f000000)
		},
		"one large": func(i int) float32 {
			if i%70 == 3 {
				return -1e10
			}
			return 1
		},
	}
	for _, with := range isas()[1:] {
		for name, value := range inputs {
			for f := formQ8x8; f < forms; f++ {
				for range 20 {
					n := 32 * (1 + rng.IntN(24))
					if f.super() {
						n = (n + 255) &^ 255
					}
					x := make([]float32, n)
					for i := range x {
						x[i] = value(i)
					}
					size := (n + 255) / 256 * f.record()
					want, got := make([]byte, size), bytes.Repeat([]byte{0xaa}, size)
					f.round(isaGo, want, x)
					f.round(with, got, x)
					for i := range want {
						if want[i] != got[i] && !ignored(f, i) {
							t.Fatal(fmt.Sprintf("%v, %s, form %d, %d values: byte %d of a record is %d, want %d", with, name, f, n, i%f.record(), got[i], want[i]))
						}
					}
				}
			}
		}
	}
}

// ignored reports whether no kernel reads byte i of a record.
func ignored(f form, i int) bool {
	i %= f.record()
	return f.super() && (i >= 4 && i < recKSum32 || f == formKx128 && i >= recKInit+32 && i < recKQ)
}

// TestRoundNotFinite checks that activations with NaN or infinity do no harm.
func TestRoundNotFinite(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for _, with := range isas() {
			for f := formQ8x8; f < forms; f++ {
				x := make([]float32, 256)
				for i := range x {
					x[i] = float32(i)
				}
				x[17] = bad
				f.round(with, make([]byte, f.record()), x)
				for i := range x {
					x[i] = bad
				}
				f.round(with, make([]byte, f.record()), x)
			}
		}
	}
}
