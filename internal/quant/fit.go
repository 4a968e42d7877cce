package quant

import (
	"encoding/binary"
	"math"
)

// The searches below look for the scale of a block with the least squared error. For a scale, the best integers
// follow by rounding; for the integers, the best scale follows by linear least squares. Starting points are scales
// that map the block's extreme value to the end of the integers' range, moved by nudges.

// nudges are how far, in integer steps, the extreme value is put beyond the end of the range.
var nudges = [...]float32{0, -0.75, -0.5, -0.25, 0.3, 0.6, 0.9}

// tiny is a range below which a block counts as constant: no half-precision scale is that small.
const tiny = 1e-30

// putHalf stores a scale and gives back the value that was stored, clipped to what a half can hold.
func putHalf(b []byte, f float32) float32 {
	h := FloatToHalf(min(max(f, -65504), 65504))
	binary.LittleEndian.PutUint16(b, h)
	return HalfToFloat(h)
}

// inverse is 1/f, and 0 where that is no number.
func inverse(f float32) float32 {
	if f == 0 {
		return 0
	}
	r := 1 / f
	if r-r != 0 {
		return 0
	}
	return r
}

// round is the nearest integer from lo to hi.
func round(f float32, lo, hi int32) int32 {
	if f <= float32(lo) {
		return lo
	}
	if f >= float32(hi) {
		return hi
	}
	// The sum's last bit is worth one, so that the addition itself rounds.
	const shift = 3 << 22
	return int32(math.Float32bits(f+shift)) - 0x4b400000
}

// extreme is the value of x with the largest magnitude, with its sign.
func extreme(x []float32) float32 {
	var lo, hi float32
	for _, v := range x {
		lo, hi = min(lo, v), max(hi, v)
	}
	if -lo > hi {
		return lo
	}
	return hi
}

// fitSymmetric looks for d such that x ≈ d·q with integers q from -n to n-1.
func fitSymmetric(x []float32, n int32) float32 {
	top := extreme(x)
	if max(top, -top) < tiny {
		return 0
	}
	var best, gain float32
	// The error is Σx² - (Σqx)²/Σq² when d is Σqx/Σq², so the second term is what counts.
	inv, end, last := 1/top, float32(n), float32(2*n-1)
	for _, nudge := range nudges {
		id := -(end + nudge) * inv
		var qx, qq float32
		for _, v := range x {
			// Shifted to be positive, so that cutting off the fraction rounds.
			t := v*id + (end + 0.5)
			if t > last {
				t = last
			} else if t < 0 {
				t = 0
			}
			q := float32(int32(t)) - end
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

// fitAffine looks for d and m such that x ≈ d·q+m with integers q from 0 to n; where offsets must not be positive,
// m is at most 0.
func fitAffine(x []float32, n float32, negative bool) (d, m float32) {
	lo, hi := x[0], x[0]
	for _, v := range x[1:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	if negative {
		lo = min(lo, 0)
	}
	span := hi - lo
	if span < tiny {
		return 0, lo
	}
	// In units of the span from its low end, sums neither overflow nor cancel.
	var u [32]float32
	inv := 1 / span
	var sx, sxx float32
	for i, v := range x {
		t := (v - lo) * inv
		u[i] = t
		sx += t
		sxx += t * t
	}
	norm := fitSums{count: float32(len(x)), x: sx, xx: sxx, limit: -lo * inv, bounded: negative}
	least := float32(math.Inf(1))
	for _, nudge := range nudges {
		norm.q, norm.qq, norm.qx = affineSums(u[:len(x)], n, n+nudge)
		if d1, m1, e := norm.solve(); e < least {
			least, d, m = e, d1, m1
		}
	}
	return d * span, m*span + lo
}

// affineSums quantises u to 0…n with the given inverse scale and sums up q, q² and q·u.
func affineSums(u []float32, n, id float32) (sq, sqq, sqx float32) {
	for _, v := range u {
		t := v*id + 0.5
		if t > n {
			t = n
		}
		q := float32(int32(t))
		sq += q
		sqq += q * q
		sqx += q * v
	}
	return sq, sqq, sqx
}

// fitSums are the sums a linear least-squares fit x ≈ d·q+m needs.
type fitSums struct {
	count, x, xx, q, qq, qx float32
	limit                   float32 // the largest m, where bounded
	bounded                 bool
}

// solve gives the best d and m and their squared error.
func (s *fitSums) solve() (d, m, e float32) {
	det := s.count*s.qq - s.q*s.q
	if det > 0 {
		d = (s.count*s.qx - s.x*s.q) / det
		m = (s.x*s.qq - s.q*s.qx) / det
	}
	if s.bounded && (m > s.limit || det <= 0) && s.qq > 0 {
		m = s.limit
		d = (s.qx - m*s.q) / s.qq
	}
	e = s.xx + d*d*s.qq + m*m*s.count - 2*(d*s.qx+m*s.x-d*m*s.q)
	return d, m, e
}
