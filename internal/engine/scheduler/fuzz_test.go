package scheduler

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// FuzzEngine runs the requests that the bytes describe, all at once, on a cache whose size the
// bytes also describe. A request that is not cancelled must get the text of plain decoding.
// Afterwards every page must be accounted for.
func FuzzEngine(f *testing.F) {
	f.Add([]byte{8, 3, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{4, 9, 70, 40, 1, 60, 30, 2, 70, 40, 1, 66, 90, 4, 3, 3, 3, 200, 200, 200})
	f.Add([]byte("many requests of all kinds, some of them cancelled, on a small cache"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 5 || len(data) > 100 {
			return
		}
		pages := 3 + int(data[0])%12
		y := newToy(t, 30, pages, hashLM(0.2))
		cfg := EngineConfig{Slots: 1 + int(data[1])%6, PassTokens: 20 + int(data[1]), MixedTokens: 10 + int(data[1])/2, Queue: 100}
		if data[1]%2 == 0 {
			cfg.Speculation.FixedDraft = 1 + int(data[1])%30
		}
		e := toyEngine(t, y, cfg)
		var wg sync.WaitGroup
		for i := 2; i+3 <= len(data); i += 3 {
			a, b, c := int(data[i]), int(data[i+1]), int(data[i+2])
			r := Request{Prompt: prompt(1+a, 30, uint64(c%3)), MaxTokens: 1 + b, Key: string(rune('a' + c%4))}
			r.Prompt = append(r.Prompt, int32(c%7))
			r.References = [][]int32{prompt(1+b, 30, uint64(c%5))}
			if c%2 == 0 {
				r.Sample = SampleParams{Temperature: 0.8, TopK: 1 + c%9, Seed: uint64(a), RepetitionPenalty: 1.1}
			}
			wg.Go(func() { fuzzRequest(t, e, r, c) })
		}
		wg.Wait()
		for deadline := time.Now().Add(10 * time.Second); e.Metrics().Running+e.Metrics().Waiting > 0; time.Sleep(100 * time.Microsecond) {
			if time.Now().After(deadline) {
				t.Fatalf("requests are left: %+v", e.Metrics())
			}
		}
		e.Close()
		if y.free()+e.tree.nodes != pages {
			t.Fatalf("%d pages free and %d remembered of %d", y.free(), e.tree.nodes, pages)
		}
	})
}

func fuzzRequest(t *testing.T, e *Engine, r Request, kind int) {
	if kind%11 == 0 {
		_, err := e.Prefill(t.Context(), r.Prompt)
		if err != nil && !errors.Is(err, ErrContextFull) {
			t.Error(err)
		}
		return
	}
	var got []int32
	for tok, err := range e.Generate(t.Context(), r) {
		if errors.Is(err, ErrContextFull) {
			break
		}
		if err != nil {
			t.Error(err)
			return
		}
		if tok.Final == nil {
			got = append(got, tok.ID)
		}
		if kind%7 == 0 && len(got) > kind%13 {
			break
		}
	}
	if want := plain(&toy{words: 30, logitsOf: hashLM(0.2)}, r, len(r.Prompt)+len(got)); !slices.Equal(got, want[:min(len(got), len(want))]) {
		t.Errorf("got %v, want %v", got, want)
	}
}
