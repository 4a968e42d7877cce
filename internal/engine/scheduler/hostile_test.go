package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// lead lets the model choose some tokens and forces all tokens after them.
type lead struct{ words, free int }

func (c lead) Start() int32         { return 0 }
func (c lead) at(s int32) int32     { return s * 7 % int32(c.words) }
func (c lead) open(s int32) bool    { return int(s) < c.free }
func (c lead) Mask(int32, []uint64) {}

func (c lead) Next(s, t int32) (int32, bool) { return s + 1, c.open(s) || t == c.at(s) }

func (c lead) Forced(s int32, dst []int32) []int32 {
	for i := s; !c.open(s) && i < s+500; i++ {
		dst = append(dst, c.at(i))
	}
	return dst
}

// missing proposes one token that is never right, followed by the tokens that a lead forces.
type missing struct {
	want   []int32 // the model's actual output
	prompt int
	lead   lead
}

func (d missing) Draft(tokens []int32, max int, dst []int32) []int32 {
	n := len(tokens) - d.prompt
	dst = append(dst, (d.want[n]+1)%int32(d.lead.words))
	for len(dst) < max {
		n++
		dst = append(dst, d.lead.at(int32(n)))
	}
	return dst
}

// TestFullContextIsRememberedRightly checks that if forced tokens fill the context while a draft is
// refused, the cache remembers the text as decided, not as drafted.
func TestFullContextIsRememberedRightly(t *testing.T) {
	const words = 50
	lm := hashLM(3)
	y := newToy(t, words, 8, lm)
	e := toyEngine(t, y, EngineConfig{Context: 3 * transformer.PageTokens, Speculation: SpecConfig{FixedDraft: 16, NoLookup: true, NoHistory: true}})
	p := prompt(2*transformer.PageTokens+10, words, 1)
	want := plain(&toy{words: words, logitsOf: lm}, Request{Prompt: p, MaxTokens: 2}, e.Context())
	c := lead{words, 2}
	got, _, err := collect(e, t.Context(), Request{Prompt: p, Constraint: c, Drafters: []Drafter{missing{append(want, 0, 0), len(p), c}}})
	if !errors.Is(err, ErrContextFull) || len(p)+len(got) != e.Context() {
		t.Fatalf("%d tokens, %v", len(got), err)
	}
	if e.Metrics().Drafters["custom"].Drafted == 0 {
		t.Error("nothing was drafted, so nothing was tested")
	}
	for _, n := range []int{3, 8, 15} {
		r := Request{Prompt: append(p[:len(p):len(p)], got[:n]...), MaxTokens: 4}
		again, _ := run(t, e, r)
		if diff := cmp.Diff(plain(&toy{words: words, logitsOf: lm}, r, e.Context()), again); diff != "" {
			t.Errorf("after %d tokens of it (-alone +after):\n%s", n, diff)
		}
	}
	settled(t, e, y)
}

// TestLogitsPreempted checks that a computation of logits that was preempted and started again
// returns each row once.
func TestLogitsPreempted(t *testing.T) {
	const words = 50
	y := newToy(t, words, 5, hashLM(1))
	gate := make(chan struct{})
	y.before = func([]transformer.Slice) error { <-gate; return nil }
	e := toyEngine(t, y, EngineConfig{MixedTokens: 4, Speculation: SpecConfig{Off: true}})
	var wg sync.WaitGroup
	wg.Go(func() {
		run(t, e, Request{Prompt: prompt(transformer.PageTokens-4, words, 1), MaxTokens: 2 * transformer.PageTokens})
	})
	arrived(t, e, 1)
	wg.Go(func() {
		text := prompt(4*transformer.PageTokens-2, words, 2)
		rows, err := e.Logits(t.Context(), text)
		if err != nil || len(rows) != len(text) {
			t.Errorf("%d rows for %d tokens, %v", len(rows), len(text), err)
			return
		}
		want := make([]float32, words)
		for i := range rows {
			hashLM(1)(text[:i+1], want)
			if diff := cmp.Diff(want, rows[i]); diff != "" {
				t.Fatalf("row %d: %s", i, diff)
			}
		}
	})
	arrived(t, e, 2)
	close(gate)
	wg.Wait()
	if e.Metrics().Preempted == 0 {
		t.Error("nothing was preempted, so nothing was tested")
	}
	settled(t, e, y)
}

