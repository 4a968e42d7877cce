package quant

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// The functions below search for the block scale with the least squared error. Given a scale,
// rounding yields the best integers; given the integers, linear least squares yields the best
// scale. The starting points are scales that map the block's extreme value to the end of the
// integers' range, shifted by nudges.

// nudges lists the distances, in integer steps, by which the extreme value is put beyond the end of
// the range. Twice as many nudges would lower the errors by only another half per cent.
var nudges = [...]float32{-1, -0.6, -0.2, 0.2, 0.6}

// tiny is the range of values below which a block counts as constant, because no half-precision
// scale is small enough for it.
const tiny = 1e-30

// rounder is a number whose last bit has the value one: adding it to a positive number and
// subtracting it again rounds that number to the nearest integer. signedRounder does the same for
// numbers that may be negative.
const (
	rounder       = 1 << 23
	signedRounder = 3 << 22
)

// putHalf stores a scale and returns the value that was stored, clipped to the range of a half.
func putHalf(b []byte, f float32) float32 {
	h := FloatToHalf(min(max(f, -65504), 65504))
	binary.LittleEndian.PutUint16(b, h)
	return HalfToFloat(h)
}

// inverse returns 1/f, or 0 if that is not a finite number.
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

// round returns the integer nearest to f, clipped to lo…hi.
func round(f float32, lo, hi int32) int32 {
	if f <= float32(lo) {
		return lo
	}
	if f >= float32(hi) {
		return hi
	}
	return int32(math.Float32bits(f+signedRounder)) - 0x4b400000
}

// extreme returns the value of x with the largest magnitude, with its sign.
func extreme(x []float32) float32 {
	var top uint32
	for _, v := range x { // after rotation, the bits of floats are in the order of their magnitudes
		top = max(top, bits.RotateLeft32(math.Float32bits(v), 1))
	}
	return math.Float32frombits(bits.RotateLeft32(top, -1))
}

// span returns the least and the greatest value of x.
func span(x []float32) (lo, hi float32) {
	first := ordered(math.Float32bits(x[0]))
	least, most := first, first
	for _, v := range x[1:] {
		o := ordered(math.Float32bits(v))
		least, most = min(least, o), max(most, o)
	}
	return math.Float32frombits(uint32(ordered(uint32(least)))), math.Float32frombits(uint32(ordered(uint32(most))))
}

// ordered maps the bits of floats to integers with the same order, and back. It is used because
// comparing integers is much faster.
func ordered(b uint32) int32 { return int32(b) ^ int32(uint32(int32(b)>>31)>>1) }

// fitSymmetric searches for a d such that x ≈ d·q with integers q from -n to n-1.
func fitSymmetric(x []float32, n int32) float32 {
	top := extreme(x)
	if max(top, -top) < tiny {
		return 0
	}
	var best, gain float32
	// The error is Σx² - (Σqx)²/Σq² if d is Σqx/Σq², so the second term must be maximised.
	inv := 1 / top
	for _, nudge := range nudges {
		qx, qq := symmetricSums(x, float32(n), -(float32(n)+nudge)*inv)
		if qx *= inv; qx*qx > gain*qq {
			gain = qx * qx / qq
			best = qx / qq * top
		}
	}
	return best
}

// symmetricSums quantises x to -n…n-1 with the given inverse scale and returns the sums of q·x and
// q². len(x) is even.
func symmetricSums(x []float32, n, id float32) (qx, qq float32) {
	var qx1, qq1 float32
	last := n - 1
	for len(x) >= 2 {
		v, v1 := x[0], x[1]
		x = x[2:]
		q, q1 := v*id+signedRounder-signedRounder, v1*id+signedRounder-signedRounder
		if q > last {
			q = last
		} else if q < -n {
			q = -n
		}
		if q1 > last {
			q1 = last
		} else if q1 < -n {
			q1 = -n
		}
		qx += q * v
		qx1 += q1 * v1
		qq += q * q
		qq1 += q1 * q1
	}
	return qx + qx1, qq + qq1
}

// fitAffine searches for d and m such that x ≈ d·q+m with integers q from 0 to n. If negative is
// true, m is at most 0.
func fitAffine(x []float32, n float32, negative bool) (d, m float32) {
	lo, hi := span(x)
	if negative && lo > 0 {
		lo = 0
	}
	width := hi - lo
	if width < tiny {
		return 0, lo
	}
	// In units of the span, measured from its low end, the sums neither overflow nor cancel.
	var u [32]float32
	inv := 1 / width
	for i, v := range x {
		u[i&31] = (v - lo) * inv
	}
	var odd float32
	s := fitSums{count: float32(len(x)), limit: float32(math.Inf(1))}
	if negative {
		s.limit = -lo * inv
	}
	for i := 0; i < len(x); i += 2 {
		s.x += u[i&31]
		odd += u[(i+1)&31]
	}
	s.x += odd
	gain := float32(-1)
	for _, nudge := range nudges {
		s.q, s.qq, s.qx = affineSums(u[:len(x)], n, n+nudge)
		if d1, m1, g := s.solve(); g > gain {
			gain, d, m = g, d1, m1
		}
	}
	return d * width, m*width + lo
}

// affineSums quantises u to 0…n with the given inverse scale and returns the sums of q, q² and q·u.
// Neighbours go to separate sums, since an addition takes several times as long as the processor
// needs to start the next one. len(u) is even.
func affineSums(u []float32, n, id float32) (sq, sqq, sqx float32) {
	var sq1, sqq1, sqx1 float32
	for len(u) >= 2 {
		v, v1 := u[0], u[1]
		u = u[2:]
		q, q1 := v*id+rounder-rounder, v1*id+rounder-rounder
		if q > n {
			q = n
		}
		if q1 > n {
			q1 = n
		}
		sq += q
		sq1 += q1
		sqq += q * q
		sqq1 += q1 * q1
		sqx += q * v
		sqx1 += q1 * v1
	}
	return sq + sq1, sqq + sqq1, sqx + sqx1
}

// fitSums holds the sums that a linear least-squares fit x ≈ d·q+m needs; m must not exceed the
// field limit.
type fitSums struct {
	count, x, q, qq, qx, limit float32
}

// solve returns the best d and m, and the amount by which they reduce the squared error, which is
// Σx² without them.
func (s *fitSums) solve() (d, m, gain float32) {
	r := 1 / (s.count*s.qq - s.q*s.q) // infinite where all q are the same
	d = (s.count*s.qx - s.x*s.q) * r
	m = (s.x*s.qq - s.q*s.qx) * r
	if !(m <= s.limit) { // also true for NaN
		m = min(s.limit, s.x/s.count)
		d = 0
		if s.qq > 0 {
			d = (s.qx - m*s.q) / s.qq
		}
	}
	return d, m, 2*(d*s.qx+m*s.x-d*m*s.q) - d*d*s.qq - m*m*s.count
}
