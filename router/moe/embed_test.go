package moe_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/scheduler"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/moe"
)

// embedder makes a small model whose file has the embedding settings that the function more writes.
// It returns the model and the bytes of the file.
func embedder(t *testing.T, arch string, more func(*gguf.Writer)) (*moe.Model, []byte) {
	t.Helper()
	w, err := synth.NewWriter(synth.Tiny(arch))
	if err != nil {
		t.Fatal(err)
	}
	if more != nil {
		more(w)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	m, err := moe.LoadBytes("made here", b.Bytes(), moe.Config{Context: 256})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, b.Bytes()
}

// hiddenStates computes the hidden states of tokens in one pass over the network of a file.
func hiddenStates(t *testing.T, data []byte, tokens []int32) [][]float32 {
	t.Helper()
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pool := tensor.NewPool(1)
	defer pool.Close()
	n, err := transformer.LoadNetwork(f, pool, transformer.NetworkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	c, err := transformer.NewCache(n, transformer.CacheConfig{Type: gguf.TypeF32, Pages: transformer.PagesFor(len(tokens))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	seq := &transformer.Seq{}
	for range c.Pages() {
		page, _ := c.Alloc()
		seq.Pages = append(seq.Pages, page)
	}
	if err := n.ForwardHidden(c, []transformer.Slice{{Seq: seq, Tokens: tokens, Outputs: len(tokens)}}); err != nil {
		t.Fatal(err)
	}
	var rows [][]float32
	for i := range tokens {
		rows = append(rows, append([]float32(nil), n.Hidden(i)...))
	}
	return rows
}

// TestEmbed compares vectors with hidden states that the test pools as each file asks.
//
// Evidence: retrieval · A local model gives embeddings
func TestEmbed(t *testing.T) {
	tier.Normal(t)
	texts := []string{"how are indexes locked?", strings.Repeat("func lock() error { return nil }\n", 5), "x"}
	for _, c := range []struct {
		name, arch string
		kind       int // pooling_type; -1 for none
		eos        bool
	}{
		{"nothing said", "qwen3moe", -1, false},
		{"none", "qwen3", 0, false},
		{"mean", "llama", 1, false},
		{"first", "qwen2", 2, false},
		{"last and end", "qwen3", 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, data := embedder(t, c.arch, func(w *gguf.Writer) {
				if c.kind >= 0 {
					w.SetUint32(c.arch+".pooling_type", uint32(c.kind))
				}
				w.SetBool("tokenizer.ggml.add_eos_token", c.eos)
				w.SetBool(c.arch+".attention.causal", true)
			})
			got, err := m.Embed(t.Context(), texts)
			if err != nil || len(got) != len(texts) {
				t.Fatalf("%d vectors, %v", len(got), err)
			}
			for i, text := range texts {
				tokens := moe.EmbedTokens(m, text)
				if n := len(m.Tokenize(text, false)); c.eos != (len(tokens) > n) {
					t.Errorf("%d tokens in the text, %d were embedded", n, len(tokens))
				}
				rows := hiddenStates(t, data, tokens)
				switch c.kind {
				case 2:
					rows = rows[:1]
				case 3:
					rows = rows[len(rows)-1:]
				}
				for j := range got[i] {
					sum := 0.0
					for _, r := range rows {
						sum += float64(r[j])
					}
					if want := sum / float64(len(rows)); math.Abs(float64(got[i][j])-want) > 1e-5 {
						t.Fatalf("text %d, component %d is %v, want %v", i, j, got[i][j], want)
					}
				}
			}
			again, err := m.Embed(t.Context(), texts[1:2])
			if d := cmp.Diff(got[1:2], again); d != "" || err != nil {
				t.Errorf("alone it is another vector: %v", err)
			}
		})
	}
}

// TestEmbedRefuses covers models and texts that cannot be embedded.
func TestEmbedRefuses(t *testing.T) {
	for name, more := range map[string]func(*gguf.Writer){
		"causal": func(w *gguf.Writer) { w.SetBool("qwen3.attention.causal", false) },
		"ranks":  func(w *gguf.Writer) { w.SetUint32("qwen3.pooling_type", 4) },
		"known":  func(w *gguf.Writer) { w.SetUint32("qwen3.pooling_type", 9) },
	} {
		m, _ := embedder(t, "qwen3", more)
		_, err := m.Embed(t.Context(), []string{"x"})
		refused(t, err, agent.ErrUnsupported, name)
	}
	m, _ := embedder(t, "qwen3", nil)
	_, err := m.Embed(t.Context(), []string{"x", ""})
	refused(t, err, agent.ErrInvalid, "text 1 of 2", "empty")
	_, err = m.Embed(t.Context(), []string{"x", strings.Repeat("word and ", 300)})
	refused(t, err, agent.ErrContextLength, "text 1 of 2")
	if r, ok := err.(interface{ Refused() bool }); !ok || !r.Refused() {
		t.Errorf("%T does not say that the text is the reason", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Embed(ctx, []string{"x"})
	refused(t, err, agent.ErrCanceled)
	if none, err := m.Embed(t.Context(), nil); len(none) != 0 || err != nil {
		t.Errorf("no texts gave %d vectors, %v", len(none), err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Embed(t.Context(), []string{"x"}); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestEncodersDoNotLoad checks that a file with an architecture that can only embed is refused, and
// that the error lists the supported architectures.
func TestEncodersDoNotLoad(t *testing.T) {
	w := &gguf.Writer{}
	w.SetString("general.architecture", "bert")
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	_, err := moe.LoadBytes("bert.gguf", b.Bytes(), moe.Config{})
	if err == nil || !strings.Contains(err.Error(), `"bert" is not supported`) || !strings.Contains(err.Error(), "qwen3") {
		t.Error(err)
	}
}

// The interface that package retrieval/embed requires of a model.
var _ interface {
	Name() string
	Embed(ctx context.Context, texts []string) ([][]float32, error)
} = (*moe.Model)(nil)
