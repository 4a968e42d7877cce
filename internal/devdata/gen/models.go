package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// models returns the model files: three small networks that run, and files with the tensors of one
// architecture in several types.
func models() map[string][]byte {
	const dir = "moe-dev/models/"
	always := func(t format) func(string) format { return func(string) format { return t } }
	out := map[string][]byte{
		dir + "micro-f32.gguf":     network{arch: "qwen3moe", layers: 2, embd: 32, heads: 2, kv: 1, dim: 16, experts: 4, hidden: 16, of: always(f32)}.file(),
		dir + "microd-q8_0.gguf":   network{arch: "qwen3", layers: 2, embd: 64, heads: 2, kv: 1, dim: 32, hidden: 96, of: always(q80)}.file(),
		dir + "micro-lq-Q4_K.gguf": network{arch: "qwen3moe", layers: 1, embd: 256, heads: 2, kv: 1, dim: 32, experts: 2, hidden: 32, of: always(q4k)}.file(),
		dir + "microk-f16.gguf":    rows(always(f16)),
	}
	for name, of := range map[string]func(string) format{
		"Q4_0": always(q40), "Q8_0": always(q80), "Q6_K": always(q6k), "Q4_K_M": mixed,
	} {
		out[dir+"microk-lq-"+name+".gguf"] = rows(of)
	}
	return out
}

// network is a model with random weights, whose output matrix is its embedding.
type network struct {
	arch            string
	layers, embd    int
	heads, kv, dim  int // number of heads, number of key-value heads, and the width of a head
	experts, hidden int // experts is 0 for a dense network; hidden is the width of a feed-forward layer or of an expert
	of              func(tensor string) format
	f               *file
	random          *rand.Rand
}

func (n network) file() []byte {
	n.f, n.random = &file{}, rand.New(rand.NewPCG(7, 7))
	vocab := learn("qwen2", 60)
	n.f.set("general.architecture", n.arch)
	n.f.set("general.name", "made-up-"+n.arch)
	for key, v := range ordered(
		"block_count", n.layers, "context_length", 512, "embedding_length", n.embd, "feed_forward_length", n.hidden,
		"attention.head_count", n.heads, "attention.head_count_kv", n.kv, "attention.key_length", n.dim, "attention.value_length", n.dim) {
		n.f.set(n.arch+"."+key, v)
	}
	n.f.set(n.arch+".attention.layer_norm_rms_epsilon", float32(1e-6))
	n.f.set(n.arch+".rope.freq_base", float32(10000))
	if n.experts > 0 {
		for key, v := range ordered("expert_count", n.experts, "expert_used_count", max(1, n.experts/2), "expert_feed_forward_length", n.hidden) {
			n.f.set(n.arch+"."+key, v)
		}
	}
	vocab.describe(n.f)
	n.matrix("token_embd", 2, n.embd, len(vocab.tokens)+3)
	for i := range n.layers {
		n.layer(fmt.Sprintf("blk.%d.", i))
	}
	n.norm("output_norm", n.embd)
	return n.f.bytes()
}

func (n network) layer(p string) {
	n.norm(p+"attn_norm", n.embd)
	n.matrix(p+"attn_q", 1, n.embd, n.heads*n.dim)
	n.matrix(p+"attn_k", 1, n.embd, n.kv*n.dim)
	n.matrix(p+"attn_v", 1, n.embd, n.kv*n.dim)
	n.matrix(p+"attn_output", 1, n.heads*n.dim, n.embd)
	n.norm(p+"attn_q_norm", n.dim)
	n.norm(p+"attn_k_norm", n.dim)
	n.norm(p+"ffn_norm", n.embd)
	if n.experts == 0 {
		n.matrix(p+"ffn_gate", 1, n.embd, n.hidden)
		n.matrix(p+"ffn_up", 1, n.embd, n.hidden)
		n.matrix(p+"ffn_down", 1, n.hidden, n.embd)
		return
	}
	n.tensor(p+"ffn_gate_inp", f32, 0, 2/math.Sqrt(float64(n.embd)), n.embd, n.experts)
	n.matrix(p+"ffn_gate_exps", 1, n.embd, n.hidden, n.experts)
	n.matrix(p+"ffn_up_exps", 1, n.embd, n.hidden, n.experts)
	n.matrix(p+"ffn_down_exps", 1, n.hidden, n.embd, n.experts)
}

func (n network) norm(name string, width int) { n.tensor(name, f32, 1, 0.1, width) }

// matrix adds a matrix. Matrices whose rows are not a multiple of the format's block size are
// stored in Q8_0.
func (n network) matrix(name string, gain float64, dims ...int) {
	t := n.of(name)
	if dims[0]%256 != 0 && t.number >= q4k.number {
		t = q80
	}
	n.tensor(name, t, 0, gain/math.Sqrt(float64(dims[0])), dims...)
}

func (n network) tensor(name string, t format, mean, deviation float64, dims ...int) {
	count := 1
	for _, d := range dims {
		count *= d
	}
	n.f.add(name+".weight", t, dims, normal(n.random, mean, deviation, count))
}

// normal returns normally distributed values that half precision represents exactly, so that a file
// in F16 holds them unchanged.
func normal(r *rand.Rand, mean, deviation float64, count int) []float32 {
	x := make([]float32, count)
	for i := range x {
		x[i] = float32(unhalf(half(mean + float64(deviation*r.NormFloat64()))))
	}
	return x
}

// ordered iterates over pairs of a key and a number.
func ordered(pairs ...any) func(yield func(string, uint32) bool) {
	return func(yield func(string, uint32) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(pairs[i].(string), uint32(pairs[i+1].(int))) {
				return
			}
		}
	}
}

// mixed returns the tensor types that llama.cpp's Q4_K_M uses for a model of two layers and eight
// experts: keys and values, which are small compared with the experts, in Q8_0, the attention
// output projection in Q5_K, and the down projections of the last layer in Q6_K.
func mixed(tensor string) format {
	switch tensor {
	case "output", "blk.1.ffn_down_exps":
		return q6k
	case "blk.0.attn_k", "blk.0.attn_v", "blk.1.attn_k", "blk.1.attn_v":
		return q80
	case "blk.0.attn_output", "blk.1.attn_output":
		return q5k
	}
	return q4k
}

// rows returns a file with the tensors of a model of two layers, each with one to four rows of 256
// values. The model cannot run; it is only for reading. All such files have the same values.
func rows(of func(tensor string) format) []byte {
	f, r := &file{}, rand.New(rand.NewPCG(5, 5))
	f.set("general.architecture", "qwen3moe")
	f.set("general.name", "made-up-rows")
	f.set("qwen3moe.block_count", uint32(2))
	learn("qwen2", 60).describe(f)
	add := func(name string, t format, dims ...int) {
		count := 1
		for _, d := range dims {
			count *= d
		}
		f.add(name+".weight", t, dims, normal(r, 0, 1.0/16, count))
	}
	add("token_embd", of("token_embd"), 256, 4)
	for i := range 2 {
		p := fmt.Sprintf("blk.%d.", i)
		for _, name := range []string{"attn_norm", "attn_q_norm", "attn_k_norm", "ffn_norm"} {
			add(p+name, f32, 256)
		}
		add(p+"ffn_gate_inp", f32, 256, 1)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			add(p+name, of(p+name), 256, 4)
		}
		for _, name := range []string{"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"} {
			add(p+name, of(p+name), 256, 2, 2)
		}
	}
	add("output_norm", f32, 256)
	add("output", of("output"), 256, 4)
	return f.bytes()
}
