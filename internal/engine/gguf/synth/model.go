package synth

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
)

// arch holds the differences between the tensors of architectures.
type arch struct {
	moe       bool
	square    bool // the total width of the heads equals that of the embedding
	qkvBias   bool // biases on q, k and v
	headNorms bool // RMS norms of each head's q and k
	wideNorms bool // RMS norms over all heads' q and k
	shared    bool // a shared expert with a gate
	untied    bool // always has a separate output matrix
	oss       bool // gpt-oss: biases everywhere, attention sinks, another name for the second norm
}

var archs = map[string]arch{
	"qwen3moe": {moe: true, headNorms: true},
	"qwen3":    {headNorms: true},
	"qwen2":    {square: true, qkvBias: true},
	"qwen2moe": {moe: true, square: true, qkvBias: true, shared: true, untied: true},
	"llama":    {},
	"olmoe":    {moe: true, square: true, wideNorms: true, untied: true},
	"gpt-oss":  {moe: true, qkvBias: true, untied: true, oss: true},
}

// Create makes the model and writes it to a file. The file gets its name only when it is complete.
// Memory use is small for a model of any size.
func Create(path string, c Config) error {
	w, err := NewWriter(c)
	if err != nil {
		return err
	}
	return w.Create(path)
}

// Open makes the model in memory.
func Open(c Config) (*gguf.File, error) {
	w, err := NewWriter(c)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, err
	}
	return gguf.Parse(b.Bytes())
}

// NewWriter returns a writer with the whole model, in which tensors can be added and keys changed.
func NewWriter(c Config) (*gguf.Writer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &maker{Config: c, arch: archs[c.Arch], w: &gguf.Writer{}, pools: map[poolKey][]byte{}}
	if err := m.types.parse(c.Quant); err != nil {
		return nil, err
	}
	m.metadata()
	if err := m.vocabulary(); err != nil {
		return nil, err
	}
	m.tensors()
	return m.w, m.err
}

// maker holds the state of a model being made.
type maker struct {
	Config
	arch  arch
	types quantMix
	w     *gguf.Writer
	pools map[poolKey][]byte
	count uint64 // tensors so far; part of each tensor's seed
	err   error
}

func (m *maker) metadata() {
	w := m.w
	w.SetString("general.architecture", m.Arch)
	w.SetString("general.type", "model")
	w.SetString("general.name", fmt.Sprintf("synthetic-%s-seed%d", m.Arch, m.Seed))
	w.SetUint32("general.quantization_version", 2)
	w.SetUint32("general.file_type", m.types.fileType)
	num := func(key string, n int) { w.SetUint32(m.Arch+"."+key, uint32(n)) }
	num("block_count", m.Layers)
	num("context_length", m.Context)
	num("embedding_length", m.Embd)
	num("feed_forward_length", m.FF)
	num("attention.head_count", m.Heads)
	num("attention.head_count_kv", m.KVHeads)
	num("attention.key_length", m.HeadDim)
	num("attention.value_length", m.HeadDim)
	num("rope.dimension_count", m.HeadDim)
	w.SetFloat32(m.Arch+".attention.layer_norm_rms_epsilon", 1e-6)
	base := map[string]float32{"llama": 500000, "olmoe": 10000, "gpt-oss": 150000}[m.Arch]
	if base == 0 {
		base = 1e6
	}
	w.SetFloat32(m.Arch+".rope.freq_base", base)
	if m.arch.moe {
		num("expert_count", m.Experts)
		num("expert_used_count", m.Active)
		num("expert_feed_forward_length", m.ExpertFF)
	}
	if m.Arch == "olmoe" {
		num("feed_forward_length", m.ExpertFF) // this architecture has its expert width under this key
	}
	if m.arch.shared {
		num("expert_shared_feed_forward_length", m.SharedFF)
	}
	if m.arch.oss {
		num("attention.sliding_window", m.Window)
		w.SetString(m.Arch+".rope.scaling.type", "yarn")
		w.SetFloat32(m.Arch+".rope.scaling.factor", 32)
		num("rope.scaling.original_context_length", 4096)
	}
}

func (m *maker) tensors() {
	m.matrix("token_embd.weight", 1, m.Embd, m.Vocab)
	for i := range m.Layers {
		m.attention(fmt.Sprintf("blk.%d.", i), i)
		m.feedForward(fmt.Sprintf("blk.%d.", i), i)
	}
	m.norm("output_norm.weight", m.Embd)
	if m.arch.untied || !m.Tied {
		m.matrix("output.weight", 2, m.Embd, m.Vocab)
	}
}

