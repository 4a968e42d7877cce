package tensor

// The vector kernels this processor runs. Those that return a number did that many leading elements.

func addTo(dst, x []float32) int {
	n := whole(len(dst))
	if n > 0 {
		addToAVX512(&dst[0], &x[0], n)
	}
	return n
}

func axpy(dst, x []float32, a float32) int {
	n := whole(len(dst))
	if n > 0 {
		axpyAVX512(&dst[0], &x[0], n, a)
	}
	return n
}

func mulScaled(dst, x, w []float32, scale float32) int {
	n := whole(len(dst))
	if n > 0 {
		mulScaledAVX512(&dst[0], &x[0], &w[0], n, scale)
	}
	return n
}

func swiGLU(dst, gate, up []float32) int {
	n := whole(len(dst))
	if n > 0 {
		swiGLUAVX512(&dst[0], &gate[0], &up[0], n)
	}
	return n
}

func sumSquares(x []float32) (float64, int) {
	n := whole(len(x))
	if n == 0 {
		return 0, 0
	}
	return sumSquaresAVX512(&x[0], n), n
}

func toHalf(dst []uint16, x []float32) int {
	n := whole(len(x))
	if n > 0 {
		toHalfAVX512(&dst[0], &x[0], n)
	}
	return n
}

func fromHalf(dst []float32, x []uint16) int {
	n := whole(len(x))
	if n > 0 {
		fromHalfAVX512(&dst[0], &x[0], n)
	}
	return n
}

// finite looks at the first n elements only.
func finite(x []float32) (ok bool, n int) {
	n = whole(len(x))
	return n == 0 || finiteAVX512(&x[0], n), n
}

// whole is how many of n elements make whole vectors; 0 where there are no wide vectors.
func whole(n int) int {
	if !wide() {
		return 0
	}
	return n &^ 15
}
