package transformer

// qwen2 has biases on queries, keys and values (arXiv:2407.10671).
func qwen2() *arch {
	return &arch{names: []string{"qwen2"}, rope: ropeHalves, ffnNorm: "ffn_norm", tied: true}
}

// qwen2moe adds experts, weighted by the softmax over all experts, and a shared expert behind a
// sigmoid gate.
func qwen2moe() *arch {
	a := qwen2()
	a.names = []string{"qwen2moe"}
	a.moe = moeRule{possible: true, required: true, gating: gateSoftmax, shared: true, splitFF: true}
	return a
}
