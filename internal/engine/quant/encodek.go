package quant

// The encoders of super-blocks first fit each block separately. Then they round the blocks' scales
// to small integers, as multiples of the super-block's scale, and round the values again with the
// scales as stored.

// affine holds the scales of the blocks of a super-block x ≈ d·scale·q - dmin·min.
type affine struct {
	scale, min [16]float32
}

// fit finds the scales for blocks of size values each, with q from 0 to n.
func (a *affine) fit(src []float32, size int, n float32) {
	for k := range 256 / size {
		d, m := fitAffine(src[k*size:(k+1)*size], n, true)
		a.scale[k], a.min[k] = d, -m
	}
}

// quantise rounds the scales to 0…n and stores the super-block's scales at b.
func (a *affine) quantise(b []byte, n int32) (scale, minimum [16]byte) {
	d := inverse(putHalf(b, maximum(a.scale[:])/float32(n)))
	dmin := inverse(putHalf(b[2:], maximum(a.min[:])/float32(n)))
	for k := range scale {
		scale[k] = byte(round(a.scale[k]*d, 0, n))
		minimum[k] = byte(round(a.min[k]*dmin, 0, n))
	}
	return scale, minimum
}

func maximum(x []float32) float32 {
	var m float32
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

func encodeQ2K(dst []byte, src []float32) {
	for ; len(src) >= 256; src, dst = src[256:], dst[84:] {
		b := (*[84]byte)(dst)
		var a affine
		a.fit(src, 16, 3)
		scale, minimum := a.quantise(b[80:], 15)
		d, dmin := half(b[80:]), half(b[82:])
		clear(b[16:80])
		for k := range 16 {
			b[k] = scale[k] | minimum[k]<<4
			id, m := inverse(d*float32(scale[k])), dmin*float32(minimum[k])
			q := (*[16]byte)(b[16+k/8*32+k%2*16:])
			shift := k % 8 / 2 * 2
			for l, v := range src[k*16 : k*16+16] {
				q[l&15] |= byte(round((v+m)*id, 0, 3)) << shift
			}
		}
	}
}

// packScales4 is the inverse of unpackScales4.
func packScales4(b []byte, scale, minimum [16]byte) {
	for j := range 4 {
		b[j] = scale[j] | scale[j+4]>>4<<6
		b[j+4] = minimum[j] | minimum[j+4]>>4<<6
		b[j+8] = scale[j+4]&15 | minimum[j+4]<<4
	}
}

func encodeQ4K(dst []byte, src []float32) {
	for ; len(src) >= 256; src, dst = src[256:], dst[144:] {
		b := (*[144]byte)(dst)
		var a affine
		a.fit(src, 32, 15)
		scale, minimum := a.quantise(b[:], 63)
		packScales4(b[4:16], scale, minimum)
		d, dmin := half(b[:]), half(b[2:])
		for k := range 4 {
			q := (*[32]byte)(b[16+k*32:])
			lo, hi := (*[32]float32)(src[k*64:]), (*[32]float32)(src[k*64+32:])
			id0, m0 := inverse(d*float32(scale[2*k])), dmin*float32(minimum[2*k])
			id1, m1 := inverse(d*float32(scale[2*k+1])), dmin*float32(minimum[2*k+1])
			for l := range q {
				q[l] = byte(round((lo[l]+m0)*id0, 0, 15) | round((hi[l]+m1)*id1, 0, 15)<<4)
			}
		}
	}
}

func encodeQ5K(dst []byte, src []float32) {
	for ; len(src) >= 256; src, dst = src[256:], dst[176:] {
		b := (*[176]byte)(dst)
		var a affine
		a.fit(src, 32, 31)
		scale, minimum := a.quantise(b[:], 63)
		packScales4(b[4:16], scale, minimum)
		d, dmin := half(b[:]), half(b[2:])
		clear(b[16:])
		h := (*[32]byte)(b[16:])
		for k := range 8 {
			q := (*[32]byte)(b[48+k/2*32:])
			x := (*[32]float32)(src[k*32:])
			id, m := inverse(d*float32(scale[k])), dmin*float32(minimum[k])
			shift := k % 2 * 4
			for l := range q {
				v := byte(round((x[l]+m)*id, 0, 31))
				q[l] |= v & 15 << shift
				h[l] |= v >> 4 << k
			}
		}
	}
}

// symmetric fits 16 blocks of 16 values with q from -n to n-1, rounds their scales to -s…s-1 and
// stores the super-block's scale at b.
func symmetric(b []byte, src []float32, n, s int32) (scale [16]int32) {
	var fits [16]float32
	for k := range fits {
		fits[k] = fitSymmetric(src[k*16:k*16+16], n)
	}
	id := inverse(putHalf(b, extreme(fits[:])/float32(-s)))
	for k, f := range fits {
		scale[k] = round(f*id, -s, s-1)
	}
	return scale
}

func encodeQ3K(dst []byte, src []float32) {
	for ; len(src) >= 256; src, dst = src[256:], dst[110:] {
		b := (*[110]byte)(dst)
		clear(b[:])
		scale := symmetric(b[108:], src, 4, 32)
		packScales3((*[12]byte)(b[96:]), scale)
		d := half(b[108:])
		for k := range 16 {
			h := (*[16]byte)(b[k%2*16:])
			q := (*[16]byte)(b[32+k/8*32+k%2*16:])
			bit, shift := k/2, k%8/2*2
			id := inverse(d * float32(scale[k]))
			for l, v := range src[k*16 : k*16+16] {
				c := byte(round(v*id, -4, 3) + 4)
				q[l&15] |= c & 3 << shift
				h[l&15] |= c >> 2 << bit
			}
		}
	}
}

// packScales3 is the inverse of unpackScales3.
func packScales3(b *[12]byte, scale [16]int32) {
	for j, s := range scale {
		c := byte(s + 32)
		b[j%8] |= c & 15 << (j / 8 * 4)
		b[8+j%4] |= c >> 4 << (j / 4 * 2)
	}
}

func encodeQ6K(dst []byte, src []float32) {
	for ; len(src) >= 256; src, dst = src[256:], dst[210:] {
		b := (*[210]byte)(dst)
		clear(b[:])
		scale := symmetric(b[208:], src, 32, 128)
		d := half(b[208:])
		for k := range 16 {
			low := (*[16]byte)(b[k/8*64+k%4*16:])
			high := (*[16]byte)(b[128+k/8*32+k%2*16:])
			nibble, shift := k%8/4*4, k%8/2*2
			b[192+k] = byte(scale[k])
			id := inverse(d * float32(scale[k]))
			for l, v := range src[k*16 : k*16+16] {
				c := byte(round(v*id, -32, 31) + 32)
				low[l&15] |= c & 15 << nibble
				high[l&15] |= c >> 4 << shift
			}
		}
	}
}
