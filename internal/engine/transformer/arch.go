package transformer

import "slices"

// arch declares how one architecture differs from the shared blocks. Each architecture has a file
// of its own, arch_NAME.go, and an entry in archs below.
type arch struct {
	names        []string // values of general.architecture
	rope         ropeLayout
	qkNorm       normScope
	sinks        bool   // attn_sinks: a learned logit per head that draws attention away
	windowPeriod int    // every windowPeriod-th layer attends to all tokens, the others to a window; 0: every layer to all
	ffnNorm      string // tensor before the feed-forward block
	tied         bool   // the output matrix may be absent; then it is the embedding
	moe          moeRule
}

// ropeLayout says which elements of a head are rotated together.
type ropeLayout int

const (
	ropeHalves ropeLayout = iota // i with i+d/2, as in GPT-NeoX
	ropePairs                    // 2i with 2i+1, as in the first Llama files
)

// normScope says over which elements queries and keys are normalised before rotation.
type normScope int

const (
	normNone normScope = iota
	normHead           // each head separately
	normRow            // all heads together
)

// gating selects how router logits become the weights of the chosen experts.
type gating int

const (
	gateSoftmax    gating = iota // softmax over all experts, then the largest
	gateTopSoftmax               // the largest logits, then softmax over them
)

// activation selects how the gate and up projections of a feed-forward block are combined.
type activation int

const (
	actSwiGLU  activation = iota // silu(gate)·up
	actClamped                   // gpt-oss: gate·sigmoid(1.702·gate)·(up+1), both clamped to 7
)

// moeRule declares the expert layers of an architecture.
type moeRule struct {
	possible  bool // the architecture may have experts
	required  bool // it always has
	gating    gating
	normalise bool // weights of the chosen experts are scaled to sum to 1
	shared    bool // adds a shared expert behind a sigmoid gate
	biases    bool // router and experts have biases
	act       activation
	splitFF   bool // if the expert width is absent, it is the dense width divided by the number of active experts
}

func (m moeRule) ffShare(active int) int {
	if m.splitFF {
		return max(active, 1)
	}
	return 1
}

// archs lists the architectures that can be loaded. A new one is a file arch_NAME.go and an entry
// here. Every test that runs over all architectures, TestReference first, then covers it.
func archs() []*arch {
	return []*arch{qwen3moe(), qwen3(), qwen2moe(), qwen2(), llama(), olmoe(), gptOSS()}
}

func findArch(name string) *arch {
	for _, a := range archs() {
		if slices.Contains(a.names, name) {
			return a
		}
	}
	return nil
}

// Architectures lists the values of general.architecture that can be loaded.
func Architectures() []string {
	var names []string
	for _, a := range archs() {
		names = append(names, a.names...)
	}
	return names
}
