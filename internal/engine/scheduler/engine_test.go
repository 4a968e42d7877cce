package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

func collect(e *Engine, ctx context.Context, r Request) ([]int32, Stats, error) {
	var ids []int32
	var stats Stats
	for t, err := range e.Generate(ctx, r) {
		if err != nil {
			return ids, stats, err
		}
		if t.Final != nil {
			stats = *t.Final
			continue
		}
		ids = append(ids, t.ID)
	}
	return ids, stats, nil
}

// plain generates without an engine: token by token, without sharing and without drafts.
func plain(y *toy, r Request, context int) []int32 {
	tokens := append([]int32(nil), r.Prompt...)
	s := newSampler(r.Sample, r.Prompt, &scratch{})
	logits := make([]float32, y.words)
	for len(tokens)-len(r.Prompt) < r.MaxTokens && len(tokens) < context {
		y.logitsOf(tokens, logits)
		id, err := s.sample(logits, len(tokens))
		if err != nil {
			panic(err)
		}
		tokens = append(tokens, id)
		s.committed(id)
	}
	return tokens[len(r.Prompt):]
}

func TestGenerateIsPlainDecoding(t *testing.T) {
	samples := map[string]SampleParams{
		"greedy":    {},
		"sampled":   {Temperature: 0.8, TopK: 10, TopP: 0.9, Seed: 7},
		"penalties": {Temperature: 1, RepetitionPenalty: 1.3, FrequencyPenalty: 0.2, PresencePenalty: 0.1, Seed: 3},
	}
	for name, sample := range samples {
		for _, off := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " speculation off: ", off), func(t *testing.T) {
				y := newToy(t, 50, 40, hashLM(0.5))
				e := toyEngine(t, y, EngineConfig{PassTokens: 48, Speculation: SpecConfig{Off: off}})
				for i := range 4 {
					r := Request{Prompt: prompt(30+37*i, 50, uint64(i)), MaxTokens: 90, Sample: sample, Key: "k"}
					got, stats := run(t, e, r)
					if diff := cmp.Diff(plain(newToy(t, 50, 1, hashLM(0.5)), r, e.Context()), got); diff != "" {
						t.Fatalf("request %d (-plain +engine):\n%s", i, diff)
					}
					if stats.Generated != 90 || stats.Finish != FinishLength || off && stats.Drafted != 0 {
						t.Fatalf("%+v", stats)
					}
				}
			})
		}
	}
}

// TestManyRequests runs hundreds of requests at once, with shared prefixes and readers that leave,
// on a cache that is too small for them. Each text must be the same as alone, and in the end every
// page must be free or in the prompt cache.
//
// Evidence: engine · Requests are batched and share their prefixes
func TestManyRequests(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	y := newToy(t, 40, 24, hashLM(0.3))
	e := toyEngine(t, y, EngineConfig{Slots: 12, Queue: 1000, PassTokens: 100, MixedTokens: 40})
	var wg sync.WaitGroup
	for i := range 300 {
		wg.Go(func() {
			r := Request{Prompt: append(prompt(70*(i%3), 40, uint64(i%2)), prompt(1+i%40, 40, uint64(i))...), MaxTokens: 1 + i%60, Key: fmt.Sprint(i % 5)}
			if i%3 == 0 {
				r.Sample = SampleParams{Temperature: 1, Seed: uint64(i)}
			}
			want := plain(&toy{words: 40, logitsOf: hashLM(0.3)}, r, e.Context())
			ctx := t.Context()
			switch i % 7 {
			case 0: // the reader leaves the loop after some tokens
				n := 0
				for tok, err := range e.Generate(ctx, r) {
					if err != nil || tok.Final == nil && tok.ID != want[n] {
						t.Errorf("request %d: token %d: %v, %v", i, n, tok, err)
					}
					if n++; n > i%11 {
						break
					}
				}
				return
			case 1: // the request is cancelled
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*100*time.Microsecond)
				defer cancel()
			}
			got, _, err := collect(e, ctx, r)
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("request %d: %v", i, err)
				}
				want = want[:len(got)]
			}
			if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				t.Errorf("request %d (-alone +batched):\n%s", i, diff)
			}
		})
	}
	wg.Wait()
	settled(t, e, y)
	if m := e.Metrics(); m.Requests == 0 || m.Finished == 0 || m.Evictions == 0 {
		t.Errorf("%+v", m)
	}
	e.Close()
}

