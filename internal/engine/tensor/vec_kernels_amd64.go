package tensor

// The vector kernels for this processor. Kernels that return a number have processed that many
// leading elements.

func addTo(dst, x []float32) int {
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		addToAVX512(&dst[0], &x[0], n)
	default:
		addToAVX2(&dst[0], &x[0], n)
	}
	return n
}

func axpy(dst, x []float32, a float32) int {
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		axpyAVX512(&dst[0], &x[0], n, a)
	default:
		axpyAVX2(&dst[0], &x[0], n, a)
	}
	return n
}

func mulScaled(dst, x, w []float32, scale float32) int {
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		mulScaledAVX512(&dst[0], &x[0], &w[0], n, scale)
	default:
		mulScaledAVX2(&dst[0], &x[0], &w[0], n, scale)
	}
	return n
}

func swiGLU(dst, gate, up []float32) int {
	n := whole(len(dst))
	switch {
	case n == 0:
	case wide():
		swiGLUAVX512(&dst[0], &gate[0], &up[0], n)
	default:
		swiGLUAVX2(&dst[0], &gate[0], &up[0], n)
	}
	return n
}

func sumSquares(x []float32) (float64, int) {
	n := whole(len(x))
	switch {
	case n == 0:
		return 0, 0
	case wide():
		return sumSquaresAVX512(&x[0], n), n
	}
	return sumSquaresAVX2(&x[0], n), n
}

func toHalf(dst []uint16, x []float32) int {
	n := whole(len(x))
	switch {
	case n == 0:
	case wide():
		toHalfAVX512(&dst[0], &x[0], n)
	default:
		toHalfAVX2(&dst[0], &x[0], n)
	}
	return n
}

func fromHalf(dst []float32, x []uint16) int {
	n := whole(len(x))
	switch {
	case n == 0:
	case wide():
		fromHalfAVX512(&dst[0], &x[0], n)
	default:
		fromHalfAVX2(&dst[0], &x[0], n)
	}
	return n
}

// finite checks only the first n elements.
func finite(x []float32) (ok bool, n int) {
	n = whole(len(x))
	switch {
	case n == 0:
		return true, 0
	case wide():
		return finiteAVX512(&x[0], n), n
	}
	return finiteAVX2(&x[0], n), n
}

// whole returns the number of the n elements that fill whole vectors; 0 if there are no vectors.
func whole(n int) int {
	if attnISA < isaAVX2 {
		return 0
	}
	return n &^ 15
}
