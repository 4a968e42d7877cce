package quant

import (
	"encoding/binary"
	"math"
)

// half decodes the scale at the start of b.
func half(b []byte) float32 { return HalfToFloat(binary.LittleEndian.Uint16(b)) }

// Blocks of 32. The first 16 values are the lower nibbles of the 16 bytes, the last 16 the upper
// ones.

// Q8_0: half d, int8 q[32]; value d·q.
func decodeQ8_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[34:] {
		y, b := (*[32]float32)(dst), (*[34]byte)(src)
		d := half(b[:])
		for j := range y {
			y[j] = d * float32(int8(b[2+j]))
		}
	}
}

// Q4_0: half d, nibbles; value d·(q-8).
func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		y, b := (*[32]float32)(dst), (*[18]byte)(src)
		d := half(b[:])
		for j := range 16 {
			q := b[2+j]
			y[j] = d * float32(int32(q&15)-8)
			y[j+16] = d * float32(int32(q>>4)-8)
		}
	}
}

// Q4_1: half d, half m, nibbles; value d·q+m.
func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[20:] {
		y, b := (*[32]float32)(dst), (*[20]byte)(src)
		d, m := half(b[:]), half(b[2:])
		for j := range 16 {
			q := b[4+j]
			y[j] = d*float32(int32(q&15)) + m
			y[j+16] = d*float32(int32(q>>4)) + m
		}
	}
}

// Q5_0: half d, 32 fifth bits, nibbles; value d·(q-16).
func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[22:] {
		y, b := (*[32]float32)(dst), (*[22]byte)(src)
		d := half(b[:])
		high := binary.LittleEndian.Uint32(b[2:])
		for j := range 16 {
			q := int32(b[6+j])
			y[j] = d * float32(q&15|int32(high>>j&1)<<4-16)
			y[j+16] = d * float32(q>>4|int32(high>>(j+16)&1)<<4-16)
		}
	}
}

// Q5_1: half d, half m, 32 fifth bits, nibbles; value d·q+m.
func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[24:] {
		y, b := (*[32]float32)(dst), (*[24]byte)(src)
		d, m := half(b[:]), half(b[2:])
		high := binary.LittleEndian.Uint32(b[4:])
		for j := range 16 {
			q := int32(b[8+j])
			y[j] = d*float32(q&15|int32(high>>j&1)<<4) + m
			y[j+16] = d*float32(q>>4|int32(high>>(j+16)&1)<<4) + m
		}
	}
}

// nonlinear holds the 16 values of the IQ4 types. They are denser near zero, where most weights
// are.
var nonlinear = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// IQ4_NL: half d, nibbles; value d·nonlinear[q].
func decodeIQ4NL(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[18:] {
		b := (*[18]byte)(src)
		lookup((*[32]float32)(dst), (*[16]byte)(b[2:]), half(b[:]), &nonlinear)
	}
}

// IQ4_XS: half d, upper 2 bits of 8 scales, lower 4 bits of them, nibbles; value
// d·(s-32)·nonlinear[q].
func decodeIQ4XS(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[136:] {
		b := (*[136]byte)(src)
		d := half(b[:])
		high := binary.LittleEndian.Uint16(b[2:])
		for j := range 8 {
			s := int32(b[4+j/2]>>(j%2*4)&15) | int32(high>>(2*j)&3)<<4
			lookup((*[32]float32)(dst[j*32:]), (*[16]byte)(b[8+j*16:]), d*float32(s-32), &nonlinear)
		}
	}
}

// e2m1 holds twice the values of the 4-bit floats of MXFP4; minus zero becomes zero, as in ggml.
var e2m1 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// MXFP4: exponent byte e, nibbles; value 2^(e-127)·e2m1[q]/2.
func decodeMXFP4(dst []float32, src []byte) {
	for ; len(dst) >= 32; dst, src = dst[32:], src[17:] {
		b := (*[17]byte)(src)
		lookup((*[32]float32)(dst), (*[16]byte)(b[1:]), halfPower(b[0]), &e2m1)
	}
}

// halfPower returns 2^(e-128). The specification's NaN (255) is treated as an exponent, as in ggml.
func halfPower(e byte) float32 {
	if e < 2 { // subnormal
		return math.Float32frombits(0x200000 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

func lookup(y *[32]float32, q *[16]byte, d float32, table *[16]float32) {
	for j := range q {
		y[j] = d * table[q[j]&15]
		y[j+16] = d * table[q[j]>>4]
	}
}
