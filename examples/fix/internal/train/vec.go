package train

import "github.com/luthier-dev/luthier/internal/engine/tensor"

// eps is the number that RMS norms add to the mean of squares: 1e-6, as in Qwen3.
const eps = 1e-6

// normalise writes w·x/rms(x) of each row to dst, and 1/rms to inv.
func normalise(dst, x, w, inv []float32) {
	n := len(w)
	for i := range inv {
		inv[i] = tensor.RMSNormRow(dst[i*n:(i+1)*n], x[i*n:(i+1)*n], w, eps)
	}
}

// normaliseBack is the backward pass of normalise. It reads the gradient of the output from dh, and
// adds the gradient of the input to dx and that of the weights to dw.
func normaliseBack(dx, dh, x, w, inv, dw []float32) {
	n := len(w)
	for i, r := range inv {
		tensor.RMSNormBack(dx[i*n:(i+1)*n], dh[i*n:(i+1)*n], x[i*n:(i+1)*n], w, r, dw)
	}
}
