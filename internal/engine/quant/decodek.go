package quant

import "encoding/binary"

// Super-blocks of 256: a half-precision scale multiplies the small integer scales of the 8 or 16
// blocks in it. The values of a group of 128 (or 64) share bytes: one byte holds bits of the values
// l, l+32, l+64, … of the group.

// Q2_K: 16 bytes scale | min<<4, 2-bit q, half d, half dmin; value d·scale·q - dmin·min.
func decodeQ2K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[84:] {
		b := (*[84]byte)(src)
		d, dmin := half(b[80:]), half(b[82:])
		for k := range 16 { // block k: 16 values
			s := b[k]
			y := (*[16]float32)(dst[k*16:])
			q := (*[16]byte)(b[16+k/8*32+k%2*16:])
			shift := k % 8 / 2 * 2
			dl, ml := d*float32(s&15), dmin*float32(s>>4)
			for l := range y {
				y[l] = dl*float32(int32(q[l]>>shift&3)) - ml
			}
		}
	}
}

// Q3_K: 32 bytes of third bits, 2-bit q, 12 bytes of 6-bit scales, half d; value
// d·(scale-32)·(q-4).
func decodeQ3K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[110:] {
		b := (*[110]byte)(src)
		d := half(b[108:])
		scales := unpackScales3((*[12]byte)(b[96:]))
		for k := range 16 {
			y := (*[16]float32)(dst[k*16:])
			h := (*[16]byte)(b[k%2*16:])
			q := (*[16]byte)(b[32+k/8*32+k%2*16:])
			bit, shift := k/2, k%8/2*2
			dl := d * float32(scales[k])
			for l := range y {
				y[l] = dl * float32(int32(q[l]>>shift&3|h[l]>>bit&1<<2)-4)
			}
		}
	}
}

// unpackScales3 reads the 16 scales of Q3_K: byte j (of the first 8) has the lower nibbles of scale
// j in its lower half and of scale j+8 in its upper half; byte 8+j%4 has the upper two bits of
// scale j at bit 2·(j/4). The stored scales are too high by 32.
func unpackScales3(b *[12]byte) (s [16]int8) {
	for j := range s {
		low := b[j%8] >> (j / 8 * 4) & 15
		high := b[8+j%4] >> (j / 4 * 2) & 3
		s[j] = int8(low|high<<4) - 32
	}
	return s
}

// unpackScales4 reads the 8 scales and 8 mins of Q4_K and Q5_K, 6 bits each. The first four of both
// are the lower bits of bytes 0 to 7. The other four have their lower nibbles in bytes 8 to 11 and
// their upper two bits at the top of bytes 0 to 7.
func unpackScales4(b *[12]byte) (scale, minimum [8]uint8) {
	for j := range 4 {
		scale[j], minimum[j] = b[j]&63, b[j+4]&63
		scale[j+4] = b[j+8]&15 | b[j]>>6<<4
		minimum[j+4] = b[j+8]>>4 | b[j+4]>>6<<4
	}
	return scale, minimum
}

// Q4_K: half d, half dmin, 12 bytes of scales and mins, nibbles; value d·scale·q - dmin·min.
func decodeQ4K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[144:] {
		b := (*[144]byte)(src)
		d, dmin := half(b[:]), half(b[2:])
		scale, minimum := unpackScales4((*[12]byte)(b[4:]))
		for k := range 4 { // 64 values: lower nibbles, then upper
			q := (*[32]byte)(b[16+k*32:])
			lo, hi := (*[32]float32)(dst[k*64:]), (*[32]float32)(dst[k*64+32:])
			d0, m0 := d*float32(scale[2*k]), dmin*float32(minimum[2*k])
			d1, m1 := d*float32(scale[2*k+1]), dmin*float32(minimum[2*k+1])
			for l := range q {
				lo[l] = d0*float32(int32(q[l]&15)) - m0
				hi[l] = d1*float32(int32(q[l]>>4)) - m1
			}
		}
	}
}

// Q5_K: like Q4_K, with 32 bytes of fifth bits before the nibbles; bit k of each of these bytes
// belongs to block k.
func decodeQ5K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[176:] {
		b := (*[176]byte)(src)
		d, dmin := half(b[:]), half(b[2:])
		scale, minimum := unpackScales4((*[12]byte)(b[4:]))
		h := (*[32]byte)(b[16:])
		for k := range 8 {
			q := (*[32]byte)(b[48+k/2*32:])
			y := (*[32]float32)(dst[k*32:])
			shift := k % 2 * 4
			dl, ml := d*float32(scale[k]), dmin*float32(minimum[k])
			for l := range q {
				y[l] = dl*float32(int32(q[l]>>shift&15|h[l]>>k&1<<4)) - ml
			}
		}
	}
}

// Q6_K: 128 bytes of lower nibbles, 64 bytes of upper two bits, int8 scale[16], half d; value
// d·scale·(q-32).
func decodeQ6K(dst []float32, src []byte) {
	for ; len(dst) >= 256; dst, src = dst[256:], src[210:] {
		b := (*[210]byte)(src)
		d := HalfToFloat(binary.LittleEndian.Uint16(b[208:]))
		for k := range 16 {
			y := (*[16]float32)(dst[k*16:])
			// In each half of 128 values, values 64 and up are the upper nibbles of the bytes whose
			// lower nibbles are the values below 64.
			low := (*[16]byte)(b[k/8*64+k%4*16:])
			high := (*[16]byte)(b[128+k/8*32+k%2*16:])
			nibble, shift := k%8/4*4, k%8/2*2
			dl := d * float32(int8(b[192+k]))
			for l := range y {
				y[l] = dl * float32(int32(low[l]>>nibble&15|high[l]>>shift&3<<4)-32)
			}
		}
	}
}
