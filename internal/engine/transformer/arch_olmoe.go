package transformer

// olmoe normalises whole rows of queries and keys, and uses the weights of the chosen experts
// unscaled (arXiv:2409.02060).
func olmoe() *arch {
	return &arch{
		names: []string{"olmoe"}, rope: ropeHalves, qkNorm: normRow, ffnNorm: "ffn_norm",
		moe: moeRule{possible: true, required: true, gating: gateSoftmax},
	}
}
