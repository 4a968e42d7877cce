package quant

import (
	"fmt"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// codec converts whole blocks. The callers have checked the lengths.
type codec struct {
	decode func(dst []float32, src []byte)
	encode func(dst []byte, src []float32)
	plain  bool // one value per block, so NaN and infinity can be kept
}

func codecOf(t gguf.Type) (codec, bool) {
	switch t {
	case gguf.TypeF32:
		return codec{decodeF32, encodeF32, true}, true
	case gguf.TypeF16:
		return codec{decodeF16, encodeF16, true}, true
	case gguf.TypeBF16:
		return codec{decodeBF16, encodeBF16, true}, true
	case gguf.TypeQ8_0:
		return codec{decode: decodeQ8_0, encode: encodeQ8_0}, true
	case gguf.TypeQ4_0:
		return codec{decode: decodeQ4_0, encode: encodeQ4_0}, true
	case gguf.TypeQ4_1:
		return codec{decode: decodeQ4_1, encode: encodeQ4_1}, true
	case gguf.TypeQ5_0:
		return codec{decode: decodeQ5_0, encode: encodeQ5_0}, true
	case gguf.TypeQ5_1:
		return codec{decode: decodeQ5_1, encode: encodeQ5_1}, true
	case gguf.TypeQ2_K:
		return codec{decode: decodeQ2K, encode: encodeQ2K}, true
	case gguf.TypeQ3_K:
		return codec{decode: decodeQ3K, encode: encodeQ3K}, true
	case gguf.TypeQ4_K:
		return codec{decode: decodeQ4K, encode: encodeQ4K}, true
	case gguf.TypeQ5_K:
		return codec{decode: decodeQ5K, encode: encodeQ5K}, true
	case gguf.TypeQ6_K:
		return codec{decode: decodeQ6K, encode: encodeQ6K}, true
	case gguf.TypeIQ4_NL:
		return codec{decode: decodeIQ4NL, encode: encodeIQ4NL}, true
	case gguf.TypeIQ4_XS:
		return codec{decode: decodeIQ4XS, encode: encodeIQ4XS}, true
	case gguf.TypeMXFP4:
		return codec{decode: decodeMXFP4, encode: encodeMXFP4}, true
	}
	return codec{}, false
}

// Types lists the types that can be converted.
func Types() []gguf.Type {
	var out []gguf.Type
	for t := gguf.Type(0); t <= gguf.TypeMXFP4; t++ {
		if _, ok := codecOf(t); ok {
			out = append(out, t)
		}
	}
	return out
}

// Dequantize writes the values of a row of type t in src to dst, exactly as ggml does. len(dst)
// must be a multiple of the type's block size, and src must have exactly the bytes of that many
// values. Any bytes are valid; a value may be NaN.
func Dequantize(t gguf.Type, dst []float32, src []byte) error {
	c, err := find("dequantize", t, len(dst), len(src))
	if err != nil {
		return err
	}
	c.decode(dst, src)
	return nil
}

// Quantize writes the values of src to dst as a row of type t, searching for the block scales with
// the least squared error. len(src) must be a multiple of the type's block size, and dst must have
// exactly the bytes of that many values. For types with blocks, NaN and infinity are errors,
// because they would spoil their neighbours; dst is then unchanged. Values too large for any block
// scale are clipped.
func Quantize(t gguf.Type, dst []byte, src []float32) error {
	c, err := find("quantize", t, len(src), len(dst))
	if err != nil {
		return err
	}
	if !c.plain && anyBeyond(src, clip) {
		if i := firstNonFinite(src); i >= 0 {
			return fmt.Errorf("quant: quantize: value %d is %v, which %v cannot hold", i, src[i], t)
		}
		if t != gguf.TypeMXFP4 { // its scales have the range of float32
			src = clipped(src)
		}
	}
	c.encode(dst, src)
	return nil
}

func find(verb string, t gguf.Type, values, bytes int) (codec, error) {
	c, ok := codecOf(t)
	if !ok {
		return c, fmt.Errorf("quant: %s: type %v is not supported (supported: %v)", verb, t, Types())
	}
	want, err := t.RowBytes(values)
	if err != nil {
		return c, fmt.Errorf("quant: %s: %w", verb, err)
	}
	if bytes != want {
		return c, fmt.Errorf("quant: %s: %d values of %v are %d bytes, not %d", verb, values, t, want, bytes)
	}
	return c, nil
}

// clip is far above the largest value of a block with half-precision scales, 65504·128·63, and far
// enough below the largest float32 for the sums of a fit.
const clip = 1 << 40

// anyBeyond reports whether any value is NaN or has a magnitude of limit or more.
func anyBeyond(x []float32, limit float32) bool {
	const sign = 1 << 31
	carry := sign - math.Float32bits(limit) // magnitudes from limit on carry into the highest bit
	var seen uint32
	for _, v := range x {
		seen |= math.Float32bits(v)&^sign + carry
	}
	return seen&sign != 0
}

// firstNonFinite returns the index of the first NaN or infinity, or -1 if there is none.
func firstNonFinite(x []float32) int {
	for i, v := range x {
		if v-v != 0 {
			return i
		}
	}
	return -1
}

func clipped(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = min(max(v, -clip), clip)
	}
	return out
}
