package scheduler

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// maze is a constraint: in state s, a hash determines which tokens are allowed; in every third
// state only one is.
type maze struct{ words, states int }

func (m maze) Start() int32 { return 1 }

func (m maze) only(s int32) (int32, bool) {
	return int32(mix64(uint64(s)) % uint64(m.words)), s%3 == 0
}

func (m maze) Next(s, t int32) (int32, bool) {
	next := int32(mix64(uint64(s)<<32|uint64(t)) % uint64(m.states))
	if one, ok := m.only(s); ok {
		return next, t == one
	}
	return next, mix64(uint64(s)*977+uint64(t))%3 == 0
}

func (m maze) Mask(s int32, allowed []uint64) {
	clear(allowed)
	for t := range int32(m.words) {
		if _, ok := m.Next(s, t); ok {
			allowed[t>>6] |= 1 << (t & 63)
		}
	}
}

func (m maze) Forced(s int32, dst []int32) []int32 {
	for range 20 {
		t, ok := m.only(s)
		if !ok {
			break
		}
		dst = append(dst, t)
		s, _ = m.Next(s, t)
	}
	return dst
}

// liar proposes wrong tokens, right tokens or nonsense.
type liar struct{ calls int }

func (l *liar) Draft(tokens []int32, max int, dst []int32) []int32 {
	l.calls++
	for i := range max {
		dst = append(dst, tokens[(l.calls*7+i)%len(tokens)])
		if l.calls%5 == 0 && i == 3 {
			dst[len(dst)-1] = -4
		}
	}
	return dst
}

// TestDraftsChangeNothing checks that the text is the same however tokens are drafted, alone or
// together with other requests, with or without a constraint.
//
// Evidence: engine · Speculation does not change the answer
func TestDraftsChangeNothing(t *testing.T) {
	const words, ctx = 60, 64 * transformer.PageTokens
	small := func() *DraftModel {
		return newDraftModel(newToy(t, words, 32, hashLM(2)), DraftConfig{Context: 20 * transformer.PageTokens, MinProb: 0.05})
	}
	configs := map[string]SpecConfig{
		"off":     {Off: true},
		"lookup":  {NoHistory: true, NoEdit: true, FixedDraft: 5},
		"history": {NoLookup: true, NoEdit: true, FixedDraft: 9},
		"edit":    {NoLookup: true, NoHistory: true, FixedDraft: 32},
		"model":   {NoLookup: true, NoHistory: true, NoEdit: true, FixedDraft: 4, Draft: small()},
		"all":     {Draft: small(), FixedDraft: 3},
		"adapt":   {Draft: small()},
		"adapt 2": {},
	}
	requests := func() []Request {
		var rs []Request
		for i := range 12 {
			r := Request{Prompt: prompt(20+9*i, words, uint64(i/2)), MaxTokens: 80 + i, Key: fmt.Sprint(i % 3)}
			r.References = [][]int32{prompt(200, words, uint64(i)), nil, r.Prompt}
			if i%2 == 1 {
				r.Sample = SampleParams{Temperature: 0.7, TopP: 0.95, Seed: uint64(i), FrequencyPenalty: float32(i%4) / 10}
			}
			if i%3 == 1 {
				r.Constraint = maze{words, 50}
				r.ForcedAsDrafts = i%2 == 0
			}
			r.Drafters = []Drafter{&liar{}}
			rs = append(rs, r)
		}
		return rs
	}
	var want [][]int32
	for _, name := range []string{"off", "lookup", "history", "edit", "model", "all", "adapt", "adapt 2"} {
		y := newToy(t, words, 64, hashLM(0.4))
		e := toyEngine(t, y, EngineConfig{Context: ctx, Slots: 5, PassTokens: 90, Speculation: configs[name]})
		got := make([][]int32, 12)
		var wg sync.WaitGroup
		for i, r := range requests() {
			wg.Go(func() { got[i], _ = run(t, e, r) })
		}
		wg.Wait()
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-off +%s):\n%s", name, name, diff)
		}
		if m := e.Metrics(); configs[name].FixedDraft > 0 {
			accepted := uint64(0)
			for _, d := range m.Drafters {
				accepted += d.Accepted
			}
			if accepted == 0 {
				t.Errorf("%s: nothing was accepted, so nothing was tested: %+v", name, m.Drafters)
			}
		}
		settled(t, e, y)
	}
}

