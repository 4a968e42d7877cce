package train

import "github.com/luthier-dev/luthier/internal/tensor"

// eps is what RMS norms add to the mean of squares: 1e-6, as Qwen3 has it.
const eps = 1e-6

// normalise writes w·x/rms(x) of each row to dst, and 1/rms to inv.
func normalise(dst, x, w, inv []float32) {
	n := len(w)
	for i := range inv {
		inv[i] = tensor.RMSNormRow(dst[i*n:(i+1)*n], x[i*n:(i+1)*n], w, eps)
	}
}

// normaliseBack adds the gradient of normalise's input to dx and that of its weights to dw; dh is the gradient of its output.
func normaliseBack(dx, dh, x, w, inv, dw []float32) {
	n := len(w)
	for i, r := range inv {
		tensor.RMSNormBack(dx[i*n:(i+1)*n], dh[i*n:(i+1)*n], x[i*n:(i+1)*n], w, r, dw)
	}
}

// dot sums the products of x and y in eight parts, so that additions need not wait for each other.
func dot(x, y []float32) float32 {
	y = y[:len(x)]
	var a, b, c, d, e, f, g, h float32
	for len(x) >= 8 && len(y) >= 8 {
		a += x[0] * y[0]
		b += x[1] * y[1]
		c += x[2] * y[2]
		d += x[3] * y[3]
		e += x[4] * y[4]
		f += x[5] * y[5]
		g += x[6] * y[6]
		h += x[7] * y[7]
		x, y = x[8:], y[8:]
	}
	for i, v := range x {
		a += v * y[i]
	}
	return (a + b) + (c + d) + ((e + f) + (g + h))
}
