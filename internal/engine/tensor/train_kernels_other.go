//go:build !amd64

package tensor

// The training kernels: this processor has none.

func productWide(x, y []float32) (float32, bool)                                 { return 0, false }
func peakWide(x []float32) (float32, bool)                                       { return 0, false }
func scaleWide(x []float32, a float32) bool                                      { return false }
func expSumWide(x []float32, top float32) (float32, bool)                        { return 0, false }
func softmaxBackWide(ds, p []float32, delta float32) bool                        { return false }
func rotateWide(lo, hi, cos, sin []float32, sign float32) bool                   { return false }
func normBackWide(dx, dh, x, w, dw []float32, inv float32) bool                  { return false }
func swiGLUBackWide(a, dg, du, da, g, u []float32, gain float32) (float32, bool) { return 0, false }
