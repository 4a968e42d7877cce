package transformer

// gptOSS alternates layers with and without a sliding window, and has attention sinks and biases
// everywhere; its softmax runs over the chosen experts only (arXiv:2508.10925).
func gptOSS() *arch {
	return &arch{
		names: []string{"gpt-oss"}, rope: ropeHalves, sinks: true, windowPeriod: 2, ffnNorm: "post_attention_norm", tied: true,
		moe: moeRule{possible: true, required: true, gating: gateTopSoftmax, biases: true, act: actClamped},
	}
}
