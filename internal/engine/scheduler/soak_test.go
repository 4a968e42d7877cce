package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/luthier-dev/luthier/internal/engine/gguf"
	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// errSoak is the error with which passes and drafters of the soak test fail.
var errSoak = errors.New("soak")

// moody is a constraint or drafter that panics now and then.
type moody struct {
	maze
	rng *rand.Rand
	odd int
}

func (m *moody) mood() {
	if m.odd > 0 && m.rng.IntN(m.odd) == 0 {
		panic("moody")
	}
}

func (m *moody) Next(s, t int32) (int32, bool) { m.mood(); return m.maze.Next(s, t) }

func (m *moody) Draft(tokens []int32, max int, dst []int32) []int32 {
	m.mood()
	for range m.rng.IntN(max + 3) {
		dst = append(dst, int32(m.rng.IntN(m.words+4)-2))
	}
	return dst
}

// TestSoak sends thousands of requests of every kind through an engine with a small cache and a
// draft model with a smaller one, while passes fail, constraints and drafters panic, and readers
// leave. Afterwards every page of both caches must be free or in the prompt cache, and nothing may
// be running.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const words = 40
	total := 3000
	if testing.Short() {
		total = 500
	}
	y, small := newToy(t, words, 20, hashLM(0.4)), newToy(t, words, 8, hashLM(1))
	passes := 0
	y.before = func([]transformer.Slice) error { // on the scheduler's goroutine
		if passes++; passes%701 == 0 {
			panic(errSoak)
		} else if passes%503 == 0 {
			return errSoak
		}
		return nil
	}
	drafts := 0
	small.after = func([]transformer.Slice) error {
		if drafts++; drafts%97 == 0 {
			panic(errSoak)
		} else if drafts%61 == 0 {
			return errSoak
		}
		return nil
	}
	draft := newDraftModel(small, DraftConfig{Context: 5 * transformer.PageTokens, MinProb: 0.01})
	e := toyEngine(t, y, EngineConfig{Slots: 6, Queue: 30, Context: 10 * transformer.PageTokens, PassTokens: 70, MixedTokens: 40, Speculation: SpecConfig{Draft: draft, FixedDraft: 6}})
	work := make(chan int)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			for i := range work {
				soak(t, e, i, words)
				_ = e.Metrics()
			}
		})
	}
	for i := range total {
		work <- i
	}
	close(work)
	wg.Wait()
	settled(t, e, y)
	m := e.Metrics()
	if m.Finished == 0 || m.Failed == 0 || m.Cancelled == 0 || m.Preempted == 0 || m.DraftFailures == 0 || m.Drafters["model"].Accepted == 0 {
		t.Errorf("not all of it happened: %+v", m)
	}
	if n := m.Finished + m.Failed + m.Cancelled + m.Refused; n > uint64(total) || n < m.Requests {
		t.Errorf("%d requests ended %d times: %+v", total, n, m)
	}
	if small.free()+draft.tree.nodes != small.pages() {
		t.Errorf("draft model: %d pages free and %d remembered of %d", small.free(), draft.tree.nodes, small.pages())
	}
}

func soak(t *testing.T, e *Engine, i, words int) {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	p := append(prompt(transformer.PageTokens*rng.IntN(4), words, uint64(rng.IntN(4))), prompt(1+rng.IntN(60), words, uint64(i))...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rng.IntN(5) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
		defer cancel()
	}
	switch rng.IntN(8) {
	case 0:
		_, _ = e.Prefill(ctx, p)
		return
	case 1:
		if rows, err := e.Logits(ctx, p); err == nil && len(rows) != len(p) {
			t.Errorf("%d rows of %d tokens", len(rows), len(p))
		}
		return
	}
	r := Request{Prompt: p, MaxTokens: rng.IntN(80), Key: fmt.Sprint(rng.IntN(4)), References: [][]int32{p, prompt(50, words, uint64(i%3)), {-5, 1 << 30}}, LogProbs: rng.IntN(4) - 1}
	m := &moody{maze{words, 30}, rng, []int{0, 0, 3000}[rng.IntN(3)]}
	if rng.IntN(2) == 0 {
		r.Drafters = []Drafter{&moody{m.maze, rand.New(rand.NewPCG(uint64(i), 2)), 200}}
	}
	if rng.IntN(3) == 0 {
		r.Constraint, r.ForcedAsDrafts = m, rng.IntN(2) == 0
	}
	if rng.IntN(2) == 0 {
		r.Sample = SampleParams{Temperature: rng.Float32() * 2, TopK: rng.IntN(3), TopP: rng.Float32(), Seed: uint64(i), RepetitionPenalty: 1.2}
	}
	stop := -1
	if i%6 == 0 {
		stop = i % 30
	}
	r.StopTokens = []int32{int32(i % words)}
	n := 0
	for tok, err := range e.Generate(ctx, r) {
		if tok.Final != nil && tok.Final.Generated != n || err != nil && errors.Is(err, ErrClosed) {
			t.Errorf("%d tokens, %+v, %v", n, tok.Final, err)
		}
		if n == stop {
			return
		}
		n++
	}
}

// TestWarmIsCold checks, for each type of cache, that the output of an actual network does not
// depend on the cached part of the prompt, on the division of the prompt into passes, or on the
// number of workers.
func TestWarmIsCold(t *testing.T) {
	const words = 300
	text := prompt(3*transformer.PageTokens+9, words, 1)
	f := openSynth(t, small("qwen3moe", "q4_k_m", 3))
	for _, kv := range []gguf.Type{gguf.TypeF16, gguf.TypeQ8_0, gguf.TypeF32} {
		var want []Token
		for _, c := range []struct{ workers, chunk, cached int }{
			{1, 512, 0}, {2, 1, 0}, {1, 33, 1}, {2, 64, 31}, {1, 512, 32}, {2, 7, 33}, {2, 128, 70}, {1, 512, len(text)},
		} {
			e, err := NewEngine(loadFile(t, f, c.workers), EngineConfig{Cache: transformer.CacheConfig{Type: kv}, Context: 256, PassTokens: c.chunk})
			if err != nil {
				t.Fatal(err)
			}
			if c.cached > 0 {
				warm := append(text[:c.cached:c.cached], 5, 6, 7) // from there on a different text
				if _, err := e.Prefill(t.Context(), warm); err != nil {
					t.Fatal(err)
				}
			}
			var got []Token
			for tok, err := range e.Generate(t.Context(), Request{Prompt: text, MaxTokens: 30, LogProbs: 2}) {
				if err != nil {
					t.Fatal(err)
				}
				if tok.Final != nil {
					if tok.Final.Cached != min(c.cached, len(text)-1) {
						t.Errorf("%v %+v: %d tokens were cached", kv, c, tok.Final.Cached)
					}
					continue
				}
				tok.Cached = 0
				got = append(got, tok)
			}
			e.Close()
			if want == nil {
				want = got
			}
			for i := range want {
				if i >= len(got) || got[i].ID != want[i].ID || got[i].LogProb != want[i].LogProb {
					t.Errorf("%v %+v: token %d differs", kv, c, i)
					break
				}
			}
		}
	}
}
