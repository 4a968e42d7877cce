package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
	"github.com/luthier-dev/luthier/internal/engine/transformer/reference"
	"github.com/luthier-dev/luthier/internal/tier"
)

// embedEngine starts an engine on one of the test models.
func embedEngine(t *testing.T, f *gguf.File, kv gguf.Type) *Engine {
	t.Helper()
	pool := tensor.NewPool(2)
	t.Cleanup(pool.Close)
	n, err := transformer.LoadNetwork(f, pool, transformer.NetworkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	e, err := NewEngine(n, EngineConfig{Cache: transformer.CacheConfig{Type: kv, Pages: 16}, Context: 200, Slots: 2, PassTokens: 32, Speculation: SpecConfig{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestEmbedReference compares the pooled vectors of every architecture with hidden states pooled in
// double precision.
func TestEmbedReference(t *testing.T) {
	tier.Normal(t)
	const count = 70 // three passes
	for i, v := range reference.Variants(transformer.Architectures()) {
		if testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			f := v.Open(t, "f32")
			e := embedEngine(t, f, gguf.TypeF16)
			tokens := reference.RandomTokens(rand.New(rand.NewPCG(7, 7)), count, 1000)
			r := reference.New(t, f)
			want := map[Pooling][]float64{}
			for i, tok := range tokens {
				h := r.Hidden(tok)
				if i == 0 {
					want[PoolFirst], want[PoolMean] = h, make([]float64, len(h))
				}
				want[PoolLast] = h
				for j, x := range h {
					want[PoolMean][j] += x / count
				}
			}
			for p, w := range want {
				got, err := e.Embed(t.Context(), tokens, p)
				if err != nil || len(got) != len(w) {
					t.Fatalf("pooling %d: %d numbers, want %d; %v", p, len(got), len(w), err)
				}
				var diff, power float64
				for i := range w {
					d := float64(got[i]) - w[i]
					diff, power = diff+d*d, power+w[i]*w[i]
				}
				if !(diff/power < 1e-9) {
					t.Errorf("pooling %d: NMSE %.1e against the reference", p, diff/power)
				}
			}
		})
	}
}

// TestEmbedBeside checks that texts that are embedded while the engine generates and computes
// logits have the same results as alone, and so do the other requests.
func TestEmbedBeside(t *testing.T) {
	e := embedEngine(t, reference.Variants(transformer.Architectures())[0].Open(t, "q8_0"), gguf.TypeF16)
	tokens := reference.RandomTokens(rand.New(rand.NewPCG(1, 2)), 90, 1000)
	alone, err := e.Embed(t.Context(), tokens, PoolMean)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := e.Logits(t.Context(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			got, err := e.Embed(t.Context(), tokens, PoolMean)
			if d := cmp.Diff(alone, got); d != "" || err != nil {
				t.Errorf("%v\n%s", err, d)
			}
		})
		wg.Go(func() {
			got, err := e.Logits(t.Context(), tokens)
			if !slices.EqualFunc(logits, got, slices.Equal) || err != nil { // there are too many numbers to list the differences
				t.Errorf("logits changed: %v", err)
			}
		})
		wg.Go(func() {
			for _, err := range e.Generate(t.Context(), Request{Prompt: tokens[:20], MaxTokens: 30}) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestEmbedRefuses covers texts that cannot be embedded, and a closed engine.
func TestEmbedRefuses(t *testing.T) {
	e := embedEngine(t, reference.Variants(transformer.Architectures())[0].Open(t, "f32"), gguf.TypeF16)
	for name, tokens := range map[string][]int32{"empty": nil, "unknown": {1, 1000}, "negative": {-1}, "long": make([]int32, 201)} {
		if v, err := e.Embed(t.Context(), tokens, PoolMean); err == nil {
			t.Errorf("%s: %d numbers", name, len(v))
		}
	}
	if _, err := e.Embed(t.Context(), make([]int32, 200), PoolLast); err != nil {
		t.Errorf("a text as long as the context: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := e.Embed(ctx, []int32{1}, PoolMean); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	e.Close()
	if _, err := e.Embed(t.Context(), []int32{1}, PoolMean); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
