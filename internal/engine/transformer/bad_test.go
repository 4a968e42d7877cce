package transformer

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
	"github.com/luthier-dev/luthier/internal/tier"
)

// narrow creates a model with few weights, for tests that load many models. The function edit, if
// not nil, changes the contents of the file.
func narrow(t testing.TB, arch, quant string, edit func(*gguf.Writer)) *gguf.File {
	t.Helper()
	return reference.Variant{Arch: arch, Edit: func(c *synth.Config, w *gguf.Writer) {
		switch {
		case w == nil:
			c.Embd, c.HeadDim, c.FF = 64, 16, 96
			c.ExpertFF, c.SharedFF = min(c.ExpertFF, 32), min(c.SharedFF, 32)
		case edit != nil:
			edit(w)
		}
	}}.Open(t, quant)
}

// TestBadHeaders checks that absurd shapes cause errors with the name of the key.
func TestBadHeaders(t *testing.T) {
	pool := tensor.NewPool(1)
	defer pool.Close()
	type change = func(*gguf.Writer)
	set := func(key string, v any) change { return func(w *gguf.Writer) { w.Set(key, v) } }
	nan := float32(math.NaN())
	for _, c := range []struct {
		arch   string
		change change
		want   string
	}{
		{"qwen3", set("general.architecture", "mamba"), `"mamba" is not supported; supported are qwen3moe, qwen3, qwen2moe, qwen2, llama, olmoe, gpt-oss`},
		{"qwen3", set("qwen3.attention.head_count", uint32(0)), "attention.head_count: 0 is out of range"},
		{"qwen3", set("qwen3.attention.head_count", "many"), "attention.head_count: is not a count"},
		{"qwen3", set("qwen3.attention.head_count_kv", uint32(3)), "3 does not divide"},
		{"qwen3", set("qwen3.attention.head_count_kv", uint32(0)), "attention.head_count_kv"},
		{"qwen3", func(w *gguf.Writer) {
			w.SetUint32("qwen3.attention.key_length", 63)
			w.SetUint32("qwen3.attention.value_length", 63)
		}, "is odd"},
		{"qwen3", set("qwen3.attention.head_count", uint32(8)), "attn_q.weight has shape"},
		{"qwen3", set("qwen3.attention.value_length", uint32(32)), "differs from the key length"},
		{"qwen3", set("qwen3.context_length", uint32(0)), "context_length: 0"},
		{"qwen3", set("qwen3.block_count", uint32(0)), "block_count: 0"},
		{"qwen3", set("qwen3.block_count", uint32(3)), "blk.2.attn_norm.weight is missing"},
		{"qwen3", set("qwen3.block_count", uint32(1<<31)), "block_count"},
		{"qwen3", set("qwen3.embedding_length", uint32(128)), "token_embd.weight has shape"},
		{"qwen3", set("qwen3.feed_forward_length", uint32(100)), "ffn_gate.weight has shape"},
		{"qwen3", set("qwen3.attention.layer_norm_rms_epsilon", nan), "layer_norm_rms_epsilon: NaN"},
		{"qwen3", set("qwen3.attention.layer_norm_rms_epsilon", float32(-1)), "layer_norm_rms_epsilon"},
		{"qwen3", set("qwen3.rope.freq_base", float32(0)), "rope.freq_base"},
		{"qwen3", set("qwen3.rope.freq_base", nan), "rope.freq_base: NaN"},
		{"qwen3", set("qwen3.rope.dimension_count", uint32(200)), "rope.dimension_count"},
		{"qwen3", set("qwen3.rope.scaling.type", "longrope"), `"longrope" is not supported`},
		{"qwen3", set("qwen3.rope.scaling.factor", float32(-2)), "rope.scaling.factor"},
		{"qwen3moe", set("qwen3moe.expert_count", uint32(0)), "needs at least one expert"},
		{"qwen3moe", set("qwen3moe.expert_used_count", uint32(0)), "no expert is active"},
		{"qwen3moe", set("qwen3moe.expert_used_count", uint32(9)), "9 active experts of 8"},
		{"qwen3moe", set("qwen3moe.expert_count", uint32(1<<30)), "expert_count"},
		{"qwen3moe", set("qwen3moe.expert_count", uint32(16)), "shape"},
		{"gpt-oss", set("gpt-oss.rope.scaling.original_context_length", uint32(0)), "original_context_length"},
	} {
		f := narrow(t, c.arch, "f32", c.change)
		n, err := LoadNetwork(f, pool, NetworkConfig{})
		if err == nil {
			n.Close()
			t.Errorf("%s: loaded, want an error with %q", c.arch, c.want)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %q, want %q in it", c.arch, err, c.want)
		}
	}
}

