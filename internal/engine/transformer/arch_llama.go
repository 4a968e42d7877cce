package transformer

// llama covers Llama 1 to 3, Mistral and Mixtral, whose files all have the same architecture name.
// Their converter interleaves the rows of queries and keys so that neighbours are rotated together;
// Llama 3.1 divides frequencies by the tensor rope_freqs.
func llama() *arch {
	return &arch{
		names: []string{"llama"}, rope: ropePairs, ffnNorm: "ffn_norm", tied: true,
		moe: moeRule{possible: true, gating: gateSoftmax, normalise: true},
	}
}
