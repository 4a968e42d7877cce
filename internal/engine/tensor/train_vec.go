package tensor

import "math"

// Vector functions that training needs in addition to those for running a model. Sums here are in
// single precision, with as many partial sums as the processor's vectors have lanes. Unlike the
// engine's sums, they have no fixed order.

// Product returns the sum of the products of x and y, in single precision; see Dot.
func Product(x, y []float32) float32 {
	y = y[:len(x)]
	if sum, ok := productWide(x, y); ok {
		return sum
	}
	// Four sums, so that additions do not wait for each other.
	var s [4]float32
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a, b := x[i:][:4], y[i:][:4]
		s[0] += a[0] * b[0]
		s[1] += a[1] * b[1]
		s[2] += a[2] * b[2]
		s[3] += a[3] * b[3]
	}
	for ; i < len(x); i++ {
		s[0] += x[i] * y[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// Peak returns the largest number of x, or minus infinity if x is empty. If x contains NaN, the
// result is any of the other numbers, or NaN.
func Peak(x []float32) float32 {
	if top, ok := peakWide(x); ok {
		return top
	}
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

// Scale multiplies x by a.
func Scale(x []float32, a float32) {
	if scaleWide(x, a) {
		return
	}
	for i := range x {
		x[i] *= a
	}
}

// ExpSum replaces each number x by e^(x-top) and returns their sum. If top is Peak(x), it does not
// overflow.
func ExpSum(x []float32, top float32) float32 {
	if sum, ok := expSumWide(x, top); ok {
		return sum
	}
	sum := float32(0)
	for i, v := range x {
		x[i] = Exp(v - top)
		sum += x[i]
	}
	return sum
}

// SoftmaxRow replaces x by e^xᵢ over their sum. It is like Softmax, but faster and without a fixed
// order of summation.
func SoftmaxRow(x []float32) {
	if len(x) > 0 {
		Scale(x, 1/ExpSum(x, Peak(x)))
	}
}

// SoftmaxBack replaces ds, the gradient of the probabilities p, by the gradient of Softmax's input;
// the parameter delta is the sum of p·ds over the row.
func SoftmaxBack(ds, p []float32, delta float32) {
	p = p[:len(ds)]
	if softmaxBackWide(ds, p, delta) {
		return
	}
	for i, v := range ds {
		ds[i] = p[i] * (v - delta)
	}
}

// Rotate rotates the pairs (i, i+n) of x, which has 2·n numbers, by the parameter angles, which has
// n cosines and then n sines.
func Rotate(x, angles []float32) { rotate(x, angles, 1) }

// RotateBack rotates the pairs of x back. It undoes Rotate, and turns the gradient of Rotate's
// result into that of its input.
func RotateBack(x, angles []float32) { rotate(x, angles, -1) }

func rotate(x, angles []float32, sign float32) {
	n := len(x) / 2
	lo, hi, cos, sin := x[:n], x[n:][:n], angles[:n], angles[n:][:n]
	if rotateWide(lo, hi, cos, sin, sign) {
		return
	}
	for i, a := range lo {
		b, s := hi[i], sign*sin[i]
		lo[i], hi[i] = a*cos[i]-b*s, a*s+b*cos[i]
	}
}