// settled waits until no request runs and checks that all pages are accounted for.
func settled(t *testing.T, e *Engine, y *toy) {
	t.Helper()
	for range 2000 {
		if m := e.Metrics(); m.Running == 0 && m.Waiting == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	e.Close()
	if y.free()+e.tree.nodes != y.pages() {
		t.Errorf("%d pages free and %d remembered of %d", y.free(), e.tree.nodes, y.pages())
	}
	for e.tree.evict() {
	}
	if y.free() != y.pages() || e.tree.nodes != 0 {
		t.Errorf("%d pages of %d free after all was forgotten", y.free(), y.pages())
	}
}

func TestBreakFreesAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	y := newToy(t, 40, 64, hashLM(1))
	e := toyEngine(t, y, EngineConfig{Slots: 1})
	defer e.Close()
	for range e.Generate(t.Context(), Request{Prompt: prompt(10, 40, 1)}) { // without leaving, it would continue to the end of the context
		break
	}
	if _, stats := run(t, e, Request{Prompt: prompt(10, 40, 2), MaxTokens: 3}); stats.Generated != 3 {
		t.Errorf("%+v", stats)
	}
}

// arrived waits until n requests are waiting or have a slot.
func arrived(t *testing.T, e *Engine, n int) {
	t.Helper()
	for range 5000 {
		if m := e.Metrics(); m.Waiting+int(m.Requests) >= n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d requests did not arrive", n)
}

func TestBusy(t *testing.T) {
	gate := make(chan struct{})
	y := newToy(t, 40, 64, hashLM(1))
	y.before = func([]transformer.Slice) error { <-gate; return nil }
	e := toyEngine(t, y, EngineConfig{Slots: 1, Queue: 2})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() { collect(e, ctx, Request{Prompt: prompt(10, 40, uint64(i))}) })
		arrived(t, e, i+1)
	}
	_, _, err := collect(e, t.Context(), Request{Prompt: prompt(10, 40, 9)})
	var busy *BusyError
	if !errors.Is(err, ErrBusy) || !errors.As(err, &busy) || busy.Queued != 2 {
		t.Errorf("got %v", err)
	}
	cancel()
	close(gate)
	wg.Wait()
	if m := e.Metrics(); m.Refused != 1 {
		t.Errorf("%d refused", m.Refused)
	}
}

func TestContextEnd(t *testing.T) {
	y := newToy(t, 40, 8, hashLM(1))
	e := toyEngine(t, y, EngineConfig{Context: 100})
	for _, c := range []struct{ prompt, generated int }{{100, 0}, {150, 0}, {99, 1}, {60, 40}} {
		got, _, err := collect(e, t.Context(), Request{Prompt: prompt(c.prompt, 40, 1)})
		var full *ContextError
		if !errors.Is(err, ErrContextFull) || !errors.As(err, &full) {
			t.Fatalf("prompt of %d: %v", c.prompt, err)
		}
		if diff := cmp.Diff(ContextError{Context: 100, Prompt: c.prompt, Generated: c.generated}, *full); diff != "" || len(got) != c.generated {
			t.Errorf("prompt of %d: %d tokens, %s", c.prompt, len(got), diff)
		}
	}
	if got, stats := run(t, e, Request{Prompt: prompt(60, 40, 1), MaxTokens: 40}); len(got) != 40 || stats.Finish != FinishLength {
		t.Errorf("%d tokens, %+v", len(got), stats)
	}
}

