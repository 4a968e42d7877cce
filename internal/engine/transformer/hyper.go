package transformer

import (
	"fmt"
	"math"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// Hyper is the shape of a network, read from the metadata of its file and checked.
type Hyper struct {
	Arch    string // general.architecture
	Name    string // general.name, for display
	Vocab   int    // rows of the embedding
	Ctx     int    // trained context length in tokens
	Layers  int
	Embed   int // width of the residual stream
	Heads   int // query heads
	KVHeads int // key and value heads; Heads is a multiple of it
	HeadDim int // width of one head of queries, keys and values
	FF      int // width of the dense feed-forward block; 0 if every layer has experts

	Experts       int // experts per layer; 0 for a dense network
	ActiveExperts int // number of experts that compute each token
	ExpertFF      int // width of one expert
	SharedFF      int // width of the shared expert; 0 if there is none
	ExpertScale   float32

	Eps          float32 // of every RMS norm
	Window       int     // sliding-window length of the layers that have a window; 0 means none
	WindowPeriod int     // every WindowPeriod-th layer attends to all tokens, the others to Window tokens

	Rope RopeParams
}

// RopeParams are the parameters of the rotary position embedding.
type RopeParams struct {
	Dims    int     // leading dimensions of a head that are rotated
	Base    float32 // base of the wavelengths
	Scaling string  // "none", "linear" or "yarn"
	Factor  float32 // context extension factor, positive; 1 for none
	OrigCtx int     // context length before extension

	AttnFactor, ExtFactor, BetaFast, BetaSlow float32 // YaRN
}

// Limits beyond which a header is considered damaged: ten times the largest existing network.
const (
	maxLayers  = 4096
	maxWidth   = 1 << 20
	maxExperts = 1 << 14
	maxVocab   = 1 << 24
	maxCtx     = 1 << 30
)

// KVWidth returns the number of key (or value) elements per token in one layer.
func (h *Hyper) KVWidth() int { return h.KVHeads * h.HeadDim }

// windowOf returns the attention window of a layer: the number of tokens, including itself, that a
// token attends to; 0 means all.
func (h *Hyper) windowOf(layer int) int {
	if h.Window == 0 || h.WindowPeriod > 0 && layer%h.WindowPeriod == h.WindowPeriod-1 {
		return 0
	}
	return h.Window
}

// ReadHyper reads and checks the shape of the network in f. An error contains the name of the wrong
// key.
func ReadHyper(f *gguf.File) (Hyper, error) {
	h, _, err := readHyper(f)
	return h, err
}

func readHyper(f *gguf.File) (Hyper, *arch, error) {
	name, ok := f.String("general.architecture")
	if !ok {
		return Hyper{}, nil, fmt.Errorf("transformer: read hyper-parameters: the file has no general.architecture key; it is not a model file")
	}
	a := findArch(name)
	if a == nil {
		return Hyper{}, nil, fmt.Errorf("transformer: read hyper-parameters: architecture %q is not supported; supported are %s", name, strings.Join(Architectures(), ", "))
	}
	r := metaReader{f: f, prefix: name + "."}
	h := Hyper{Arch: name}
	h.Name, _ = f.String("general.name")
	h.Ctx = r.count("context_length", 0, 1, maxCtx)
	h.Layers = r.count("block_count", 0, 1, maxLayers)
	h.Embed = r.count("embedding_length", 0, 1, maxWidth)
	h.Heads = r.count("attention.head_count", 0, 1, maxWidth)
	h.KVHeads = r.count("attention.head_count_kv", h.Heads, 1, maxWidth)
	h.Eps = r.float("attention.layer_norm_rms_epsilon", -1, 0, 1)
	if r.err == nil && h.Heads%h.KVHeads != 0 {
		r.fail("attention.head_count_kv", "%d does not divide the %d query heads", h.KVHeads, h.Heads)
	}
	r.heads(&h)
	r.experts(&h, a)
	r.window(&h, a)
	r.rope(&h)
	if r.err == nil {
		h.Vocab, r.err = vocabOf(f, h.Embed)
	}
	return h, a, r.err
}

func vocabOf(f *gguf.File, embed int) (int, error) {
	t, ok := f.Tensor("token_embd.weight")
	if !ok {
		return 0, fmt.Errorf("transformer: read hyper-parameters: the file has no tensor token_embd.weight")
	}
	if len(t.Dims) != 2 || t.Dims[0] != embed || t.Dims[1] < 1 || t.Dims[1] > maxVocab {
		return 0, fmt.Errorf("transformer: read hyper-parameters: token_embd.weight has shape %v, want [%d vocabulary]", t.Dims, embed)
	}
	return t.Dims[1], nil
}

func (r *metaReader) heads(h *Hyper) {
	if r.err != nil {
		return
	}
	def := 0
	if h.Embed%h.Heads == 0 {
		def = h.Embed / h.Heads
	}
	h.HeadDim = r.count("attention.key_length", def, 2, 4096)
	if v := r.count("attention.value_length", h.HeadDim, 2, 4096); r.err == nil && v != h.HeadDim {
		r.fail("attention.value_length", "%d differs from the key length %d, which is not supported", v, h.HeadDim)
	}
	if r.err == nil && h.HeadDim%2 != 0 {
		r.fail("attention.key_length", "%d is odd; rotary embedding needs pairs", h.HeadDim)
	}
	if r.err == nil && h.Heads > maxWidth/h.HeadDim {
		r.fail("attention.head_count", "%d heads of %d are too wide", h.Heads, h.HeadDim)
	}
}

func (r *metaReader) experts(h *Hyper, a *arch) {
	if !a.moe.required {
		h.FF = r.count("feed_forward_length", -1, 1, maxWidth)
	} else {
		h.FF = r.count("feed_forward_length", 0, 0, maxWidth)
	}
	if !a.moe.possible {
		return
	}
	h.Experts = r.count("expert_count", 0, 0, maxExperts)
	h.ActiveExperts = r.count("expert_used_count", 0, 0, maxExperts)
	switch {
	case r.err != nil:
		return
	case h.Experts == 0 && a.moe.required:
		r.fail("expert_count", "%s needs at least one expert", h.Arch)
		return
	case h.Experts == 0:
		return
	case h.ActiveExperts == 0:
		r.fail("expert_used_count", "no expert is active")
		return
	case h.ActiveExperts > h.Experts:
		r.fail("expert_used_count", "%d active experts of %d", h.ActiveExperts, h.Experts)
		return
	}
	h.ExpertFF = r.count("expert_feed_forward_length", h.FF/a.moe.ffShare(h.ActiveExperts), 1, maxWidth)
	h.ExpertScale = r.float("expert_weights_scale", 1, 0, 1e6)
	if h.ExpertScale == 0 {
		h.ExpertScale = 1 // converters write 0 for "none"
	}
	if a.moe.shared {
		h.SharedFF = r.count("expert_shared_feed_forward_length", h.FF, 1, maxWidth)
	}
}

func (r *metaReader) window(h *Hyper, a *arch) {
	if a.windowPeriod == 0 {
		return
	}
	h.Window = r.count("attention.sliding_window", 0, 0, maxCtx)
	h.WindowPeriod = r.count("attention.sliding_window_pattern", a.windowPeriod, 1, maxLayers)
}

func (r *metaReader) rope(h *Hyper) {
	p := &h.Rope
	p.Dims = r.count("rope.dimension_count", h.HeadDim, 2, 4096)
	if r.err == nil && (p.Dims > h.HeadDim || p.Dims%2 != 0) {
		r.fail("rope.dimension_count", "%d does not fit heads of %d", p.Dims, h.HeadDim)
	}
	p.Base = r.float("rope.freq_base", 10000, 1e-3, 1e15)
	p.Scaling = "linear"
	if s, ok := r.f.String(r.prefix + "rope.scaling.type"); ok {
		p.Scaling = s
	}
	p.Factor = r.float("rope.scaling.factor", float64(r.float("rope.scale_linear", 0, 0, 1e6)), 0, 1e6)
	if p.Factor == 0 {
		p.Factor = 1
	}
	p.OrigCtx = r.count("rope.scaling.original_context_length", h.Ctx, 1, maxCtx)
	p.AttnFactor = r.float("rope.scaling.attn_factor", 1, -1e6, 1e6) *
		r.float("rope.scaling.yarn_attn_factor", 1, -1e6, 1e6)
	p.ExtFactor = r.float("rope.scaling.yarn_ext_factor", 1, -1e6, 1e6)
	p.BetaFast = r.float("rope.scaling.yarn_beta_fast", 32, 1e-6, 1e9)
	p.BetaSlow = r.float("rope.scaling.yarn_beta_slow", 1, 1e-6, 1e9)
	switch p.Scaling {
	case "none":
		p.Factor = 1
	case "linear", "yarn":
	default:
		r.fail("rope.scaling.type", "%q is not supported; supported are none, linear, yarn", p.Scaling)
	}
}

// metaReader reads the numbers of one architecture and keeps the first error.
type metaReader struct {
	f      *gguf.File
	prefix string
	err    error
}

func (r *metaReader) fail(key, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("transformer: read hyper-parameters: %s%s: %s", r.prefix, key, fmt.Sprintf(format, args...))
	}
}

