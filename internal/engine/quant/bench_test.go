package quant

import (
	"math/rand/v2"
	"testing"
)

// normal returns n normally distributed values, which are the same for the same seed.
func normal(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

const benchValues = 64 * 1024

func BenchmarkDequantize(b *testing.B) {
	x := normal(1, benchValues)
	for _, t := range Types() {
		b.Run(t.String(), func(b *testing.B) {
			n, _ := t.RowBytes(len(x))
			buf := make([]byte, n)
			if err := Quantize(t, buf, x); err != nil {
				b.Fatal(err)
			}
			out := make([]float32, len(x))
			b.SetBytes(int64(4 * len(x)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Dequantize(t, out, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkQuantize(b *testing.B) {
	x := normal(1, benchValues)
	for _, t := range Types() {
		b.Run(t.String(), func(b *testing.B) {
			n, _ := t.RowBytes(len(x))
			buf := make([]byte, n)
			b.SetBytes(int64(4 * len(x)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Quantize(t, buf, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