func TestBadRequests(t *testing.T) {
	e := toyEngine(t, newToy(t, 40, 8, hashLM(1)), EngineConfig{})
	nan := inf(1) - inf(1)
	for name, r := range map[string]Request{
		"no prompt":    {},
		"foreign":      {Prompt: []int32{1, 40}},
		"negative":     {Prompt: []int32{-1}},
		"max":          {Prompt: []int32{1}, MaxTokens: -1},
		"logprobs":     {Prompt: []int32{1}, LogProbs: 41},
		"temperature":  {Prompt: []int32{1}, Sample: SampleParams{Temperature: nan}},
		"top p":        {Prompt: []int32{1}, Sample: SampleParams{TopP: 1.1}},
		"bias":         {Prompt: []int32{1}, Sample: SampleParams{Bias: map[int32]float32{40: 1}}},
		"bias not one": {Prompt: []int32{1}, Sample: SampleParams{Bias: map[int32]float32{4: nan}}},
	} {
		if _, _, err := collect(e, t.Context(), r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestFailingPass checks that a pass that fails, panics or computes NaN ends the requests in it,
// and that other requests continue.
func TestFailingPass(t *testing.T) {
	nan := inf(1) - inf(1)
	for name, c := range map[string]struct {
		before func([]transformer.Slice) error
		logits func([]int32, []float32)
		want   error
	}{
		"error": {before: func([]transformer.Slice) error { return errToy }, want: errToy},
		"panic": {before: func([]transformer.Slice) error { panic("toy") }},
		"NaN": {logits: func(p []int32, l []float32) {
			hashLM(1)(p, l)
			l[7] = nan
		}, want: ErrNaN},
		"all forbidden": {logits: func(p []int32, l []float32) {
			for i := range l {
				l[i] = inf(-1)
			}
		}, want: errNothingAllowed},
		"infinite": {logits: func(p []int32, l []float32) { l[3] = inf(1) }, want: ErrNaN},
	} {
		t.Run(name, func(t *testing.T) {
			y := newToy(t, 40, 16, hashLM(1))
			e := toyEngine(t, y, EngineConfig{})
			good := y.logitsOf
			y.before = c.before
			if c.logits != nil {
				y.logitsOf = c.logits
			}
			r := Request{Prompt: prompt(40, 40, 1), MaxTokens: 5, Sample: SampleParams{Temperature: 1}}
			_, _, err := collect(e, t.Context(), r)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("got %v", err)
			}
			settledNow(t, e)
			y.before, y.logitsOf = nil, good
			run(t, e, r)
			settled(t, e, y)
		})
	}
}

// TestOneOfManyIsNaN checks that if the network reports which logits are NaN, only the request with
// these logits ends.
func TestOneOfManyIsNaN(t *testing.T) {
	y := newToy(t, 40, 64, hashLM(1))
	y.after = func(slices []transformer.Slice) error {
		var bad []int
		for i, s := range slices {
			if y.store[s.Seq.Pages[0]][0] == 7+1 && s.Seq.Len > 30 {
				bad = append(bad, i)
			}
		}
		if bad != nil {
			return &transformer.NumberError{Slices: bad}
		}
		return nil
	}
	e := toyEngine(t, y, EngineConfig{})
	var wg sync.WaitGroup
	for i := range int32(9) {
		wg.Go(func() {
			got, _, err := collect(e, t.Context(), Request{Prompt: []int32{i, 1, 2}, MaxTokens: 60})
			if i == 7 && !errors.Is(err, ErrNaN) || i != 7 && (err != nil || len(got) != 60) {
				t.Errorf("request %d: %d tokens, %v", i, len(got), err)
			}
		})
	}
	wg.Wait()
	settled(t, e, y)
}

var errToy = errors.New("toy failure")

func settledNow(t *testing.T, e *Engine) {
	t.Helper()
	for range 2000 {
		if m := e.Metrics(); m.Running == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("still running")
}

func TestShutdownFinishesWork(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	y := newToy(t, 40, 64, hashLM(1))
	y.before = func([]transformer.Slice) error { time.Sleep(100 * time.Microsecond); return nil }
	e := toyEngine(t, y, EngineConfig{Slots: 2})
	var wg sync.WaitGroup
	for i := range 6 {
		started := make(chan struct{})
		wg.Go(func() {
			n := 0
			for tok, err := range e.Generate(t.Context(), Request{Prompt: prompt(20, 40, uint64(i)), MaxTokens: 30}) {
				if n++; n == 1 && i < 2 {
					close(started)
				}
				if err != nil {
					t.Errorf("request %d: %v after %v", i, err, tok)
				}
			}
		})
		if i < 2 {
			<-started
		}
	}
	for e.Metrics().Waiting < 4 {
		time.Sleep(time.Millisecond)
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, _, err := collect(e, t.Context(), Request{Prompt: []int32{1}}); !errors.Is(err, ErrClosed) {
		t.Errorf("after shutdown: %v", err)
	}
	if m := e.Metrics(); m.Finished != 6 {
		t.Errorf("%d finished", m.Finished)
	}
}

func TestShutdownGivesUp(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	y := newToy(t, 40, 64, hashLM(1))
	y.before = func([]transformer.Slice) error { time.Sleep(time.Millisecond); return nil }
	e := toyEngine(t, y, EngineConfig{})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	n := 0
	for _, err := range e.Generate(t.Context(), Request{Prompt: prompt(20, 40, 1)}) {
		if n++; n == 2 {
			cancel(why)
			if got := e.Shutdown(ctx); got != why {
				t.Errorf("got %v", got)
			}
		}
		if err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := e.Prefill(ctx, []int32{1}); err != why {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsWork(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	y := newToy(t, 40, 64, hashLM(1))
	e := toyEngine(t, y, EngineConfig{Slots: 1})
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if _, _, err := collect(e, t.Context(), Request{Prompt: prompt(20, 40, uint64(i))}); !errors.Is(err, ErrClosed) && !errors.Is(err, ErrContextFull) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	time.Sleep(time.Millisecond)
	e.Close()
	e.Close()
	wg.Wait()
}

func TestLogits(t *testing.T) {
	y := newToy(t, 40, 16, hashLM(1))
	e := toyEngine(t, y, EngineConfig{PassTokens: 50})
	p := prompt(100, 40, 1)
	run(t, e, Request{Prompt: p, MaxTokens: 1})
	rows, err := e.Logits(t.Context(), p)
	if err != nil || len(rows) != len(p) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := make([]float32, 40)
	for i, row := range rows {
		y.logitsOf(p[:i+1], want)
		if diff := cmp.Diff(want, row); diff != "" {
			t.Fatalf("row %d: %s", i, diff)
		}
	}
	settled(t, e, y)
}

func TestStopTokens(t *testing.T) {
	y := newToy(t, 40, 16, scriptLM(5, []int32{1, 2, 3, 4, 5}))
	e := toyEngine(t, y, EngineConfig{})
	var last Token
	n := 0
	for tok, err := range e.Generate(t.Context(), Request{Prompt: prompt(5, 40, 1), StopTokens: []int32{9, 3}, LogProbs: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		if tok.Final != nil {
			if tok.Final.Finish != FinishStop || tok.Final.Generated != 3 {
				t.Errorf("%+v", *tok.Final)
			}
			continue
		}
		n++
		last = tok
		if len(tok.Top) != 2 || tok.Top[0].ID != tok.ID || tok.Top[0].LogProb != tok.LogProb || tok.LogProb > 0 || tok.LogProb < -0.001 {
			t.Errorf("%+v", tok)
		}
	}
	if n != 3 || last.ID != 3 || !last.Stop {
		t.Errorf("%d tokens, the last %+v", n, last)
	}
}
