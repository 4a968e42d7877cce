package synth

import (
	"fmt"
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// Config is the shape of a model. Sizes are numbers of values.
type Config struct {
	Arch      string // qwen3moe, qwen3, qwen2, qwen2moe, llama, olmoe or gpt-oss
	Layers    int
	Embd      int // width of the residual stream
	Heads     int
	KVHeads   int
	HeadDim   int
	FF        int    // hidden width of a dense feed-forward layer
	Experts   int    // 0 means a dense model
	Active    int    // experts used per token
	ExpertFF  int    // hidden width of an expert
	SharedFF  int    // hidden width of the shared expert of qwen2moe
	Context   int    // 0: 32768
	Window    int    // sliding window of gpt-oss, 0: 128
	Vocab     int    // number of tokens, 0: as many as the vocabulary has; unused tokens fill up a larger number
	Tied      bool   // the output matrix is the token embedding
	Quant     string // a tensor type for all matrices ("q8_0"), or a mix: q4_k_m, q5_k_m, mxfp4_moe
	Seed      uint64
	VocabFrom *gguf.File // a file to take the tokenizer from; nil: a small one made here

	// TypeOf, if set, decides the type of each tensor; its parameter usual is the type that Quant
	// selects.
	TypeOf func(tensor string, usual gguf.Type) gguf.Type
}

// Archs lists the architectures for which models can be made.
func Archs() []string {
	return []string{"qwen3moe", "qwen3", "qwen2", "qwen2moe", "llama", "olmoe", "gpt-oss"}
}

// Tiny returns the shape of a model of two layers and a few million weights in F32, whose rows
// divide into blocks of every type. Mixture-of-experts architectures have eight experts, two of
// them active.
func Tiny(arch string) Config {
	c := Config{Arch: arch, Layers: 2, Embd: 256, Heads: 4, KVHeads: 2, HeadDim: 64, FF: 512, Context: 4096, Quant: "f32", Seed: 1}
	switch arch {
	case "qwen3moe", "qwen2moe", "olmoe", "gpt-oss":
		c.Experts, c.Active, c.ExpertFF = 8, 2, 256
	}
	switch arch {
	case "qwen2moe":
		c.SharedFF = 256
	case "olmoe":
		c.KVHeads = c.Heads
	case "gpt-oss":
		c.Window = 32
	}
	return c
}

// presets are the shapes of known models.
var presets = map[string]Config{
	// Four of the 48 layers of Qwen3-30B-A3B.
	"qwen3-30b-a3b-4l": {Arch: "qwen3moe", Layers: 4, Embd: 2048, Heads: 32, KVHeads: 4, HeadDim: 128, FF: 6144, Experts: 128, Active: 8, ExpertFF: 768, Vocab: 151936, Context: 40960},
	// About 1.0 billion weights, of which 0.2 billion are read per token.
	"moe-1b-a200m": {Arch: "qwen3moe", Layers: 16, Embd: 1024, Heads: 16, KVHeads: 4, HeadDim: 64, FF: 4096, Experts: 32, Active: 4, ExpertFF: 512, Vocab: 65536},
	// Llama 3.2 1B.
	"dense-1b": {Arch: "llama", Layers: 16, Embd: 2048, Heads: 32, KVHeads: 8, HeadDim: 64, FF: 8192, Vocab: 128256, Tied: true},
	// Qwen3-0.6B, the usual draft model of its family.
	"dense-0.6b": {Arch: "qwen3", Layers: 28, Embd: 1024, Heads: 16, KVHeads: 8, HeadDim: 128, FF: 3072, Vocab: 151936, Context: 40960, Tied: true},
}

// Preset returns the shape of a known model by name, with type Q8_0.
func Preset(name string) (Config, bool) {
	c, ok := presets[name]
	c.Quant, c.Seed = "q8_0", 1
	return c, ok
}

// Presets lists the names of the known models, for Preset.
func Presets() []string {
	var out []string
	for name := range presets {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// check fills in defaults in c and returns an error for a shape that no program could load.
func (c *Config) check() error {
	if c.Context == 0 {
		c.Context = 32768
	}
	if c.Window == 0 {
		c.Window = 128
	}
	if !slices.Contains(Archs(), c.Arch) {
		return fmt.Errorf("synth: make model: architecture %q is not known (known: %v)", c.Arch, Archs())
	}
	if c.Layers < 1 || c.Embd < 1 || c.Heads < 1 || c.KVHeads < 1 || c.HeadDim < 1 || c.FF < 1 {
		return fmt.Errorf("synth: make model: layers, widths and heads must be positive: %+v", *c)
	}
	if c.Heads%c.KVHeads != 0 || c.HeadDim%2 != 0 {
		return fmt.Errorf("synth: make model: %d heads must be a multiple of %d KV heads, and head width %d even", c.Heads, c.KVHeads, c.HeadDim)
	}
	if c.Experts > 0 && (c.Active < 1 || c.Active > c.Experts || c.ExpertFF < 1) {
		return fmt.Errorf("synth: make model: of %d experts, %d of width %d cannot be active", c.Experts, c.Active, c.ExpertFF)
	}
	a := archs[c.Arch]
	switch {
	case a.moe != (c.Experts > 0):
		return fmt.Errorf("synth: make model: %s and %d experts do not go together", c.Arch, c.Experts)
	case a.square && c.Heads*c.HeadDim != c.Embd:
		return fmt.Errorf("synth: make model: %s needs heads × head width = embedding width", c.Arch)
	case a.wideNorms && c.Heads != c.KVHeads:
		return fmt.Errorf("synth: make model: %s needs as many KV heads as heads", c.Arch)
	case a.shared && c.SharedFF < 1:
		return fmt.Errorf("synth: make model: %s needs the width of its shared expert", c.Arch)
	}
	return nil
}
