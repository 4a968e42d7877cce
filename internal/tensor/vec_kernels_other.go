package tensor

// The vector kernels this processor runs. Those that return a number did that many leading elements.

func sumSquares(x []float32) float32               { return sumSquaresPlain(x) }
func mulScaled(dst, x, w []float32, scale float32) { mulScaledPlain(dst, x, w, scale) }
func addTo(dst, x []float32) int                   { return 0 }
func axpy(dst, x []float32, a float32) int         { return 0 }
func swiGLU(dst, gate, up []float32) int           { return 0 }