// wild forces an id that is not that of a token.
type wild struct{ lead }

func (wild) Next(s, t int32) (int32, bool)       { return s + 1, true }
func (wild) Forced(s int32, dst []int32) []int32 { return append(dst, 1, 1<<20) }

// TestForcedTokenOutsideTheVocabulary checks that a constraint that forces an invalid token ends
// only its own request.
func TestForcedTokenOutsideTheVocabulary(t *testing.T) {
	y := newToy(t, 50, 16, hashLM(1))
	y.before = func(slices []transformer.Slice) error {
		for _, s := range slices {
			for _, id := range s.Tokens {
				if id < 0 || id >= 50 {
					return fmt.Errorf("token %d", id)
				}
			}
		}
		return nil
	}
	e := toyEngine(t, y, EngineConfig{})
	var wg sync.WaitGroup
	wg.Go(func() { run(t, e, Request{Prompt: []int32{1}, MaxTokens: 200}) })
	for range 5 {
		got, _, err := collect(e, t.Context(), Request{Prompt: []int32{2}, MaxTokens: 9, Constraint: wild{}})
		if err == nil || len(got) > 1 {
			t.Errorf("%v, %v", got, err)
		}
	}
	wg.Wait()
	settled(t, e, y)
}

// dead allows no token after the first few tokens.
type dead struct{ lead }

func (c dead) Next(s, t int32) (int32, bool)       { return s + 1, s < 3 }
func (c dead) Mask(_ int32, allowed []uint64)      { clear(allowed) }
func (c dead) Forced(_ int32, dst []int32) []int32 { return dst }

// tooMany is a dead constraint that knows the reason.
type tooMany struct{ dead }

var errTooMany = errors.New("too many states")

func (tooMany) Err() error { return errTooMany }

func TestNothingAllowed(t *testing.T) {
	y := newToy(t, 50, 16, hashLM(1))
	e := toyEngine(t, y, EngineConfig{})
	for _, temperature := range []float32{0, 1} {
		s := SampleParams{Temperature: temperature}
		got, _, err := collect(e, t.Context(), Request{Prompt: []int32{2}, MaxTokens: 9, Constraint: dead{}, Sample: s})
		if !errors.Is(err, errNothingAllowed) || len(got) != 3 {
			t.Errorf("%v, %v", got, err)
		}
		if _, _, err := collect(e, t.Context(), Request{Prompt: []int32{2}, MaxTokens: 9, Constraint: tooMany{}, Sample: s}); !errors.Is(err, errTooMany) {
			t.Errorf("the constraint's own error is lost: %v", err)
		}
	}
	settled(t, e, y)
}

type namelessDrafter struct{ brokenDrafter }

func (namelessDrafter) Name() string { panic("no name") }

// TestSessionOutlivesAPanic checks that if the Name method of a drafter panics, its request fails,
// but the session stays open to the next request.
func TestSessionOutlivesAPanic(t *testing.T) {
	y := newToy(t, 50, 16, hashLM(1))
	e := toyEngine(t, y, EngineConfig{})
	if _, _, err := collect(e, t.Context(), Request{Prompt: []int32{1}, MaxTokens: 2, Key: "k", Drafters: []Drafter{namelessDrafter{}}}); err == nil {
		t.Error("no error")
	}
	run(t, e, Request{Prompt: []int32{1}, MaxTokens: 9, Key: "k"})
	settled(t, e, y)
	if e.sessions.byKey["k"].busy || e.sessions.byKey["k"].history.sam == nil {
		t.Error("the session stays closed")
	}
}

// slowStart delays the start of its request until the request's reader has left.
type slowStart struct {
	lead
	started chan struct{}
	left    chan struct{}
}

func (c slowStart) Start() int32 {
	close(c.started)
	<-c.left
	return 0
}

