package quant

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// scrambled returns n bytes of a linear congruential generator, which is easy to write in any
// language.
func scrambled(n int) []byte {
	x, out := uint64(1), make([]byte, n)
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		out[i] = byte(x >> 56)
	}
	return out
}

// checksum returns the FNV-1a hash of the values' bits; all NaNs count as equal.
func checksum(x []float32) (sum uint64, nans int) {
	h := fnv.New64a()
	for _, v := range x {
		b := math.Float32bits(v)
		if v != v {
			b = 0x7fc00000
			nans++
		}
		h.Write(binary.LittleEndian.AppendUint32(nil, b))
	}
	return h.Sum64(), nans
}

// TestDequantizeGolden compares the results with those of ggml 0.21 (libggml-base, its scalar row
// functions) for the same 16384 values. The values come from random bytes, so that there are
// infinite, subnormal and NaN scales among them.
//
// Evidence: engine · Dequantized values have the bits of ggml's
func TestDequantizeGolden(t *testing.T) {
	for _, tt := range []struct {
		typ  gguf.Type
		sum  uint64
		nans int
	}{
		{gguf.TypeF16, 0xf1c05d7a8d65e649, 509},
		{gguf.TypeBF16, 0x7acb139564d3986b, 76},
		{gguf.TypeQ4_0, 0xeed445b0f4495286, 736},
		{gguf.TypeQ4_1, 0xa64404d890f94b52, 1088},
		{gguf.TypeQ5_0, 0x8a4df340b33c4c92, 576},
		{gguf.TypeQ5_1, 0x41250c891cd52c12, 864},
		{gguf.TypeQ8_0, 0xba5deea2764bec6e, 544},
		{gguf.TypeQ2_K, 0xb1a7f4e207869efa, 1024},
		{gguf.TypeQ3_K, 0xbaf6c0524af8b3a7, 256},
		{gguf.TypeQ4_K, 0x08716b190eef6555, 1536},
		{gguf.TypeQ5_K, 0x12e9933ee3035dc4, 512},
		{gguf.TypeQ6_K, 0xe75562e7a829b612, 768},
		{gguf.TypeIQ4_NL, 0xc98902416b061602, 736},
		{gguf.TypeIQ4_XS, 0x6fd208ec0da541ee, 0},
		{gguf.TypeMXFP4, 0xae4507568a874a31, 0},
	} {
		t.Run(tt.typ.String(), func(t *testing.T) {
			out := make([]float32, 16384)
			n, _ := tt.typ.RowBytes(len(out))
			if err := Dequantize(tt.typ, out, scrambled(n)); err != nil {
				t.Fatal(err)
			}
			if sum, nans := checksum(out); sum != tt.sum || nans != tt.nans {
				t.Errorf("checksum %016x with %d NaNs, ggml's is %016x with %d; the first values are %v", sum, nans, tt.sum, tt.nans, out[:4])
			}
		})
	}
}
