package scheduler

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/gguf/synth"
	"github.com/luthier-dev/luthier/internal/engine/tensor"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// loadSynth makes and loads a network with random weights.
func loadSynth(t testing.TB, c synth.Config, workers int) *transformer.Network {
	t.Helper()
	return loadFile(t, openSynth(t, c), workers)
}

// openSynth makes the file of a model with random weights, which takes longer than loading it.
func openSynth(t testing.TB, c synth.Config) *gguf.File {
	t.Helper()
	f, err := synth.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// loadFile loads a network until t ends. The engine creates its cache.
func loadFile(t testing.TB, f *gguf.File, workers int) *transformer.Network {
	t.Helper()
	pool := tensor.NewPool(workers)
	t.Cleanup(pool.Close)
	n, err := transformer.LoadNetwork(f, pool, transformer.NetworkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// small returns a Tiny model with few tokens, so that tests are fast and texts repeat themselves.
func small(arch, quant string, seed uint64) synth.Config {
	c := synth.Tiny(arch)
	c.Quant, c.Seed = quant, seed
	return c
}

// TestNetworkDraftsChangeNothing checks on actual networks that the text of a request is the same
// alone and together with others, with every kind of draft and without, in one chunk or many, with
// one worker or two.
//
// Evidence: engine · Speculation does not change the answer
func TestNetworkDraftsChangeNothing(t *testing.T) {
	for _, c := range []struct {
		arch, quant string
		cache       gguf.Type
	}{
		{"qwen3moe", "f32", gguf.TypeF16},
		{"qwen3moe", "q4_k_m", gguf.TypeQ8_0},
		{"qwen3", "q8_0", gguf.TypeF16},
		{"gpt-oss", "mxfp4_moe", gguf.TypeF16},
		{"olmoe", "q4_0", gguf.TypeF16},
	} {
		t.Run(c.arch+" "+c.quant, func(t *testing.T) {
			if testing.Short() && c.quant != "q4_k_m" {
				t.Skip("long")
			}
			var want [][]int32
			target, draft := openSynth(t, small(c.arch, c.quant, 1)), openSynth(t, small("qwen3", "q8_0", 1))
			for i, v := range []struct {
				engine  EngineConfig
				workers int
				draft   bool
			}{
				{EngineConfig{Slots: 1, PassTokens: 512, Speculation: SpecConfig{Off: true}}, 1, false},
				{EngineConfig{Slots: 6, PassTokens: 64, MixedTokens: 40, Speculation: SpecConfig{Off: true}}, 2, false},
				{EngineConfig{Slots: 6, PassTokens: 100, Speculation: SpecConfig{FixedDraft: 7}}, 2, false},
				{EngineConfig{Slots: 3, PassTokens: 100, Speculation: SpecConfig{FixedDraft: 3, NoLookup: true, NoEdit: true, NoHistory: true}}, 1, true},
				{EngineConfig{Slots: 6}, 2, true},
			} {
				n := loadFile(t, target, v.workers)
				v.engine.Context = 600
				v.engine.Cache.Type = c.cache
				if v.draft {
					d, err := NewDraftModel(n.Hyper(), loadFile(t, draft, 1), DraftConfig{MinProb: 1e-6})
					if err != nil {
						t.Fatal(err)
					}
					v.engine.Speculation.Draft = d
				}
				e, err := NewEngine(n, v.engine)
				if err != nil {
					t.Fatal(err)
				}
				got := networkTexts(t, e, n.Hyper().Vocab, want)
				e.Close()
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("way %d (-first +this):\n%s", i, diff)
				}
				if m := e.Metrics(); i > 1 {
					t.Logf("way %d: %+v", i, m.Drafters)
					if v.engine.Speculation.FixedDraft > 0 && m.Drafters["custom"].Accepted == 0 {
						t.Errorf("way %d: nothing was accepted", i)
					}
				}
			}
		})
	}
}

// networkTexts runs six requests at once. If the parameter known is not nil, it has their texts,
// which a drafter then proposes with some errors.
func networkTexts(t *testing.T, e *Engine, words int, known [][]int32) [][]int32 {
	got := make([][]int32, 6)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			r := Request{Prompt: append(prompt(40, words, 7), prompt(5+13*i, words, uint64(i))...), MaxTokens: 60, Key: fmt.Sprint(i % 2)}
			r.References = [][]int32{r.Prompt}
			if known != nil {
				r.Drafters = []Drafter{&oracle{script: known[i], start: len(r.Prompt), right: 0.8}}
			}
			switch i % 3 {
			case 1:
				r.Sample = SampleParams{Temperature: 0.05, TopK: 40, TopP: 0.9, Seed: 3}
			case 2:
				r.Constraint = maze{words, 7}
				r.ForcedAsDrafts = i == 2
			}
			got[i], _ = run(t, e, r)
		})
	}
	wg.Wait()
	return got
}

func TestDraftModelOfAnotherVocabulary(t *testing.T) {
	c := small("qwen3", "q8_0", 1)
	n := loadSynth(t, c, 1)
	h := n.Hyper()
	h.Vocab++
	_, err := NewDraftModel(h, n, DraftConfig{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(h.Vocab)) || !strings.Contains(err.Error(), fmt.Sprint(h.Vocab-1)) {
		t.Errorf("got %v", err)
	}
}

// TestDraftModelIsItsTarget checks that at temperature 0, a draft model that is identical to the
// target is always right.
func TestDraftModelIsItsTarget(t *testing.T) {
	n, twin := loadSynth(t, small("qwen3", "f32", 1), 1), loadSynth(t, small("qwen3", "f32", 1), 1)
	d, err := NewDraftModel(n.Hyper(), twin, DraftConfig{MinProb: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(n, EngineConfig{Context: 1000, Speculation: SpecConfig{Draft: d, FixedDraft: 5, NoLookup: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i := range 3 { // first with a long prompt, which the draft model reads in pieces, then with a cached prefix
		_, stats := run(t, e, Request{Prompt: prompt(600+i, n.Hyper().Vocab, 1), MaxTokens: 60})
		if stats.Drafted == 0 || stats.Accepted != stats.Drafted {
			t.Errorf("%+v", stats)
		}
	}
}
