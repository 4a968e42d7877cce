//go:build !amd64

package tensor

func brainISA() bool { return false }

func brainBlocks(a, b, c []float32, ldc, steps, rows, cols int, sum bool) { panic("unreachable") }

func packBrain(dst []float32, step int, x gemmSide, stride, n int, alpha float32, isA bool) {
	panic("unreachable")
}
