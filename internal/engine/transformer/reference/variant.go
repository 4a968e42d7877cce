package reference

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
)

// Variant is a small generated model.
type Variant struct {
	Name string
	Arch string

	// Edit, if not nil, is called twice: with a nil writer before the model is created, to change
	// its shape, and with the finished writer, to add to the file.
	Edit func(*synth.Config, *gguf.Writer)
}

// Variants returns one model for each of the given architectures, and one for each optional feature
// of their files.
func Variants(architectures []string) []Variant {
	var v []Variant
	for _, a := range architectures {
		v = append(v, Variant{Name: a, Arch: a})
	}
	return append(v,
		Variant{"llama tied with frequency factors", "llama", func(c *synth.Config, w *gguf.Writer) {
			if w == nil {
				c.Tied = true
				return
			}
			f := make([]float32, c.HeadDim/2)
			for i := range f {
				f[i] = 1 + float32(i)/4
			}
			addFloats(w, "rope_freqs.weight", f, len(f))
		}},
		Variant{"llama with experts", "llama", func(c *synth.Config, w *gguf.Writer) {
			if w != nil {
				addExperts(c, w)
			}
		}},
		Variant{"qwen2 with linear scaling", "qwen2", func(c *synth.Config, w *gguf.Writer) {
			if w != nil {
				w.SetString("qwen2.rope.scaling.type", "linear")
				w.SetFloat32("qwen2.rope.scaling.factor", 4)
			}
		}},
		Variant{"qwen3moe with yarn", "qwen3moe", func(c *synth.Config, w *gguf.Writer) {
			if w != nil {
				w.SetString("qwen3moe.rope.scaling.type", "yarn")
				w.SetFloat32("qwen3moe.rope.scaling.factor", 4)
				w.SetUint32("qwen3moe.rope.scaling.original_context_length", 1024)
			}
		}},
		Variant{"qwen3 with narrow heads", "qwen3", func(c *synth.Config, w *gguf.Writer) {
			if w == nil {
				c.HeadDim, c.Heads, c.KVHeads = 40, 6, 2
			}
		}},
	)
}

func addFloats(w *gguf.Writer, name string, v []float32, dims ...int) {
	var b bytes.Buffer
	for _, x := range v {
		u := math.Float32bits(x)
		b.Write([]byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)})
	}
	w.AddTensor(name, gguf.TypeF32, dims, b.Bytes())
}

// addExperts adds experts to the dense blocks of a model, as in Mixtral's files, which use the name
// llama.
func addExperts(c *synth.Config, w *gguf.Writer) {
	const experts = 4
	w.SetUint32("llama.expert_count", experts)
	w.SetUint32("llama.expert_used_count", 2)
	r := rand.New(rand.NewPCG(1, 2))
	random := func(name string, cols int, dims ...int) {
		n := cols
		for _, d := range dims {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64() / math.Sqrt(float64(cols)))
		}
		addFloats(w, name, v, append([]int{cols}, dims...)...)
	}
	for i := range c.Layers {
		p := fmt.Sprintf("blk.%d.", i)
		random(p+"ffn_gate_inp.weight", c.Embd, experts)
		random(p+"ffn_gate_exps.weight", c.Embd, c.FF, experts)
		random(p+"ffn_up_exps.weight", c.Embd, c.FF, experts)
		random(p+"ffn_down_exps.weight", c.FF, c.Embd, experts)
	}
}

// Open creates the model with matrices of the given type.
func (v Variant) Open(t testing.TB, quant string) *gguf.File {
	t.Helper()
	c := synth.Tiny(v.Arch)
	c.Quant, c.Vocab = quant, 1000 // not a multiple of the rows that a kernel computes at once
	if v.Edit != nil {
		v.Edit(&c, nil)
	}
	w, err := synth.NewWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	if v.Edit != nil {
		v.Edit(&c, w)
	}
	var b bytes.Buffer
	b.Grow(8 << 20) // most models are this large
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// RandomTokens returns n tokens below vocab.
func RandomTokens(r *rand.Rand, n, vocab int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = int32(r.IntN(vocab))
	}
	return t
}
