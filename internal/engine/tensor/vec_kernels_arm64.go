package tensor

// The NEON vector kernels. They return the number of leading elements that they processed.

// whole returns the number of the n elements that the kernels process.
func whole(n int) int { return n &^ 15 }

func addTo(dst, x []float32) int {
	n := whole(len(dst))
	if n > 0 {
		addToNEON(&dst[0], &x[0], n)
	}
	return n
}

func axpy(dst, x []float32, a float32) int {
	n := whole(len(dst))
	if n > 0 {
		axpyNEON(&dst[0], &x[0], n, a)
	}
	return n
}

func mulScaled(dst, x, w []float32, scale float32) int {
	n := whole(len(dst))
	if n > 0 {
		mulScaledNEON(&dst[0], &x[0], &w[0], n, scale)
	}
	return n
}

func swiGLU(dst, gate, up []float32) int {
	n := whole(len(dst))
	if n > 0 {
		swiGLUNEON(&dst[0], &gate[0], &up[0], n)
	}
	return n
}

func sumSquares(x []float32) (float64, int) {
	n := whole(len(x))
	if n == 0 {
		return 0, 0
	}
	return sumSquaresNEON(&x[0], n), n
}

func toHalf(dst []uint16, x []float32) int {
	n := whole(len(x))
	if n > 0 {
		toHalfNEON(&dst[0], &x[0], n)
	}
	return n
}

func fromHalf(dst []float32, x []uint16) int {
	n := whole(len(x))
	if n > 0 {
		fromHalfNEON(&dst[0], &x[0], n)
	}
	return n
}

// finite checks only the first n elements.
func finite(x []float32) (ok bool, n int) {
	n = whole(len(x))
	return n == 0 || finiteNEON(&x[0], n), n
}

//go:noescape
func addToNEON(dst, x *float32, n int)

//go:noescape
func axpyNEON(dst, x *float32, n int, a float32)

//go:noescape
func mulScaledNEON(dst, x, w *float32, n int, scale float32)

//go:noescape
func swiGLUNEON(dst, gate, up *float32, n int)

//go:noescape
func sumSquaresNEON(x *float32, n int) float64

//go:noescape
func toHalfNEON(dst *uint16, x *float32, n int)

//go:noescape
func fromHalfNEON(dst *float32, x *uint16, n int)

//go:noescape
func finiteNEON(x *float32, n int) bool

// peaksNEON returns the smallest and the largest of n numbers.
//
//go:noescape
func peaksNEON(x *float32, n int) (low, high float32)

// roundNEON multiplies n numbers by scale, rounds them to 8 bits, and writes the sum of every 16
// numbers.
//
//go:noescape
func roundNEON(q *byte, sums *int16, x *float32, n int, scale float32)

// softTopNEON multiplies the TileTokens scores by scale and returns the largest of top and those in
// [lo,hi).
//
//go:noescape
func softTopNEON(row *float32, lo, hi int32, scale, top float32) float32

// softWeightsNEON replaces the scores by e^(score-top), by 0 outside [lo,hi), and returns their
// sum.
//
//go:noescape
func softWeightsNEON(row *float32, lo, hi int32, top float32) float32