func (m *maker) attention(p string, layer int) {
	q, kv := m.Heads*m.HeadDim, m.KVHeads*m.HeadDim
	m.norm(p+"attn_norm.weight", m.Embd)
	for _, t := range []struct {
		name string
		rows int
	}{{"attn_q", q}, {"attn_k", kv}, {"attn_v", kv}} {
		m.layerMatrix(p+t.name+".weight", layer, 1, m.Embd, t.rows)
		if m.arch.qkvBias {
			m.vector(p+t.name+".bias", 0, 0.1, t.rows)
		}
	}
	m.layerMatrix(p+"attn_output.weight", layer, 1, q, m.Embd)
	switch {
	case m.arch.headNorms:
		m.norm(p+"attn_q_norm.weight", m.HeadDim)
		m.norm(p+"attn_k_norm.weight", m.HeadDim)
	case m.arch.wideNorms:
		m.norm(p+"attn_q_norm.weight", q)
		m.norm(p+"attn_k_norm.weight", kv)
	case m.arch.oss:
		m.vector(p+"attn_output.bias", 0, 0.1, m.Embd)
		m.vector(p+"attn_sinks.weight", 0, 1, m.Heads)
	}
}

func (m *maker) feedForward(p string, layer int) {
	if m.arch.oss {
		m.norm(p+"post_attention_norm.weight", m.Embd)
	} else {
		m.norm(p+"ffn_norm.weight", m.Embd)
	}
	if !m.arch.moe {
		m.layerMatrix(p+"ffn_gate.weight", layer, 1, m.Embd, m.FF)
		m.layerMatrix(p+"ffn_up.weight", layer, 1, m.Embd, m.FF)
		m.layerMatrix(p+"ffn_down.weight", layer, 1, m.FF, m.Embd)
		return
	}
	m.add(p+"ffn_gate_inp.weight", gguf.TypeF32, 0, 2/math.Sqrt(float64(m.Embd)), m.Embd, m.Experts)
	m.layerMatrix(p+"ffn_gate_exps.weight", layer, 1, m.Embd, m.ExpertFF, m.Experts)
	m.layerMatrix(p+"ffn_up_exps.weight", layer, 1, m.Embd, m.ExpertFF, m.Experts)
	m.layerMatrix(p+"ffn_down_exps.weight", layer, 1, m.ExpertFF, m.Embd, m.Experts)
	if m.arch.shared {
		m.add(p+"ffn_gate_inp_shexp.weight", gguf.TypeF32, 0, 1/math.Sqrt(float64(m.Embd)), m.Embd)
		m.layerMatrix(p+"ffn_gate_shexp.weight", layer, 1, m.Embd, m.SharedFF)
		m.layerMatrix(p+"ffn_up_shexp.weight", layer, 1, m.Embd, m.SharedFF)
		m.layerMatrix(p+"ffn_down_shexp.weight", layer, 1, m.SharedFF, m.Embd)
	}
	if m.arch.oss {
		m.vector(p+"ffn_gate_inp.bias", 0, 0.1, m.Experts)
		m.vector(p+"ffn_gate_exps.bias", 0, 0.1, m.ExpertFF, m.Experts)
		m.vector(p+"ffn_up_exps.bias", 0, 0.1, m.ExpertFF, m.Experts)
		m.vector(p+"ffn_down_exps.bias", 0, 0.1, m.Embd, m.Experts)
	}
}

// norm adds the weights of an RMS norm, near 1.
func (m *maker) norm(name string, n int) { m.vector(name, 1, 0.1, n) }

// vector adds values that are never quantised.
func (m *maker) vector(name string, mean, std float64, dims ...int) {
	m.add(name, gguf.TypeF32, mean, std, dims...)
}

// matrix adds a matrix that belongs to no layer. For inputs with a standard deviation of 1, the
// standard deviation of its outputs is gain.
func (m *maker) matrix(name string, gain float64, dims ...int) {
	m.layerMatrix(name, -1, gain, dims...)
}

func (m *maker) layerMatrix(name string, layer int, gain float64, dims ...int) {
	t := m.types.of(name, layer, m.Layers, m.Experts, m.Tied && !m.arch.untied)
	m.add(name, fallback(t, dims[0]), 0, gain/math.Sqrt(float64(dims[0])), dims...)
}

func (m *maker) add(name string, t gguf.Type, mean, std float64, dims ...int) {
	if m.TypeOf != nil {
		t = m.TypeOf(name, t)
	}
	m.count++
	s := stream{t: t, mean: mean, std: std, cols: dims[0], values: 1, seed: m.count}
	for _, d := range dims {
		s.values *= d
	}
	m.w.AddTensorFunc(name, t, dims, func(w io.Writer) error { return m.fill(w, s) })
}
