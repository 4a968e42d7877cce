//go:build !amd64 && !arm64

package tensor

// The vector kernels: this processor has none. They return the number of leading elements
// processed, which is 0.

func addTo(dst, x []float32) int                       { return 0 }
func axpy(dst, x []float32, a float32) int             { return 0 }
func mulScaled(dst, x, w []float32, scale float32) int { return 0 }
func swiGLU(dst, gate, up []float32) int               { return 0 }
func sumSquares(x []float32) (float64, int)            { return 0, 0 }
func toHalf(dst []uint16, x []float32) int             { return 0 }
func fromHalf(dst []float32, x []uint16) int           { return 0 }
func finite(x []float32) (ok bool, n int)              { return true, 0 }
