package transformer

import "slices"

// arch describes the differences between one architecture and the shared blocks. Each architecture
// has a separate file, arch_NAME.go, and an entry in archs below.
type arch struct {
	names        []string // values of general.architecture
	rope         ropeLayout
	qkNorm       normScope
	sinks        bool   // attn_sinks: a learned logit per head that takes a part of the attention
	windowPeriod int    // every windowPeriod-th layer attends to all tokens, the others to a window; 0 means every layer to all
	ffnNorm      string // tensor before the feed-forward block
	tied         bool   // the output matrix may be absent; then it is the embedding
	moe          moeRule
}

// ropeLayout determines the elements of a head that are rotated together.
type ropeLayout int

const (
	ropeHalves ropeLayout = iota // i with i+d/2, as in GPT-NeoX
	ropePairs                    // 2i with 2i+1, as in the first Llama files
)

// normScope determines the elements over which queries and keys are normalised before rotation.
type normScope int

const (
	normNone normScope = iota
	normHead           // each head separately
	normRow            // all heads together
)

// gating is the function that computes the weights of the chosen experts from the router logits.
type gating int

const (
	gateSoftmax    gating = iota // softmax over all experts, then the largest
	gateTopSoftmax               // the largest logits, then softmax over them
)

// activation is the function that combines the gate and up projections of a feed-forward block.
type activation int

const (
	actSwiGLU  activation = iota // silu(gate)·up
	actClamped                   // gpt-oss: gate·sigmoid(1.702·gate)·(up+1), both clamped to 7
)

// moeRule describes the expert layers of an architecture.
type moeRule struct {
	possible  bool // the architecture may have experts
	required  bool // it always has experts
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

// archs lists the architectures that can be loaded. A new architecture needs a file arch_NAME.go
// and an entry here. It is then covered by every test for all architectures, such as TestReference.
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
