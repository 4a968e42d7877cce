package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// TestSessionReusesItsPrefix checks that in an agent's session of 20 turns, together with two other
// sessions, the context of earlier turns is hardly ever computed again.
//
// Evidence: engine · A session computes its prefix once
func TestSessionReusesItsPrefix(t *testing.T) {
	const words, sessions, turns = 200, 3, 20
	y := newToy(t, words, 600, hashLM(0.5))
	e := toyEngine(t, y, EngineConfig{})
	texts := make([][]int32, sessions)
	system := prompt(300, words, 99)
	total, fresh, prefilled := 0, 0, 0
	for turn := range turns {
		for k := range sessions {
			if turn == 0 {
				texts[k] = slices.Clone(system)
				if k == 0 {
					fresh += len(system)
				}
			}
			said := prompt(40+31*(turn%5), words, uint64(turn*sessions+k)) // from the user, or a tool
			texts[k] = append(texts[k], said...)
			fresh += len(said)
			total += len(texts[k])
			out, stats := run(t, e, Request{Prompt: texts[k], MaxTokens: 20 + turn, Key: fmt.Sprint(k)})
			prefilled += stats.Prefilled
			if stats.Cached+stats.Prefilled != stats.Prompt {
				t.Fatalf("%+v", stats)
			}
			texts[k] = append(texts[k], out...)
		}
	}
	again := float64(prefilled-fresh) / float64(total)
	t.Logf("%d tokens in prompts, %d of them new, %d computed: %.3f %% again", total, fresh, prefilled, 100*again)
	if again > 0.02 || prefilled < fresh {
		t.Errorf("%.2f %% of the tokens were computed again", 100*again)
	}
	settled(t, e, y)
}

func TestPrefillWhileToolRuns(t *testing.T) {
	y := newToy(t, 200, 200, hashLM(0.5))
	e := toyEngine(t, y, EngineConfig{})
	text := prompt(300, 200, 1)
	for range 5 { // output arrives in pieces
		text = append(text, prompt(101, 200, 2)...)
		stats, err := e.Prefill(t.Context(), text)
		if err != nil || stats.Finish != FinishCached {
			t.Fatalf("%+v, %v", stats, err)
		}
		if stats.Cached > 0 && stats.Prefilled > 102 {
			t.Errorf("%+v", stats)
		}
	}
	if _, stats := run(t, e, Request{Prompt: append(text, 5, 6, 7), MaxTokens: 1}); stats.Prefilled > 3 {
		t.Errorf("%+v", stats)
	}
	if _, err := e.Prefill(t.Context(), nil); err == nil {
		t.Error("an empty prefill is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Prefill(ctx, text); err == nil {
		t.Error("a cancelled prefill is no error")
	}
	settled(t, e, y)
}

// TestTwinsShareWork checks that requests that arrive together with the same prompt compute it only
// once.
func TestTwinsShareWork(t *testing.T) {
	gate := make(chan struct{})
	y := newToy(t, 50, 400, hashLM(0.5))
	var once sync.Once
	y.before = func([]transformer.Slice) error { once.Do(func() { <-gate }); return nil }
	e := toyEngine(t, y, EngineConfig{PassTokens: 100, Slots: 8, Speculation: SpecConfig{Off: true}})
	p := prompt(1000, 50, 1)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := Request{Prompt: append(p[:len(p):len(p)], int32(i)), MaxTokens: 5}
			got, _ := run(t, e, r)
			if diff := cmp.Diff(plain(&toy{words: 50, logitsOf: hashLM(0.5)}, r, 2000), got); diff != "" {
				t.Errorf("request %d: %s", i, diff)
			}
		})
	}
	arrived(t, e, 8)
	close(gate)
	wg.Wait()
	if y.tokens > 1000+8*(transformer.PageTokens+10)+200 {
		t.Errorf("%d tokens were computed for 8 prompts of 1000 equal tokens", y.tokens)
	}
	settled(t, e, y)
}

