package tensor

import "math"

// Constants of exp: e^x = 2^n·e^r with n = round(x·log₂e) and |r| ≤ ln2/2, and a polynomial for e^r
// that is exactly 1 at 0. ln 2 is split in two so that n·ln2 is subtracted without loss. The
// relative error is below 2·10⁻⁷.
const (
	expHigh = 88.72283 // from this value on, the result is infinity
	expLow  = -87.33654
	log2e   = 1.44269504
	ln2Hi   = 0.693359375
	ln2Lo   = -2.12194440e-4
	expC2   = 0.5
	expC3   = 1.6666665459e-1
	expC4   = 4.1665795894e-2
	expC5   = 8.3334519073e-3
	expC6   = 1.3981999507e-3
	expC7   = 1.9875691500e-4
)

// Exp returns e to the power of x, and 0 below -87.3. The vector kernels compute the same, up to
// the last bit.
func Exp(x float32) float32 {
	switch {
	case x != x:
		return x
	case x > expHigh:
		return float32(math.Inf(1))
	case x < expLow:
		return 0
	}
	n := float32(roundEven(x * log2e))
	r := x - n*ln2Hi
	r -= n * ln2Lo
	p := float32(expC7)
	p = p*r + expC6
	p = p*r + expC5
	p = p*r + expC4
	p = p*r + expC3
	p = p*r + expC2
	y := p*(r*r) + r + 1
	// For the largest results, n is 128, for which a single factor would overflow.
	half := int32(n) / 2
	return y * pow2(half) * pow2(int32(n)-half)
}

func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// Sigmoid returns 1/(1+e^-x).
func Sigmoid(x float32) float32 { return 1 / (1 + Exp(-x)) }
