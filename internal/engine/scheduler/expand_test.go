package scheduler

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// expandPlain computes the expansion of a branch without an engine.
func expandPlain(y *toy, b Branch, top int) []TokenProb {
	logits := make([]float32, y.words)
	y.logitsOf(b.Tokens, logits)
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v))
	}
	var all []TokenProb
	for i, v := range logits {
		if b.Allowed == nil || b.Allowed[i/64]>>(i%64)&1 != 0 {
			all = append(all, TokenProb{int32(i), float32(float64(v) - math.Log(sum))})
		}
	}
	slices.SortStableFunc(all, func(x, y TokenProb) int {
		if x.LogProb > y.LogProb {
			return -1
		}
		if x.LogProb < y.LogProb {
			return 1
		}
		return 0
	})
	return all[:min(top, len(all))]
}

// fan returns n branches with a common beginning that diverge at different places. Some of them
// allow only a few tokens.
func fan(n, words int, seed uint64) []Branch {
	stem := prompt(3*transformer.PageTokens+5, words, seed)
	branches := make([]Branch, n)
	for i := range branches {
		cut := len(stem) - i%7
		branches[i].Tokens = append(slices.Clone(stem[:cut]), prompt(1+i%5, words, seed+uint64(i)+1)...)
		if i%3 == 1 {
			branches[i].Allowed = make([]uint64, (words+63)/64)
			for j := range 1 + i {
				at := (j*37 + i) % words
				branches[i].Allowed[at/64] |= 1 << (at % 64)
			}
		}
	}
	return branches
}

var closeEnough = cmpopts.EquateApprox(0, 1e-4)

// TestExpand expands many branches at once, in caches that hold all of them or hardly one, while
// other requests generate. The results must be the same as for each branch alone.
func TestExpand(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, c := range map[string]struct{ pages, slots, beside int }{
		"roomy": {200, 8, 0}, "one slot": {200, 1, 2}, "beside others": {120, 3, 4}, "hardly any room": {9, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			y := newToy(t, 200, c.pages, hashLM(3))
			e := toyEngine(t, y, EngineConfig{Slots: c.slots, Context: 8 * transformer.PageTokens, Speculation: SpecConfig{Off: true}})
			var wg sync.WaitGroup
			for i := range c.beside {
				wg.Go(func() { run(t, e, Request{Prompt: prompt(40, 200, uint64(90+i)), MaxTokens: 30}) })
			}
			for seed := range uint64(4) {
				branches := fan(12, 200, seed)
				got, err := e.Expand(t.Context(), branches, 5)
				if err != nil {
					t.Fatal(err)
				}
				for i, b := range branches {
					if d := cmp.Diff(expandPlain(y, b, 5), got[i].Next, closeEnough); d != "" {
						t.Errorf("seed %d, branch %d (-want +got):\n%s", seed, i, d)
					}
				}
			}
			wg.Wait()
			e.Close()
			if want := len(y.store) - e.tree.nodes; y.free() != want {
				t.Errorf("%d pages are free, but the tree holds %d of %d", y.free(), e.tree.nodes, len(y.store))
			}
		})
	}
}

// TestExpandIsOnePass checks that the branches of a search are computed in one pass, even if there
// are more branches than slots, and each shared token only once.
//
// Evidence: engine · A beam finds the likeliest answer
func TestExpandIsOnePass(t *testing.T) {
	y := newToy(t, 100, 200, hashLM(3))
	e := toyEngine(t, y, EngineConfig{Slots: 2, Speculation: SpecConfig{Off: true}})
	stem := prompt(100, 100, 1)
	if _, err := e.Expand(t.Context(), []Branch{{Tokens: stem}}, 1); err != nil {
		t.Fatal(err)
	}
	var branches []Branch
	for i := range int32(20) {
		branches = append(branches, Branch{Tokens: append(slices.Clone(stem), i)})
	}
	out, err := e.Expand(t.Context(), branches, 3)
	if err != nil {
		t.Fatal(err)
	}
	if out[7].Cached != len(stem) {
		t.Errorf("%d tokens were cached, want %d", out[7].Cached, len(stem))
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if d := cmp.Diff([]int{100, 20}, y.sizes); d != "" {
		t.Errorf("tokens of the passes (-want +got):\n%s", d)
	}
	if m := e.Metrics(); m.Expanded != 21 || m.Requests != 0 || m.Finished != 0 {
		t.Errorf("metrics %+v", m)
	}
}

// TestExpandRefuses covers impossible requests, failing passes, cancellation and closing.
func TestExpandRefuses(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	y := newToy(t, 50, 20, hashLM(1))
	var before atomic.Value
	before.Store(func() error { return nil })
	y.before = func([]transformer.Slice) error { return before.Load().(func() error)() }
	e := toyEngine(t, y, EngineConfig{Queue: 1, Slots: 1, Speculation: SpecConfig{Off: true}})
	ok := []Branch{{Tokens: []int32{1, 2}}}
	for name, c := range map[string]struct {
		branches []Branch
		top      int
		want     error
	}{
		"empty":      {[]Branch{{}}, 1, ErrInvalid},
		"outside":    {[]Branch{{Tokens: []int32{50}}}, 1, ErrInvalid},
		"no top":     {ok, 0, ErrInvalid},
		"large top":  {ok, 51, ErrInvalid},
		"short mask": {[]Branch{{Tokens: []int32{1}, Allowed: []uint64{}}}, 1, ErrInvalid},
		"too long":   {[]Branch{{Tokens: make([]int32, 20*transformer.PageTokens+1)}}, 1, ErrContextFull},
	} {
		if _, err := e.Expand(t.Context(), c.branches, c.top); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if out, err := e.Expand(t.Context(), nil, 1); out != nil || err != nil {
		t.Errorf("no branches: %v, %v", out, err)
	}
	out, err := e.Expand(t.Context(), []Branch{{Tokens: []int32{1}, Allowed: make([]uint64, 1)}}, 3)
	if err != nil || len(out[0].Next) != 0 {
		t.Errorf("nothing allowed: %v, %v", out, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	before.Store(func() error { cancel(why); return nil })
	if _, err := e.Expand(ctx, fan(8, 50, 1), 1); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	broken := errors.New("broken")
	before.Store(func() error { return broken })
	if _, err := e.Expand(t.Context(), fan(8, 50, 2), 1); !errors.Is(err, broken) {
		t.Errorf("a pass that fails: %v", err)
	}
	before.Store(func() error { return nil })
	if _, err := e.Expand(t.Context(), ok, 1); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	e.Close()
	if _, err := e.Expand(t.Context(), ok, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