// TestForcedTokens checks that forced tokens are generated whether or not the model would have
// chosen them, and that they cost no pass.
func TestForcedTokens(t *testing.T) {
	r := Request{Prompt: prompt(10, 60, 1), MaxTokens: 200, Constraint: maze{60, 50}}
	e := toyEngine(t, newToy(t, 60, 32, hashLM(1)), EngineConfig{Speculation: SpecConfig{Off: true}})
	text, stats := run(t, e, r)
	if stats.Forced < 30 || stats.Passes+stats.Forced != 200 {
		t.Errorf("%+v", stats)
	}
	state := r.Constraint.Start()
	for i, id := range text {
		var ok bool
		if state, ok = r.Constraint.Next(state, id); !ok {
			t.Fatalf("token %d is not allowed", i)
		}
	}
}

type brokenConstraint struct{ maze }

func (brokenConstraint) Next(s, t int32) (int32, bool) { panic("broken") }

type brokenDrafter struct{}

func (brokenDrafter) Draft([]int32, int, []int32) []int32 { panic("broken") }

func TestForeignPanics(t *testing.T) {
	y := newToy(t, 60, 32, hashLM(1))
	e := toyEngine(t, y, EngineConfig{})
	if _, _, err := collect(e, t.Context(), Request{Prompt: []int32{1}, MaxTokens: 9, Constraint: brokenConstraint{maze{60, 9}}}); err == nil {
		t.Error("a constraint that panics is no error")
	}
	if _, stats := run(t, e, Request{Prompt: []int32{1}, MaxTokens: 9, Drafters: []Drafter{brokenDrafter{}}}); stats.Generated != 9 {
		t.Errorf("%+v", stats)
	}
	if m := e.Metrics(); m.DraftFailures != 1 {
		t.Errorf("%d failures", m.DraftFailures)
	}
	settled(t, e, y)
}

// TestLogProbs checks that log-probabilities are those of the network, whatever was drafted.
func TestLogProbs(t *testing.T) {
	r := Request{Prompt: prompt(20, 50, 1), MaxTokens: 60, LogProbs: 3, Sample: SampleParams{Temperature: 0.9, Seed: 4, FrequencyPenalty: 0.2}, Drafters: []Drafter{&liar{}}}
	collect := func(off bool) (all []Token) {
		e := toyEngine(t, newToy(t, 50, 20, hashLM(0.3)), EngineConfig{Speculation: SpecConfig{Off: off, FixedDraft: 6}})
		for tok, err := range e.Generate(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if tok.Final == nil {
				all = append(all, tok)
			}
		}
		return all
	}
	want := collect(true)
	if diff := cmp.Diff(want, collect(false)); diff != "" {
		t.Error(diff)
	}
	logits := make([]float32, 50)
	tokens := r.Prompt
	for i, tok := range want {
		hashLM(0.3)(tokens, logits)
		p := exact(logits, SampleParams{Temperature: 1}, nil)
		if math.Abs(math.Log(p[tok.ID])-float64(tok.LogProb)) > 1e-5 || len(tok.Top) != 3 {
			t.Fatalf("token %d: %+v, want %v", i, tok, math.Log(p[tok.ID]))
		}
		for j, top := range tok.Top {
			if math.Abs(math.Log(p[top.ID])-float64(top.LogProb)) > 1e-5 || j > 0 && top.LogProb > tok.Top[j-1].LogProb {
				t.Fatalf("token %d: %+v", i, tok)
			}
		}
		tokens = append(tokens, tok.ID)
	}
}
