package transformer

// qwen3 normalises each head of queries and keys (arXiv:2505.09388).
func qwen3() *arch {
	return &arch{names: []string{"qwen3"}, rope: ropeHalves, qkNorm: normHead, ffnNorm: "ffn_norm", tied: true}
}

// qwen3moe is qwen3 with experts in every layer: a softmax over all experts, then the weights of
// the chosen experts are scaled so that their sum is 1.
func qwen3moe() *arch {
	a := qwen3()
	a.names = []string{"qwen3moe"}
	a.moe = moeRule{possible: true, required: true, gating: gateSoftmax, normalise: true, splitFF: true}
	return a
}