func TestCancelledOnce(t *testing.T) {
	y := newToy(t, 50, 16, hashLM(1))
	e := toyEngine(t, y, EngineConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	c := slowStart{lead{50, 99}, make(chan struct{}), make(chan struct{})}
	go func() { <-c.started; cancel() }()
	if _, _, err := collect(e, ctx, Request{Prompt: []int32{1}, Constraint: c}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(c.left)
	settled(t, e, y)
	if m := e.Metrics(); m.Cancelled != 1 || m.Finished+m.Failed != 0 {
		t.Errorf("one request was cancelled: %+v", m)
	}
}

// TestInvalidRequests checks that an impossible request returns ErrInvalid, so that nobody retries
// it.
func TestInvalidRequests(t *testing.T) {
	e := toyEngine(t, newToy(t, 50, 16, hashLM(1)), EngineConfig{})
	nan := float32(math.NaN())
	for name, r := range map[string]Request{
		"empty":       {},
		"token":       {Prompt: []int32{50}},
		"max":         {Prompt: []int32{1}, MaxTokens: -1},
		"logprobs":    {Prompt: []int32{1}, LogProbs: -2},
		"temperature": {Prompt: []int32{1}, Sample: SampleParams{Temperature: nan}},
		"top-p":       {Prompt: []int32{1}, Sample: SampleParams{TopP: 2}},
		"bias":        {Prompt: []int32{1}, Sample: SampleParams{Bias: map[int32]float32{1: inf(1)}}},
		"bias token":  {Prompt: []int32{1}, Sample: SampleParams{Bias: map[int32]float32{99: 1}}},
	} {
		if _, _, err := collect(e, t.Context(), r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExtremeSampling checks that greedy text follows the network at any temperature and with any
// tokens banned.
func TestExtremeSampling(t *testing.T) {
	e := toyEngine(t, newToy(t, 50, 16, hashLM(1)), EngineConfig{})
	want, _ := run(t, e, Request{Prompt: []int32{1, 2}, MaxTokens: 20})
	for _, s := range []SampleParams{{Temperature: 1e-45}, {Temperature: 1e-30, TopP: 0.5}, {Temperature: 1e-7, TopP: 0.9, MinP: 1e-38}, {Temperature: 100, TopK: 1}, {Temperature: 2, TopP: 1e-30}, {Temperature: 5, MinP: 1}} {
		got, _ := run(t, e, Request{Prompt: []int32{1, 2}, MaxTokens: 20, Sample: s})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", s, diff)
		}
	}
}

// TestLogitsTooLarge checks that logits that do not fit into memory are refused in advance.
func TestLogitsTooLarge(t *testing.T) {
	if _, ok := transformer.AvailableMemory(); !ok {
		t.Skip("the system does not say how much memory it has")
	}
	e := toyEngine(t, newToy(t, 1<<30, 40, hashLM(1)), EngineConfig{})
	if _, err := e.Logits(t.Context(), prompt(1000, 50, 1)); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestSmallPassesStarveNobody checks that a prompt still gets its turn even if a pass only has room
// for the texts that are being generated.
func TestSmallPassesStarveNobody(t *testing.T) {
	y := newToy(t, 50, 80, hashLM(1))
	gate := make(chan struct{})
	y.before = func([]transformer.Slice) error { <-gate; return nil }
	passes, third := 0, 0
	y.after = func(slices []transformer.Slice) error {
		passes++
		for _, s := range slices {
			if s.Seq.Len == 40 && s.Outputs == 1 && len(s.Tokens) <= 2 && y.store[s.Seq.Pages[0]][0] == 49+1 {
				third = passes
			}
		}
		return nil
	}
	e := toyEngine(t, y, EngineConfig{PassTokens: 2, Slots: 4, Speculation: SpecConfig{Off: true}})
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { run(t, e, Request{Prompt: []int32{int32(i), 3}, MaxTokens: 500}) })
		arrived(t, e, i+1)
	}
	wg.Go(func() {
		p := prompt(40, 40, 9)
		p[0] = 49
		run(t, e, Request{Prompt: p, MaxTokens: 1})
	})
	arrived(t, e, 3)
	close(gate)
	wg.Wait()
	settled(t, e, y)
	if third == 0 || third > 200 {
		t.Errorf("the prompt was done in pass %d of %d", third, passes)
	}
}
