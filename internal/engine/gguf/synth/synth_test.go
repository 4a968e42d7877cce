package synth

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/quant"
)

func open(t testing.TB, c Config) *gguf.File {
	t.Helper()
	f, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestArchs checks that a model of each architecture has the tensors that distinguish the
// architecture.
func TestArchs(t *testing.T) {
	for arch, want := range map[string][]string{
		"qwen3moe": {"blk.1.attn_q_norm.weight", "blk.1.ffn_gate_exps.weight", "blk.0.ffn_gate_inp.weight", "output.weight"},
		"qwen3":    {"blk.1.attn_k_norm.weight", "blk.1.ffn_gate.weight"},
		"qwen2":    {"blk.1.attn_q.bias", "blk.1.ffn_up.weight"},
		"qwen2moe": {"blk.1.attn_v.bias", "blk.1.ffn_gate_inp_shexp.weight", "blk.0.ffn_down_shexp.weight", "blk.0.ffn_up_exps.weight"},
		"llama":    {"blk.1.ffn_norm.weight", "blk.1.ffn_down.weight"},
		"olmoe":    {"blk.1.attn_k_norm.weight", "blk.1.ffn_down_exps.weight"},
		"gpt-oss":  {"blk.1.attn_sinks.weight", "blk.1.post_attention_norm.weight", "blk.0.ffn_down_exps.bias", "blk.0.attn_output.bias"},
	} {
		t.Run(arch, func(t *testing.T) {
			c := Tiny(arch)
			c.Experts = min(c.Experts, 2)
			f := open(t, c)
			for _, name := range want {
				if _, ok := f.Tensor(name); !ok {
					t.Errorf("no tensor %s", name)
				}
			}
			if a, _ := f.String("general.architecture"); a != arch {
				t.Errorf("the architecture is %q", a)
			}
			tokens, _ := f.Strings("tokenizer.ggml.tokens")
			if embd, _ := f.Tensor("token_embd.weight"); embd.Rows() != len(tokens) {
				t.Errorf("%d rows of embeddings for %d tokens", embd.Rows(), len(tokens))
			}
		})
	}
}

// TestDeterministic checks that the same configuration results in the same bytes, and another seed
// in different bytes.
func TestDeterministic(t *testing.T) {
	made := func(seed uint64) []byte {
		c := Tiny("qwen3moe")
		c.Quant, c.Seed, c.Experts = "q4_k_m", seed, 2
		w, err := NewWriter(c)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one := made(1)
	if !bytes.Equal(one, made(1)) || bytes.Equal(one, made(2)) {
		t.Error("the bytes do not follow from the seed")
	}
}

// TestDeviation checks that the values of every matrix, generated or from a pool, have the right
// standard deviation.
func TestDeviation(t *testing.T) {
	for _, arch := range []string{"qwen3moe", "gpt-oss"} {
		c := Tiny(arch)
		c.Vocab = 9000 // more values than a pool holds
		c.Quant, c.Layers, c.Experts = "q8_0", 1, 2
		f := open(t, c)
		for _, x := range f.Tensors() {
			v := make([]float32, x.Rows()*x.Dims[0])
			if err := quant.Dequantize(x.Type, v, x.Data); err != nil {
				t.Fatal(err)
			}
			var sum, squares float64
			for _, a := range v {
				sum += float64(a)
				squares += float64(a) * float64(a)
			}
			n := float64(len(v))
			mean := sum / n
			std := math.Sqrt(squares/n - mean*mean)
			if len(x.Dims) > 1 && strings.HasSuffix(x.Name, ".weight") {
				std *= math.Sqrt(float64(x.Dims[0])) // relative to the fan-in: 1, or 2 before a softmax
			}
			if math.Abs(mean) > 1.1 || std < 0.05 || std > 2.2 {
				t.Errorf("%s %s: mean %.3f, deviation %.3f", arch, x.Name, mean, std)
			}
		}
		if _, ok := f.Tensor("token_embd.weight"); !ok {
			t.Fatal("no embeddings")
		}
	}
}

// TestRowsDiffer checks that a matrix that is assembled from a pool has no two equal rows.
func TestRowsDiffer(t *testing.T) {
	c := Tiny("llama")
	c.Vocab, c.Quant, c.Layers, c.Embd, c.Heads = 20000, "q4_0", 1, 512, 8
	x, _ := open(t, c).Tensor("token_embd.weight")
	n, err := x.Type.RowBytes(x.Dims[0])
	if err != nil || x.Rows()*x.Dims[0] <= poolChunks*chunk {
		t.Fatal("this matrix needs no pool: ", err)
	}
	seen := map[string]bool{}
	for i := range x.Rows() {
		seen[string(x.Data[i*n:(i+1)*n])] = true
	}
	if len(seen) < x.Rows()-10 {
		t.Errorf("%d different rows of %d", len(seen), x.Rows())
	}
}

// TestTypesOfMix compares the tensor types with those that llama.cpp's quantiser chose for a model
// of the same shape.
func TestTypesOfMix(t *testing.T) {
	f, err := gguf.Open(devdata.Path(t, "moe-dev/models/microk-lq-Q4_K_M.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := Tiny("qwen3moe")
	c.Quant, c.VocabFrom = "q4_k_m", f
	g := open(t, c)
	for _, x := range f.Tensors() {
		y, ok := g.Tensor(x.Name)
		if !ok || y.Type != x.Type {
			t.Errorf("%s is %v, not %v", x.Name, y.Type, x.Type)
		}
	}
	if a, b := len(f.Tensors()), len(g.Tensors()); a != b {
		t.Errorf("%d tensors, not %d", b, a)
	}
}

func TestQuants(t *testing.T) {
	for _, q := range []string{"f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs", "mxfp4", "q4_k_m", "q5_k_m", "mxfp4_moe"} {
		c := Tiny("qwen3moe")
		c.Quant, c.Layers, c.Experts = q, 1, 2
		if f := open(t, c); f.Size() > 10<<20 {
			t.Errorf("%s: %d bytes", q, f.Size())
		}
	}
	c := Tiny("qwen3")
	c.Embd, c.FF, c.Quant = 96, 160, "q4_k" // rows that do not divide into blocks of 256
	x, _ := open(t, c).Tensor("blk.0.ffn_down.weight")
	if x.Type != gguf.TypeQ5_0 {
		t.Errorf("rows of 160 are %v", x.Type)
	}
}

func TestTypeOf(t *testing.T) {
	c := Tiny("qwen3")
	c.TypeOf = func(name string, usual gguf.Type) gguf.Type {
		if name == "blk.0.attn_q.weight" {
			return gguf.TypeMXFP4
		}
		return usual
	}
	f := open(t, c)
	a, _ := f.Tensor("blk.0.attn_q.weight")
	b, _ := f.Tensor("blk.1.attn_q.weight")
	if a.Type != gguf.TypeMXFP4 || b.Type != gguf.TypeF32 {
		t.Error(a.Type, b.Type)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		`architecture "bert"`:      func(c *Config) { c.Arch = "bert" },
		"must be positive":         func(c *Config) { c.Layers = 0 },
		"KV heads":                 func(c *Config) { c.KVHeads = 3 },
		"cannot be active":         func(c *Config) { c.Active = 9 },
		"do not go together":       func(c *Config) { c.Experts = 0 },
		`quantisation "q9"`:        func(c *Config) { c.Quant = "q9" },
		`quantisation "i32"`:       func(c *Config) { c.Quant = "i32" },
		"the small vocabulary":     func(c *Config) { c.Vocab = 100 },
		"as many KV heads":         func(c *Config) { c.Arch = "olmoe" },
		"its shared expert":        func(c *Config) { c.Arch = "qwen2moe" },
		"heads × head width":       func(c *Config) { c.Arch, c.SharedFF, c.HeadDim = "qwen2moe", 1, 32 },
		"take the vocabulary from": func(c *Config) { c.VocabFrom = &gguf.File{} },
	} {
		c := Tiny("qwen3moe")
		change(&c)
		if err := Create(filepath.Join(t.TempDir(), "m.gguf"), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not tell %q", err, want)
		}
	}
}

// TestVocabulary checks that BPE merges turn known words into single tokens, and all other words
// into their bytes.
func TestVocabulary(t *testing.T) {
	f := open(t, Tiny("qwen3"))
	tokens, _ := f.Strings("tokenizer.ggml.tokens")
	merges, _ := f.Strings("tokenizer.ggml.merges")
	ids := map[string]int{}
	for i, s := range tokens {
		if j, twice := ids[s]; twice {
			t.Errorf("%q is token %d and %d", s, j, i)
		}
		ids[s] = i
	}
	ranks := map[[2]string]int{}
	for i, m := range merges {
		l, r, ok := strings.Cut(m, " ")
		if _, there := ids[l+r]; !ok || !there {
			t.Fatalf("merge %q gives no token", m)
		}
		ranks[[2]string{l, r}] = i
	}
	whole := 0
	for _, w := range strings.Fields(words) {
		if len(applyMerges(strings.Split(w, ""), ranks)) == 1 {
			whole++
		}
	}
	if all := len(strings.Fields(words)); whole < all*9/10 {
		t.Errorf("%d of %d words are single tokens", whole, all)
	}
	for _, s := range specials {
		if _, ok := ids[s.text]; !ok {
			t.Errorf("no token %s", s.text)
		}
	}
	for b := range 256 {
		runes, _ := byteRunes()
		if _, ok := ids[string(runes[b])]; !ok {
			t.Errorf("no token for byte %d", b)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		c, _ := Preset(name)
		if err := c.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, ok := Preset("none"); ok {
		t.Error("there is a preset none")
	}
}
