package llm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
)

// variant is a small generated model.
type variant struct {
	name string
	arch string
	edit func(*synth.Config, *gguf.Writer)
}

// variants cover every architecture and what files of it may add.
func variants() []variant {
	var v []variant
	for _, a := range Architectures() {
		v = append(v, variant{name: a, arch: a})
	}
	return append(v,
		variant{"llama tied with frequency factors", "llama", func(c *synth.Config, w *gguf.Writer) {
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
		variant{"llama with experts", "llama", func(c *synth.Config, w *gguf.Writer) {
			if w != nil {
				addExperts(c, w)
			}
		}},
		variant{"qwen2 with linear scaling", "qwen2", func(c *synth.Config, w *gguf.Writer) {
			if w != nil {
				w.SetString("qwen2.rope.scaling.type", "linear")
				w.SetFloat32("qwen2.rope.scaling.factor", 4)
			}
		}},
		variant{"qwen3moe with yarn", "qwen3moe", func(c *synth.Config, w *gguf.Writer) {
			if w != nil {
				w.SetString("qwen3moe.rope.scaling.type", "yarn")
				w.SetFloat32("qwen3moe.rope.scaling.factor", 4)
				w.SetUint32("qwen3moe.rope.scaling.original_context_length", 1024)
			}
		}},
		variant{"qwen3 with narrow heads", "qwen3", func(c *synth.Config, w *gguf.Writer) {
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

// addExperts puts experts beside the dense blocks of a model, as Mixtral's files have them under the name llama.
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

// open makes the model with matrices of the type named.
func (v variant) open(t testing.TB, quant string) *gguf.File {
	t.Helper()
	c := synth.Tiny(v.arch)
	c.Quant, c.Vocab = quant, 1000 // not a multiple of the rows a kernel computes at once
	if v.edit != nil {
		v.edit(&c, nil)
	}
	w, err := synth.NewWriter(c)
	if err != nil {
		t.Fatal(err)
	}
	if v.edit != nil {
		v.edit(&c, w)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func randomTokens(r *rand.Rand, n, vocab int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = int32(r.IntN(vocab))
	}
	return t
}

// TestReference compares every architecture with the independent computation in double precision.
func TestReference(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			f := v.open(t, "f32")
			const count = 70 // beyond the sliding window and two pages
			n, c := newNetwork(t, f, gguf.TypeF32, count, 2)
			tokens := randomTokens(rand.New(rand.NewPCG(7, 7)), count, n.Hyper().Vocab)
			if err := n.Forward(c, []Slice{{Seq: seqOf(t, c, count), Tokens: tokens, Outputs: count}}); err != nil {
				t.Fatal(err)
			}
			r := newReference(t, f)
			var diff, power float64
			for i, tok := range tokens {
				got := n.Logits(i)
				for j, want := range r.next(tok) {
					d := float64(got[j]) - want
					diff, power = diff+d*d, power+want*want
				}
			}
			t.Logf("NMSE %.1e", diff/power)
			if !(diff/power < 1e-9) {
				t.Errorf("NMSE %.1e against the reference", diff/power)
			}
		})
	}
}