// without copies a file, leaving out one tensor or key.
func without(t *testing.T, f *gguf.File, name string) *gguf.File {
	w := &gguf.Writer{}
	w.CopyMetadata(f, func(key string) bool { return key != name })
	for _, x := range f.Tensors() {
		if x.Name != name {
			w.AddTensor(x.Name, x.Type, x.Dims, x.Data)
		}
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	out, err := gguf.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMissing removes every tensor and key in turn: each must either be optional, or be named in an
// error.
func TestMissing(t *testing.T) {
	tier.Normal(t)
	pool := tensor.NewPool(1)
	defer pool.Close()
	optional := func(name string) bool {
		return strings.HasSuffix(name, ".bias") || strings.Contains(name, "rope") || strings.Contains(name, "general") ||
			strings.Contains(name, "tokenizer") || strings.HasSuffix(name, "_length") || strings.HasSuffix(name, "head_count_kv") ||
			name == "output.weight" || strings.Contains(name, "sliding_window") || strings.HasSuffix(name, "feed_forward_length")
	}
	for _, arch := range Architectures() {
		f := narrow(t, arch, "f32", nil)
		names := f.Keys()
		for _, x := range f.Tensors() {
			if !strings.HasPrefix(x.Name, "blk.1") {
				names = append(names, x.Name)
			}
		}
		for _, name := range names {
			if strings.HasPrefix(name, "tokenizer") {
				continue
			}
			n, err := LoadNetwork(without(t, f, name), pool, NetworkConfig{})
			switch {
			case err == nil:
				n.Close()
				if !optional(name) {
					t.Errorf("%s without %s was loaded", arch, name)
				}
			case strings.HasPrefix(name, arch) && strings.Contains(err.Error(), "has shape"): // the default differs from the value in the file
			case !strings.Contains(err.Error(), strings.TrimPrefix(name, arch+".")):
				t.Errorf("%s without %s: error %q does not name it", arch, name, err)
			}
		}
	}
}

// TestDamagedWeights fills all weights with NaN: routing must stay in range, and the pass must
// report the damage.
func TestDamagedWeights(t *testing.T) {
	for _, arch := range Architectures() {
		for _, quant := range []string{"f32", "q8_0"} {
			f := narrow(t, arch, quant, nil)
			for _, x := range f.Tensors() {
				for i := range x.Data {
					x.Data[i] = 0xff
				}
			}
			n, c := newNetwork(t, f, gguf.TypeF16, 64, 2)
			s := seqOf(t, c, 64)
			err := n.Forward(c, []Slice{{Seq: s, Tokens: reference.RandomTokens(rand.New(rand.NewPCG(1, 1)), 40, 700), Outputs: 2}})
			var bad *NumberError
			if !errors.As(err, &bad) || len(bad.Slices) != 1 || bad.Slices[0] != 0 {
				t.Errorf("%s %s: error %v, want one about slice 0", arch, quant, err)
			}
			if s.Len != 40 {
				t.Errorf("%s: length %d after the pass", arch, s.Len)
			}
		}
	}
}

// TestOneSequenceDamaged checks that a sequence with NaN does not affect the other sequences in its
// pass.
func TestOneSequenceDamaged(t *testing.T) {
	f := reference.Variant{Arch: "qwen3moe"}.Open(t, "f32")
	x, _ := f.Tensor("token_embd.weight")
	row := len(x.Data) / x.Dims[1]
	for i := range row {
		x.Data[5*row+i] = 0xff // only token 5
	}
	good := []int32{1, 2, 3, 4}
	want := alone(t, f, gguf.TypeF16, good)
	n, c := newNetwork(t, f, gguf.TypeF16, 96, 2)
	err := n.Forward(c, []Slice{
		{Seq: seqOf(t, c, 8), Tokens: []int32{9, 5, 9}, Outputs: 1},
		{Seq: seqOf(t, c, 8), Tokens: good, Outputs: 1},
	})
	var bad *NumberError
	if !errors.As(err, &bad) || len(bad.Slices) != 1 || bad.Slices[0] != 0 {
		t.Fatalf("error %v, want one about slice 0", err)
	}
	for i, v := range n.Logits(1) {
		if v != want[3][i] {
			t.Fatal("the sound sequence's logits differ")
		}
	}
}

// TestBadSlices checks that a slice that a pass cannot compute is refused before anything changes.
func TestBadSlices(t *testing.T) {
	f := reference.Variant{Arch: "qwen3"}.Open(t, "f32")
	n, c := newNetwork(t, f, gguf.TypeF16, 128, 1)
	s := seqOf(t, c, 40)
	vocab := int32(n.Hyper().Vocab)
	shared := seqOf(t, c, 10)
	c.Retain(shared.Pages[0])
	for _, tc := range []struct {
		slices []Slice
		want   string
	}{
		{[]Slice{{Seq: s, Tokens: nil}}, "no tokens"},
		{[]Slice{{Tokens: []int32{1}}}, "no sequence"},
		{[]Slice{{Seq: s, Tokens: []int32{vocab}}}, "outside the vocabulary"},
		{[]Slice{{Seq: s, Tokens: []int32{-1}}}, "outside the vocabulary"},
		{[]Slice{{Seq: s, Tokens: []int32{1}, Outputs: 2}}, "2 outputs of 1"},
		{[]Slice{{Seq: s, Tokens: make([]int32, 65)}}, "2 pages of 32"},
		{[]Slice{{Seq: s, Tokens: []int32{1}}, {Seq: s, Tokens: []int32{1}}}, "one sequence"},
		{[]Slice{{Seq: &Seq{Pages: []int32{99}}, Tokens: []int32{1}}}, "not allocated"},
		{[]Slice{{Seq: shared, Tokens: []int32{1}}}, "share"},
	} {
		if err := n.Forward(c, tc.slices); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want %q in it", err, tc.want)
		}
	}
	if s.Len != 0 {
		t.Errorf("length %d after refusals", s.Len)
	}
}

// TestMemory compares the estimate with the memory used, and checks that a network that needs too
// much memory is refused in advance, with the sizes in the error.
//
// Evidence: engine · Memory is estimated before it is allocated
func TestMemory(t *testing.T) {
	f := reference.Variant{Arch: "qwen3moe"}.Open(t, "q8_0")
	n, c := newNetwork(t, f, gguf.TypeQ8_0, 320, 1)
	m, err := EstimateMemory(f, MemoryConfig{Cache: CacheConfig{Type: gguf.TypeQ8_0, Pages: 10}, Batch: 64})
	if err != nil {
		t.Fatal(err)
	}
	if m.Cache != int64(c.Bytes()) {
		t.Errorf("cache estimated at %d bytes, takes %d", m.Cache, c.Bytes())
	}
	if math.Abs(float64(m.Weights)/float64(n.Bytes())-1) > 0.02 {
		t.Errorf("weights estimated at %d bytes, take %d", m.Weights, n.Bytes())
	}
	if m.Scratch <= 0 || m.Total() != m.Weights+m.Cache+m.Scratch {
		t.Errorf("estimate %+v does not add up", m)
	}
	if _, ok := AvailableMemory(); !ok {
		t.Skip("this system does not tell how much memory is left")
	}
	for _, pages := range []int{1 << 40, math.MaxInt} {
		if _, err := NewCache(n, CacheConfig{Pages: pages}); err == nil || !strings.Contains(err.Error(), "memory") && !strings.Contains(err.Error(), "address") {
			t.Errorf("cache of %d pages: error %v", pages, err)
		}
	}
	for _, cfg := range []CacheConfig{{Pages: 0}, {Pages: 1, Type: gguf.TypeQ4_0}} {
		if _, err := NewCache(n, cfg); err == nil {
			t.Errorf("cache %+v was made", cfg)
		}
	}
}

// TestCapacity checks that a limit spreads tokens over experts, and that the count of rerouted
// tokens is right.
//
// Evidence: engine · A capacity limit spreads tokens over experts
func TestCapacity(t *testing.T) {
	f := reference.Variant{Arch: "qwen3moe"}.Open(t, "q8_0")
	pool := tensor.NewPool(2)
	defer pool.Close()
	tokens := reference.RandomTokens(rand.New(rand.NewPCG(2, 2)), 64, 700)
	for _, capacity := range []float64{0, 1, 1.25} {
		n, err := LoadNetwork(f, pool, NetworkConfig{Capacity: capacity})
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCache(n, CacheConfig{Type: gguf.TypeF16, Pages: 4})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Forward(c, []Slice{{Seq: seqOf(t, c, 64), Tokens: tokens, Outputs: 64}}); err != nil {
			t.Fatal(err)
		}
		for i, l := range n.ExpertLoad() {
			sum := int64(0)
			for _, k := range l.Tokens {
				sum += k
			}
			if sum != 128 {
				t.Errorf("layer %d: %d tokens at experts, want 128", i, sum)
			}
			if capacity == 0 && l.Rerouted != 0 || capacity == 1 && (l.Rerouted == 0 || l.Peak > 1.25) {
				t.Errorf("capacity %v, layer %d: peak %.2f, %d rerouted", capacity, i, l.Peak, l.Rerouted)
			}
			if l.Entropy <= 2 || l.Entropy > 3 {
				t.Errorf("entropy %.2f of 8 experts", l.Entropy)
			}
		}
		c.Close()
		n.Close()
	}
	for _, capacity := range []float64{-1, 0.5, math.NaN()} {
		if _, err := LoadNetwork(f, pool, NetworkConfig{Capacity: capacity}); err == nil {
			t.Errorf("capacity %v was accepted", capacity)
		}
	}
}
