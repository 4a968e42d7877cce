package tensor

import (
	"math"

	"github.com/luthier-dev/luthier/internal/engine/quant"
)

// RMSNorm writes w·x/√(mean(x²)+eps) to dst (arXiv:1910.07467). The destination may be x.
func RMSNorm(dst, x, w []float32, eps float32) {
	dst, w = dst[:len(x)], w[:len(x)]
	sum, n := sumSquares(x)
	sum += sumSquaresPlain(x[n:])
	// This is rounded at the same place as in ggml, so that later roundings agree with ggml's more
	// often.
	scale := 1 / float32(math.Sqrt(float64(float32(sum/float64(len(x)))+eps)))
	if n := mulScaled(dst, x, w, scale); n < len(x) {
		mulScaledPlain(dst[n:], x[n:], w[n:], scale)
	}
}

// AddTo adds x to dst.
func AddTo(dst, x []float32) {
	x = x[:len(dst)]
	if n := addTo(dst, x); n < len(dst) {
		addToPlain(dst[n:], x[n:])
	}
}

// Axpy adds a·x to dst.
func Axpy(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	if n := axpy(dst, x, a); n < len(dst) {
		axpyPlain(dst[n:], x[n:], a)
	}
}

// Dot returns the sum of the products of x and y.
func Dot(x, y []float32) float32 {
	sum := float64(0)
	for i, v := range x {
		sum += float64(v) * float64(y[i])
	}
	return float32(sum)
}

// Finite reports whether x contains neither an infinity nor a NaN.
func Finite(x []float32) bool {
	ok, n := finite(x)
	if !ok {
		return false
	}
	for _, v := range x[n:] {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// Softmax replaces x by e^xᵢ over their sum. If x contains infinities or NaN, the result may be all
// NaN.
func Softmax(x []float32) {
	if len(x) == 0 {
		return
	}
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	sum := float32(0)
	for i, v := range x {
		x[i] = Exp(v - top)
		sum += x[i]
	}
	inv := 1 / sum
	for i := range x {
		x[i] *= inv
	}
}

func sumSquaresPlain(x []float32) float64 {
	sum := float64(0)
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

func mulScaledPlain(dst, x, w []float32, scale float32) {
	for i, v := range x {
		dst[i] = v * scale * w[i]
	}
}

// ToHalf rounds x to half precision.
func ToHalf(dst []uint16, x []float32) {
	dst = dst[:len(x)]
	for i := toHalf(dst, x); i < len(x); i++ {
		dst[i] = quant.FloatToHalf(x[i])
	}
}

// FromHalf widens half-precision numbers.
func FromHalf(dst []float32, x []uint16) {
	dst = dst[:len(x)]
	for i := fromHalf(dst, x); i < len(x); i++ {
		dst[i] = quant.HalfToFloat(x[i])
	}
}

func addToPlain(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

func axpyPlain(dst, x []float32, a float32) {
	for i, v := range x {
		dst[i] += a * v
	}
}
