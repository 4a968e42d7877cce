package main

import (
	"encoding/binary"
	"math"
)

// format is a tensor type.
type format struct {
	name   string
	number uint32 // the type's number in the file format
	encode func([]float32) []byte
}

var (
	f32 = format{"F32", 0, func(x []float32) (out []byte) {
		for _, v := range x {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
		return out
	}}
	f16 = format{"F16", 1, func(x []float32) (out []byte) {
		for _, v := range x {
			out = binary.LittleEndian.AppendUint16(out, half(float64(v)))
		}
		return out
	}}
	q40 = format{"Q4_0", 2, blocks(32, encodeQ40)}
	q80 = format{"Q8_0", 8, blocks(32, encodeQ80)}
	q4k = format{"Q4_K", 12, blocks(256, encodeQ4K)}
	q5k = format{"Q5_K", 13, blocks(256, encodeQ5K)}
	q6k = format{"Q6_K", 14, blocks(256, encodeQ6K)}
)

// blocks encodes values block by block.
func blocks(size int, encode func(x []float64) []byte) func([]float32) []byte {
	return func(x []float32) (out []byte) {
		for i := 0; i < len(x); i += size {
			block := make([]float64, size)
			for j := range block {
				block[j] = float64(x[i+j])
			}
			out = append(out, encode(block)...)
		}
		return out
	}
}

// half returns the half-precision number nearest to v, computed from the exponent of v. v is
// smaller than 65504.
func half(v float64) uint16 {
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	exp := -14
	if v >= math.Ldexp(1, -14) {
		exp = math.Ilogb(v)
	}
	steps := math.RoundToEven(math.Ldexp(v, 10-exp)) // of 2^(exp-10)
	if exp == -14 {
		return sign | uint16(steps) // the first 1024 values are subnormal; the normal ones follow without a gap
	}
	return sign | uint16(int(steps)+(exp+14)<<10)
}

// unhalf returns the value of a finite half-precision number.
func unhalf(h uint16) float64 {
	exp, frac := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(frac, -24)
	if exp > 0 {
		v = math.Ldexp(1024+frac, exp-25)
	}
	if h&0x8000 != 0 {
		return -v
	}
	return v
}

// encodeQ80 encodes a block of Q8_0: a scale, and 32 numbers of 8 bits.
func encodeQ80(x []float64) []byte {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	d := half(most / 127)
	out := binary.LittleEndian.AppendUint16(nil, d)
	for _, v := range x {
		out = append(out, byte(int8(level(v, unhalf(d), -127, 127))))
	}
	return out
}

// encodeQ40 encodes a block of Q4_0: a scale, and 32 numbers of 4 bits that stand for -8 to 7 times
// the scale; byte i holds the numbers i and i+16.
func encodeQ40(x []float64) []byte {
	d := half(bestScale(x, -8, 7))
	out := binary.LittleEndian.AppendUint16(nil, d)
	for i := range 16 {
		lo, hi := level(x[i], unhalf(d), -8, 7)+8, level(x[i+16], unhalf(d), -8, 7)+8
		out = append(out, byte(lo|hi<<4))
	}
	return out
}

// level returns the integer from low to high whose multiple of scale is nearest to v.
func level(v, scale float64, low, high int) int {
	if scale == 0 {
		return 0
	}
	return min(max(int(math.RoundToEven(v/scale)), low), high)
}

// bestScale tries scales around the one that reaches the largest value, and returns the one with
// the least squared error.
func bestScale(x []float64, low, high int) float64 {
	far := 0.0
	for _, v := range x {
		if math.Abs(v) > math.Abs(far) {
			far = v
		}
	}
	best, least := 0.0, math.Inf(1)
	for i := -60; i <= 60; i++ {
		scale := far / (float64(low) + float64(i)*0.05)
		sum := 0.0
		for _, v := range x {
			d := v - scale*float64(level(v, scale, low, high))
			sum += d * d
		}
		if sum < least {
			best, least = scale, sum
		}
	}
	return best
}

// encodeQ6K encodes a block of Q6_K: 16 parts of 16 numbers of 6 bits, each part with a scale of 8
// bits, and a scale of the scales.
func encodeQ6K(x []float64) []byte {
	scales, most := make([]float64, 16), 0.0
	for i := range scales {
		scales[i] = bestScale(x[i*16:i*16+16], -32, 31)
		most = max(most, math.Abs(scales[i]))
	}
	d := half(most / 127)
	low, high, parts := make([]byte, 128), make([]byte, 64), make([]byte, 16)
	for i := range parts {
		parts[i] = byte(int8(level(scales[i], unhalf(d), -128, 127)))
	}
	for i, v := range x {
		q := level(v, unhalf(d)*float64(int8(parts[i/16])), -32, 31) + 32
		half, quarter, k := i/128, i/32%4, i%32 // each half of 128 values has four runs of 32
		low[half*64+quarter%2*32+k] |= byte(q & 15 << (quarter / 2 * 4))
		high[half*32+k] |= byte(q >> 4 << (quarter * 2))
	}
	return binary.LittleEndian.AppendUint16(append(append(low, high...), parts...), d)
}

// encodeQ4K encodes a block of Q4_K: 8 parts of 32 numbers of 4 bits.
func encodeQ4K(x []float64) []byte {
	head, levels := affine(x, 15)
	out := head
	for i := 0; i < 256; i += 64 { // two parts share the same bytes
		for k := range 32 {
			out = append(out, byte(levels[i+k]|levels[i+32+k]<<4))
		}
	}
	return out
}

// encodeQ5K encodes a block of Q5_K: 8 parts of 32 numbers of 5 bits. The fifth bits come first,
// those of part i in bit i.
func encodeQ5K(x []float64) []byte {
	head, levels := affine(x, 31)
	fifth := make([]byte, 32)
	var low []byte
	for i, q := range levels {
		fifth[i%32] |= byte(q >> 4 << (i / 32))
	}
	for i := 0; i < 256; i += 64 {
		for k := range 32 {
			low = append(low, byte(levels[i+k]&15|levels[i+32+k]&15<<4))
		}
	}
	return append(append(head, fifth...), low...)
}

// affine encodes 8 parts of 32 values as scale × level − minimum, with levels from 0 to top. The
// scales and the minimums have 6 bits each, and there is one half-precision scale for all scales
// and one for all minimums.
func affine(x []float64, top int) (head []byte, levels []int) {
	scales, leasts := make([]float64, 8), make([]float64, 8)
	for i := range scales {
		scales[i], leasts[i] = bestAffine(x[i*32:i*32+32], top)
	}
	d, dmin := half(largest(scales)/63), half(largest(leasts)/63)
	s, m := make([]int, 8), make([]int, 8)
	for i := range s {
		s[i], m[i] = level(scales[i], unhalf(d), 0, 63), level(leasts[i], unhalf(dmin), 0, 63)
	}
	for i, v := range x {
		levels = append(levels, level(v+unhalf(dmin)*float64(m[i/32]), unhalf(d)*float64(s[i/32]), 0, top))
	}
	packed := make([]byte, 12)
	for i := range 4 { // the first four use 6 bits of a byte; the last four use 4 bits, and the bits left free by the first four
		packed[i] = byte(s[i] | s[i+4]>>4<<6)
		packed[i+4] = byte(m[i] | m[i+4]>>4<<6)
		packed[i+8] = byte(s[i+4]&15 | m[i+4]&15<<4)
	}
	head = binary.LittleEndian.AppendUint16(head, d)
	head = binary.LittleEndian.AppendUint16(head, dmin)
	return append(head, packed...), levels
}

// bestAffine tries ranges near the range of the values, and returns the scale and the negated
// minimum with the least squared error.
func bestAffine(x []float64, top int) (scale, least float64) {
	low, high := 0.0, x[0] // the minimum is never positive
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	best := math.Inf(1)
	for i := range 16 {
		for j := range 16 {
			from := low * (1.05 - float64(i)*0.03)
			step := (high*(1.05-float64(j)*0.03) - from) / float64(top)
			sum := 0.0
			for _, v := range x {
				d := v - from - step*float64(level(v-from, step, 0, top))
				sum += d * d
			}
			if sum < best {
				best, scale, least = sum, step, -from
			}
		}
	}
	return scale, least
}

func largest(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, v)
	}
	return most
}
