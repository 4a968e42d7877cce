package quant

import (
	"encoding/binary"
	"math"
)

func encodeQ8_0(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[34:] {
		x, b := (*[32]float32)(src), (*[34]byte)(dst)
		top := extreme(x[:])
		id := inverse(putHalf(b[:], max(top, -top)/127))
		for j, v := range x {
			b[2+j] = byte(round(v*id, -127, 127))
		}
	}
}

func encodeQ4_0(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[18:] {
		x, b := (*[32]float32)(src), (*[18]byte)(dst)
		id := inverse(putHalf(b[:], fitSymmetric(x[:], 8)))
		for j := range 16 {
			lo, hi := round(x[j]*id, -8, 7)+8, round(x[j+16]*id, -8, 7)+8
			b[2+j] = byte(lo | hi<<4)
		}
	}
}

func encodeQ4_1(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[20:] {
		x, b := (*[32]float32)(src), (*[20]byte)(dst)
		d, m := fitAffine(x[:], 15, false)
		id := inverse(putHalf(b[:], d))
		m = putHalf(b[2:], m)
		for j := range 16 {
			lo, hi := round((x[j]-m)*id, 0, 15), round((x[j+16]-m)*id, 0, 15)
			b[4+j] = byte(lo | hi<<4)
		}
	}
}

func encodeQ5_0(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[22:] {
		x, b := (*[32]float32)(src), (*[22]byte)(dst)
		id := inverse(putHalf(b[:], fitSymmetric(x[:], 16)))
		var high uint32
		for j := range 16 {
			lo, hi := uint32(round(x[j]*id, -16, 15)+16), uint32(round(x[j+16]*id, -16, 15)+16)
			b[6+j] = byte(lo&15 | hi<<4)
			high |= lo>>4<<j | hi>>4<<(j+16)
		}
		binary.LittleEndian.PutUint32(b[2:], high)
	}
}

func encodeQ5_1(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[24:] {
		x, b := (*[32]float32)(src), (*[24]byte)(dst)
		d, m := fitAffine(x[:], 31, false)
		id := inverse(putHalf(b[:], d))
		m = putHalf(b[2:], m)
		var high uint32
		for j := range 16 {
			lo, hi := uint32(round((x[j]-m)*id, 0, 31)), uint32(round((x[j+16]-m)*id, 0, 31))
			b[8+j] = byte(lo&15 | hi<<4)
			high |= lo>>4<<j | hi>>4<<(j+16)
		}
		binary.LittleEndian.PutUint32(b[4:], high)
	}
}

// nearest maps a number t from -128 to 128, as floor(2t)+256, to the index of the nearest value in
// nonlinear. This works because the midpoints between the values are multiples of one half.
var nearest = func() (out [512]byte) {
	for i := range out {
		t := float32(i-256)/2 + 0.25
		for k, v := range nonlinear {
			if dist(t, v) < dist(t, nonlinear[out[i]]) {
				out[i] = byte(k)
			}
		}
	}
	return out
}()

func dist(a, b float32) float32 { return max(a-b, b-a) }

// nonlinearIndex returns the index of the value in nonlinear that is nearest to t.
func nonlinearIndex(t float32) byte {
	t = t*2 + 256
	if t < 0 {
		return 0
	}
	if t >= 511 {
		return 15
	}
	return nearest[int32(t)&511]
}

// fitNonlinear searches for a d such that x ≈ d·nonlinear[q].
func fitNonlinear(x []float32) float32 {
	top := extreme(x)
	if max(top, -top) < tiny {
		return 0
	}
	inv := 1 / top
	var best, gain float32
	for _, end := range [...]float32{-133, -127, -121, 108, 114, 120} {
		id := end * inv
		var qx, qq float32
		for _, v := range x {
			q := nonlinear[nonlinearIndex(v*id)&15]
			qx += q * (v * inv)
			qq += q * q
		}
		if qx*qx > gain*qq {
			gain = qx * qx / qq
			best = qx / qq * top
		}
	}
	return best
}

func encodeIQ4NL(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[18:] {
		x, b := (*[32]float32)(src), (*[18]byte)(dst)
		putNonlinear((*[16]byte)(b[2:]), x, putHalf(b[:], fitNonlinear(x[:])))
	}
}

func putNonlinear(q *[16]byte, x *[32]float32, d float32) {
	id := inverse(d)
	for j := range q {
		q[j] = nonlinearIndex(x[j]*id) | nonlinearIndex(x[j+16]*id)<<4
	}
}

func encodeIQ4XS(dst []byte, src []float32) {
	for ; len(src) >= 256; src, dst = src[256:], dst[136:] {
		b := (*[136]byte)(dst)
		var fits [8]float32
		for k := range fits {
			fits[k] = fitNonlinear(src[k*32 : k*32+32])
		}
		d := putHalf(b[:], extreme(fits[:])/-32)
		id := inverse(d)
		clear(b[2:8])
		var high uint16
		for k, f := range fits {
			s := round(f*id, -32, 31)
			b[4+k/2] |= byte((s+32)&15) << (k % 2 * 4)
			high |= uint16((s+32)>>4) << (2 * k)
			putNonlinear((*[16]byte)(b[8+k*16:]), (*[32]float32)(src[k*32:]), d*float32(s))
		}
		binary.LittleEndian.PutUint16(b[2:], high)
	}
}

// encodeMXFP4 tries two powers of two as the scale, of which one clips the largest value and the
// other does not, and takes the better one.
func encodeMXFP4(dst []byte, src []float32) {
	for ; len(src) >= 32; src, dst = src[32:], dst[17:] {
		x, b := (*[32]float32)(src), (*[17]byte)(dst)
		top := extreme(x[:])
		exp := int(math.Float32bits(max(top, -top)) >> 23) // biased by 127, like the block's exponent
		// With an exponent below 1, the inverse of the scale is not a float32; above 252, the
		// largest value is not.
		lo := byte(min(max(exp-2, 1), 252))
		hi := byte(min(max(exp-1, 1), 252))
		var q, r [16]byte
		e := lo
		if 4*putE2M1(&r, x, hi) < putE2M1(&q, x, lo) { // a step of the upper scale is twice as large
			e, q = hi, r
		}
		b[0] = e
		copy(b[1:], q[:])
	}
}

// steps maps twice a magnitude, truncated to an integer, to the e2m1 index; a tie rounds up.
var steps = [...]byte{0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7}

// putE2M1 stores x with the block's exponent e and returns the squared error in steps of the scale.
func putE2M1(q *[16]byte, x *[32]float32, e byte) float32 {
	id := 1 / halfPower(e)
	var sum float32
	code := func(v float32) byte {
		t := v * id
		k := steps[int32(min(max(t, -t)*2, float32(len(steps)-1)))]
		if t < 0 {
			k |= 8
		}
		r := t - e2m1[k&15]
		sum += r * r
		return k
	}
	for j := range q {
		q[j] = code(x[j]) | code(x[j+16])<<4
	}
	return sum
}
