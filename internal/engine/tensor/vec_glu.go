package tensor

// SwiGLU writes silu(gate)·up to dst (arXiv:2002.05202). The destination may be gate or up.
func SwiGLU(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	if n := swiGLU(dst, gate, up); n < len(dst) {
		swiGLUPlain(dst[n:], gate[n:], up[n:])
	}
}

// ClampedGLU writes g·sigmoid(alpha·g)·(u+1) to dst with g = min(gate, limit) and u = up clamped to
// ±limit: the activation of gpt-oss (arXiv:2508.10925). The destination may be gate or up.
func ClampedGLU(dst, gate, up []float32, alpha, limit float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i, g := range gate {
		g = min(g, limit)
		u := max(min(up[i], limit), -limit)
		dst[i] = g / (1 + Exp(-alpha*g)) * (u + 1)
	}
}

func swiGLUPlain(dst, gate, up []float32) {
	for i, g := range gate {
		dst[i] = g / (1 + Exp(-g)) * up[i]
	}
}
