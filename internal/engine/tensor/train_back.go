package tensor

import "math"

// RMSNormRow is RMSNorm of one row. It returns the factor 1/√(mean(x²)+eps), which RMSNormBack
// needs.
func RMSNormRow(dst, x, w []float32, eps float32) float32 {
	inv := float32(1 / math.Sqrt(float64(Product(x, x))/float64(len(x))+float64(eps)))
	dst, w = dst[:len(x)], w[:len(x)]
	if n := mulScaled(dst, x, w, inv); n < len(x) {
		mulScaledPlain(dst[n:], x[n:], w[n:], inv)
	}
	return inv
}

// RMSNormBack adds the gradients of one row x and of the weights w to dx and dw. The parameter dh
// is the gradient of RMSNormRow's result, and inv is the factor that RMSNormRow returned. The
// slices dh and dx must not be the same.
func RMSNormBack(dx, dh, x, w []float32, inv float32, dw []float32) {
	n := len(dx)
	dh, x, w, dw = dh[:n], x[:n], w[:n], dw[:n]
	if normBackWide(dx, dh, x, w, dw, inv) {
		return
	}
	sum := float32(0)
	for i, g := range dh {
		g *= x[i]
		sum += g * w[i]
		dw[i] += g * inv
	}
	c := sum * inv * inv * inv / float32(n)
	for i, g := range dh {
		dx[i] += g*w[i]*inv - x[i]*c
	}
}

// SwiGLUBack is the backward pass of gain·SwiGLU(gate, up). It writes that value to act, and the
// gradients of gate and up to dgate and dup. The parameter dact is the gradient of the value. The
// result is the gradient of gain.
func SwiGLUBack(act, dgate, dup, dact, gate, up []float32, gain float32) float32 {
	n := len(act)
	dgate, dup, dact, gate, up = dgate[:n], dup[:n], dact[:n], gate[:n], up[:n]
	if sum, ok := swiGLUBackWide(act, dgate, dup, dact, gate, up, gain); ok {
		return sum
	}
	sum := float32(0)
	for i, g := range gate {
		sig := Sigmoid(g)
		silu, da := g*sig, dact[i]
		v := silu * up[i]
		sum += da * v
		act[i] = gain * v
		da *= gain
		dup[i] = da * silu
		dgate[i] = da * up[i] * (sig + silu*(1-sig))
	}
	return sum
}