// count reads an integer in [lo, hi]. If the key is absent, the result is def; if def is out of
// range, the key is required. Arrays (one number per layer) are accepted if all their numbers are
// equal.
func (r *metaReader) count(key string, def, lo, hi int) int {
	v, ok := r.f.Uint(r.prefix + key)
	if !ok {
		list, isList := r.f.Ints(r.prefix + key)
		if !isList || len(list) == 0 {
			if _, _, _, present := r.f.Kind(r.prefix + key); present {
				r.fail(key, "is not a count")
				return lo
			}
			if def < lo || def > hi {
				r.fail(key, "is missing")
			}
			return def
		}
		for _, x := range list {
			if x != list[0] {
				r.fail(key, "differs between layers, which is not supported")
			}
		}
		if list[0] < 0 {
			r.fail(key, "%d is out of range [%d, %d]", list[0], lo, hi)
			return lo
		}
		v = uint64(list[0])
	}
	if v < uint64(lo) || v > uint64(hi) {
		r.fail(key, "%d is out of range [%d, %d]", v, lo, hi)
		return lo
	}
	return int(v)
}

// float reads a number in [lo, hi]. If the key is absent, the result is def; a def below lo makes
// the key required.
func (r *metaReader) float(key string, def, lo, hi float64) float32 {
	v, ok := r.f.Float(r.prefix + key)
	if !ok {
		if _, _, _, present := r.f.Kind(r.prefix + key); present {
			r.fail(key, "is not a number")
		}
		if def < lo {
			r.fail(key, "is missing")
		}
		return float32(def)
	}
	if math.IsNaN(v) || v < lo || v > hi {
		r.fail(key, "%v is out of range [%g, %g]", v, lo, hi)
		return float32(lo)
	}
	return float32(v)
}