// TestFairness checks that long prompts do not stall requests that generate, and that a short
// prompt does not wait for a long one.
//
// Evidence: engine · Long prompts and short ones get fair turns
func TestFairness(t *testing.T) {
	y := newToy(t, 50, 400, hashLM(1))
	e := toyEngine(t, y, EngineConfig{PassTokens: 200, MixedTokens: 64, Slots: 4, Speculation: SpecConfig{Off: true}})
	type event struct{ who, pass int }
	var mu sync.Mutex
	var events []event
	start := make(chan struct{})
	var wg sync.WaitGroup
	var ready sync.Once
	generate := func(who, n, tokens int) {
		wg.Go(func() {
			for tok, err := range e.Generate(t.Context(), Request{Prompt: prompt(n, 50, uint64(who)), MaxTokens: tokens}) {
				if err != nil {
					t.Error(err)
				}
				if tok.Final == nil {
					y.mu.Lock()
					pass := y.passes
					y.mu.Unlock()
					mu.Lock()
					events = append(events, event{who, pass})
					mu.Unlock()
				}
				if who == 0 {
					ready.Do(func() { close(start) })
				}
			}
		})
	}
	y.before = func([]transformer.Slice) error { time.Sleep(200 * time.Microsecond); return nil }
	generate(0, 10, 300)
	<-start
	y.mu.Lock()
	y.sizes = nil
	y.mu.Unlock()
	generate(1, 3000, 1)
	time.Sleep(2 * time.Millisecond)
	generate(2, 40, 1)
	wg.Wait()
	for i, n := range y.sizes {
		if n > 64+3 {
			t.Errorf("pass %d has %d tokens while a request generates", i, n)
		}
	}
	short, long := -1, -1
	for i, ev := range events {
		if ev.who == 1 {
			long = i
		}
		if ev.who == 2 {
			short = i
		}
	}
	if short > long {
		t.Error("the short prompt waited for the long one")
	}
	if long < 40 {
		t.Errorf("only %d tokens were generated while the long prompt was computed in chunks", long)
	}
}

// TestPrefillGivesWay checks that a prefill uses only the part of passes that is left after the
// prompts that somebody waits for.
func TestPrefillGivesWay(t *testing.T) {
	gate := make(chan struct{})
	y := newToy(t, 50, 400, hashLM(1))
	var sizes [][]int
	y.before = func(slices []transformer.Slice) error {
		<-gate
		var n []int
		for _, s := range slices {
			n = append(n, len(s.Tokens))
		}
		sizes = append(sizes, n)
		return nil
	}
	e := toyEngine(t, y, EngineConfig{PassTokens: 100, Speculation: SpecConfig{Off: true}})
	var wg sync.WaitGroup
	wg.Go(func() { e.Prefill(t.Context(), prompt(400, 50, 1)) })
	wg.Go(func() { run(t, e, Request{Prompt: prompt(450, 50, 2), MaxTokens: 1}) })
	arrived(t, e, 2)
	close(gate)
	wg.Wait()
	// Whichever came first, the first pass that contains both and the passes after it belong to the
	// request.
	if len(sizes) > 10 {
		t.Errorf("%v", sizes)
	}
	both := 0
	for _, n := range sizes {
		if len(n) == 2 {
			both++
		}
	}
	if both > 1 {
		t.Errorf("the prefill took part in %d passes of the request: %v", both, sizes)
	}
}

func TestCacheTooSmall(t *testing.T) {
	y := newToy(t, 50, 4, hashLM(1))
	if _, err := newEngine(y, true, EngineConfig{Context: 5 * transformer.PageTokens}); err == nil {
		t.Error("a context larger than the cache is no error")
	}
}

// TestPreemption checks that requests whose texts together do not fit into the cache take turns:
// they are preempted, and their texts are the same as alone.
func TestPreemption(t *testing.T) {
	y := newToy(t, 50, 9, hashLM(0.3))
	gate := make(chan struct{})
	y.before = func([]transformer.Slice) error { <-gate; return nil }
	e := toyEngine(t, y, EngineConfig{Slots: 6, Context: 9 * transformer.PageTokens, Speculation: SpecConfig{FixedDraft: 20}})
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			r := Request{Prompt: prompt(transformer.PageTokens+i, 50, uint64(i)), MaxTokens: (1 + i%6) * transformer.PageTokens}
			if i%3 > 0 {
				r.Constraint = maze{50, 40}
			}
			if i%2 == 0 {
				r.Sample = SampleParams{Temperature: 1, Seed: 4, PresencePenalty: 0.3}
			}
			got, _ := run(t, e, r)
			alone := toyEngine(t, newToy(t, 50, 9, hashLM(0.3)), EngineConfig{})
			want, _ := run(t, alone, r)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("request %d (-alone +together):\n%s", i, diff)
			}
		})
	}
	arrived(t, e, 24)
	close(gate)
	wg.Wait()
	if m := e.Metrics(); m.Preempted == 0 {
		t.Errorf("%+v", m)
	}
	settled(t, e, y)
}

// TestPassAllocations checks that a pass in steady state allocates almost nothing.
func TestPassAllocations(t *testing.T) {
	y := newToy(t, 50, 2000, func(prefix []int32, l []float32) {
		clear(l)
		l[len(prefix)%50] = 1
	})
	e := toyEngine(t, y, EngineConfig{})
	steps := 0
	var before, after uint64
	for range e.Generate(t.Context(), Request{Prompt: []int32{1, 2}, MaxTokens: 3000}) {
		switch steps++; steps {
		case 1000:
			before = mallocs()
		case 3000:
			after = mallocs()
		}
	}
	if n := float64(after-before) / 2000; n > 0.5 {
		t.Errorf("%.2f allocations a token", n)
	}
}
