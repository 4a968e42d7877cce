package quant

import "math"

// HalfToFloat converts an IEEE 754 binary16 number; the result is exact. NaNs stay NaNs and become
// quiet.
func HalfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero and subnormal: frac·2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*(1.0/(1<<24))))
	case 0x1f:
		if frac != 0 {
			frac |= 0x200
		}
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// FloatToHalf rounds to the nearest IEEE 754 binary16 number, ties to even. Values that are too
// large become infinities. NaNs stay NaNs, become quiet and keep the upper bits of their payload.
func FloatToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case b < 0x38800000: // below 2⁻¹⁴: subnormal, so adding 0.5 aligns the last bit of the half to that of the sum
		sum := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	}
	// Rebias the exponent. Adding half a unit in the last place, minus one, plus the last bit,
	// rounds ties to even. A carry runs into the exponent, up to infinity.
	b += 0xc8000fff + b>>13&1
	return sign | uint16(b>>13)
}

// BF16ToFloat converts a bfloat16 number, the upper half of a float32; the result is exact.
func BF16ToFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// FloatToBF16 rounds to the nearest bfloat16 number, ties to even. NaNs stay NaNs and become quiet.
func FloatToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
