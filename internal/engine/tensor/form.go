package tensor

import (
	"encoding/binary"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// form is a way to round activations, together with the sums that compensate for weights stored as
// unsigned numbers.
type form uint8

const (
	formF32    form = iota // not rounded
	formBF16               // numbers rounded to bfloat16 and stored in 4 bytes, as ggml does for BF16 weights
	formQ8x8               // blocks of 32; init = -8·Σq
	formQ8x16              // init = -16·Σq
	formQ8x128             // init = -128·Σq
	formQ8sum              // blocks of 32; instead of init the sum d·Σq as f32 (ggml's Q8_1 rounds that to half precision, which can overflow)
	formK                  // super-blocks of 256; sums over 16 and 32 values in pairs; init = -32·Σq over 16
	formKx128              // super-blocks of 256; init = -128·Σq over 32
	forms
)

// The rounded activations of a token are one record of record() bytes for each chunk of 256 columns
// (the last is padded with zeros). All numbers are little-endian and 4 bytes wide unless stated
// otherwise.
//
//	blocks of 32                          super-blocks of 256
//	  0  d, scale of each of 8 blocks       0  d
//	 32  init of each block               16  4 pairs of int16: sums over 32 values
//	 64  256 int8                         32  8 pairs of int16: sums over 16 values
//	                                      64  16 (formK) or 8 (formKx128) inits
//	                                     128  256 int8
const (
	recD      = 0
	recInit   = 32
	recQ      = 64
	recBytes  = 64 + chunkCols
	recKSum32 = 16
	recKSum16 = 32
	recKInit  = 64
	recKQ     = 128
	recKBytes = 128 + chunkCols
)

func (f form) super() bool { return f == formK || f == formKx128 }

// record returns the size of one chunk's record, or 0 if activations are not rounded.
func (f form) record() int {
	switch {
	case f == formF32:
		return 0
	case f == formBF16:
		return chunkCols * 4
	case f.super():
		return recKBytes
	}
	return recBytes
}

// offset returns the number that was added to the weights to make them unsigned.
func (f form) offset() int32 {
	return [forms]int32{formQ8x8: 8, formQ8x16: 16, formQ8x128: 128, formK: 32, formKx128: 128}[f]
}

// round writes the records of the row x to dst. For finite values, all kernel sets produce the same
// bits.
func (f form) round(with isa, dst []byte, x []float32) {
	if f == formBF16 {
		for i, v := range x {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(quant.BF16ToFloat(quant.FloatToBF16(v))))
		}
		return
	}
	size := f.record()
	for len(x) > 0 {
		n := min(chunkCols, len(x))
		if with == isaGo || !f.roundVector(with, dst[:size], x[:n]) {
			if f.super() {
				f.roundSuper(dst[:size], x[:n])
			} else {
				f.roundBlocks(dst[:size], x[:n])
			}
		}
		dst, x = dst[size:], x[n:]
	}
}

// nearest rounds half to even, like the floating-point unit; |x| must be below 2²². The conversion
// keeps compilers from fusing a product x with the sum.
func nearest(x float32) int32 {
	const magic = 12582912 // 1.5·2²³
	return int32(math.Float32bits(float32(x)+magic)&0x7fffff) - 0x400000
}

// clamp8 clamps v to an int8; only values that were not finite are outside the range.
func clamp8(v int32) int32 { return min(127, max(-128, v)) }

// Blocks whose largest magnitude is at most tinyBlock, and super-blocks whose largest magnitude is
// below tinySuper, are rounded to zero. The scale of such a block is zero in half precision;
// without these limits the inverse of a scale could be infinite.
const (
	tinyBlock = 0x1p-60
	tinySuper = 0x1p-100
)

// roundBlocks rounds up to 8 blocks of 32 as ggml does for Q8_0 on x86: the scale is stored in half
// precision, but the numbers are computed with the exact scale.
func (f form) roundBlocks(dst []byte, x []float32) {
	clear(dst)
	for b := 0; b*32 < len(x); b++ {
		v := x[b*32 : b*32+32]
		var amax float32
		for _, e := range v {
			if a := abs(e); a > amax {
				amax = a
			}
		}
		d := amax / 127
		var inv float32
		if amax > tinyBlock {
			inv = 127 / amax
		}
		var sum int32
		for i, e := range v {
			q := clamp8(nearest(e * inv))
			dst[recQ+b*32+i] = byte(q)
			sum += q
		}
		half := quant.HalfToFloat(quant.FloatToHalf(d))
		binary.LittleEndian.PutUint32(dst[recD+4*b:], math.Float32bits(half))
		init := uint32(-f.offset() * sum)
		if f == formQ8sum {
			init = math.Float32bits(half * float32(sum))
		}
		binary.LittleEndian.PutUint32(dst[recInit+4*b:], init)
	}
}

// roundSuper rounds 256 values as ggml does for Q8_K: the value of largest magnitude becomes -127.
func (f form) roundSuper(dst []byte, x []float32) {
	var amax, peak float32
	for _, e := range x {
		if a := abs(e); a > amax {
			amax, peak = a, e
		}
	}
	clear(dst)
	if amax < tinySuper {
		return
	}
	scale := -127 / peak
	var sums [16]int32
	for i, e := range x {
		q := clamp8(nearest(scale * e))
		dst[recKQ+i] = byte(q)
		sums[i/16] += q
	}
	binary.LittleEndian.PutUint32(dst, math.Float32bits(1/scale))
	for i, s := range sums {
		binary.LittleEndian.PutUint16(dst[recKSum16+2*i:], uint16(s))
		if f == formK {
			binary.LittleEndian.PutUint32(dst[recKInit+4*i:], uint32(-32*s))
		}
	}
	for i := range 8 {
		s := sums[2*i] + sums[2*i+1]
		binary.LittleEndian.PutUint16(dst[recKSum32+2*i:], uint16(s))
		if f == formKx128 {
			binary.LittleEndian.PutUint32(dst[recKInit+4*i:], uint32(-128*s))
		}
	}
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }
