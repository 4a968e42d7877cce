package router

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// An attempt of a router that breaks or is cancelled is estimated once, in the router's report; the
// run marks it and adds no estimate of its own. A request that a rate limit holds back costs
// nothing.
func TestRunOverRouterIsChargedOnce(t *testing.T) {
	price := &agent.Price{Input: 3_000_000, Output: 15_000_000}
	prompt := strings.Repeat("context ", 2000)
	words := agent.TextDelta{Text: strings.Repeat("one two three four ", 50)}
	thoughts := agent.ThinkingDelta{Text: strings.Repeat("one two three four ", 50)}
	model := func(err error, cs ...agent.Chunk) agent.Model {
		return agent.ModelFunc(func(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
			return func(yield func(agent.Chunk, error) bool) {
				for _, c := range cs {
					if !yield(c, nil) {
						return
					}
				}
				switch {
				case err != nil:
					yield(nil, err)
				default:
					<-ctx.Done()
					yield(nil, ctx.Err())
				}
			}
		})
	}
	answer := agent.ModelFunc(func(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			_ = yield(agent.TextDelta{Text: "ok"}, nil) && yield(agent.Usage{Input: 10, Output: 5}, nil) && yield(agent.Finish{Reason: agent.FinishStop}, nil)
		}
	})
	reset := &agent.ModelError{Kind: agent.ErrNetwork, Err: errors.New("reset")}
	fallback := func(first agent.Model) agent.Model {
		m, err := NewFallback(FallbackConfig{Members: []Member{{Name: "a", Model: first, Price: price}, {Name: "b", Model: answer, Price: price}}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	limited, err := NewRateLimit(RateLimitConfig{Model: answer, Requests: 1, MaxWait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Generate(t.Context(), limited, &agent.Request{}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		model     agent.Model
		cancel    bool
		low, high int64 // of the estimated input
		reasoning bool
	}{
		"breaks in the answer":    {fallback(model(reset, words)), false, 1800, 4500, false},
		"cancelled in the answer": {fallback(model(nil, words)), true, 1800, 4500, false},
		"cancelled in reasoning":  {fallback(model(nil, thoughts)), true, 1800, 4500, true},
		"refused":                 {fallback(model(reset)), false, 0, 0, false},
		"held back":               {limited, true, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := agent.New(agent.Config{Model: tc.model, Sleep: func(context.Context, time.Duration) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			s := agent.NewSession()
			var res *agent.Result
			cancelled := false
			for ev := range a.Run(t.Context(), s, agent.Text{Text: prompt}) {
				switch ev := ev.(type) {
				case agent.StepStart:
					if name == "held back" {
						time.AfterFunc(20*time.Millisecond, func() { s.Cancel(agent.CancelNow) })
					}
				case agent.TextDelta, agent.ThinkingDelta:
					if tc.cancel && !cancelled {
						cancelled = true
						s.Cancel(agent.CancelNow)
					}
				case agent.Done:
					res = ev.Result
				}
			}
			got := res.Estimated
			if got.Input < tc.low || got.Input > tc.high || (got.Output > 0) != (tc.high > 0) || (got.Reasoning > 0) != tc.reasoning {
				t.Errorf("stop %q, estimated %+v of %+v", res.Stop, got, res.Usage)
			}
			if tc.cancel && res.Usage != got || tc.high > 0 && res.MicroDollars < price.Cost(got) {
				t.Errorf("usage %+v, estimated %+v, cost %d", res.Usage, got, res.MicroDollars)
			}
		})
	}
}
