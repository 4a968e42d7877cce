package tensor

import (
	"encoding/binary"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// roundVector rounds a chunk like roundBlocks and roundSuper.
func (f form) roundVector(_ isa, dst []byte, x []float32) bool {
	clear(dst)
	var sums [16]int16
	if f.super() {
		f.superNEON(dst, x, &sums)
		return true
	}
	for b := 0; b*32 < len(x); b++ {
		v := x[b*32 : b*32+32]
		low, high := peaksNEON(&v[0], len(v))
		amax := max(high, -low)
		var inv float32
		if amax > tinyBlock {
			inv = 127 / amax
		}
		roundNEON(&dst[recQ+b*32], &sums[0], &v[0], len(v), inv)
		sum := int32(sums[0]) + int32(sums[1])
		half := quant.HalfToFloat(quant.FloatToHalf(amax / 127))
		init := uint32(-f.offset() * sum)
		if f == formQ8sum {
			init = math.Float32bits(half * float32(sum))
		}
		binary.LittleEndian.PutUint32(dst[recD+4*b:], math.Float32bits(half))
		binary.LittleEndian.PutUint32(dst[recInit+4*b:], init)
	}
	return true
}

func (f form) superNEON(dst []byte, x []float32, sums *[16]int16) {
	low, high := peaksNEON(&x[0], len(x))
	peak := high
	switch {
	case -low > high:
		peak = low
	case -low == high: // the first value of that magnitude decides the sign
		for _, e := range x {
			if abs(e) == high {
				peak = e
				break
			}
		}
	}
	if abs(peak) < tinySuper {
		return
	}
	scale := -127 / peak
	roundNEON(&dst[recKQ], &sums[0], &x[0], len(x), scale)
	binary.LittleEndian.PutUint32(dst, math.Float32bits(1/scale))
	f.putSums(dst, sums)
}

// putSums writes the sums over 16 values, the sums of pairs of these, and the inits that compensate
// for unsigned weights.
func (f form) putSums(dst []byte, sums *[16]int16) {
	for i, s := range sums {
		binary.LittleEndian.PutUint16(dst[recKSum16+2*i:], uint16(s))
		if f == formK {
			binary.LittleEndian.PutUint32(dst[recKInit+4*i:], uint32(-32*int32(s)))
		}
	}
	for i := range 8 {
		s := int32(sums[2*i]) + int32(sums[2*i+1])
		binary.LittleEndian.PutUint16(dst[recKSum32+2*i:], uint16(s))
		if f == formKx128 {
			binary.LittleEndian.PutUint32(dst[recKInit+4*i:], uint32(-128*s))
		}
	}
}
