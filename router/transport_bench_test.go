package router

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// instant is the fastest possible model, so that a benchmark measures only the routers.
type instant struct{ chunks []agent.Chunk }

func (m *instant) Name() string { return "gpt-5" }

func (m *instant) Stream(context.Context, *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for _, c := range m.chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// BenchmarkTransport measures the overhead of each router for a call of a model that answers at
// once, within a run's trace. The limits are 20 µs and 10 allocations.
func BenchmarkTransport(b *testing.B) {
	m := &instant{chunks: []agent.Chunk{agent.TextDelta{Text: "ok"}, agent.Usage{Input: 100, Output: 1}, agent.Finish{Reason: agent.FinishStop}}}
	two := []Member{{Model: m}, {Model: m}}
	learnt, err := NewHedge(HedgeConfig{Members: two})
	if err != nil {
		b.Fatal(err)
	}
	for range 100 {
		learnt.latencies[0].add(time.Second)
	}
	sized := []Member{{Model: m, MaxContext: 200_000}, {Model: m, MaxContext: 1_000_000}}
	req := ask("go")
	long := ask("go")
	for range 1000 {
		long.Messages = append(long.Messages, agent.UserText("a message of a long conversation"))
	}
	for _, bb := range []struct {
		name  string
		model agent.Model
		req   *agent.Request
	}{
		{"model alone", m, req},
		{"fallback", must[*Fallback](b)(NewFallback(FallbackConfig{Members: two})), req},
		{"fallback, begin limited", must[*Fallback](b)(NewFallback(FallbackConfig{Members: two, Begin: time.Minute})), req},
		{"fallback, 1000 messages", must[*Fallback](b)(NewFallback(FallbackConfig{Members: sized})), long},
		{"round robin", must[*RoundRobin](b)(NewRoundRobin(BalanceConfig{Members: two})), req},
		{"least loaded", must[*LeastLoaded](b)(NewLeastLoaded(BalanceConfig{Members: two})), req},
		{"hedge", learnt, req},
		{"breaker", must[*Breaker](b)(NewBreaker(BreakerConfig{Model: m})), req},
		{"rate limit", must[*RateLimit](b)(NewRateLimit(RateLimitConfig{Model: m, Requests: 1e9, Tokens: 1e9})), req},
	} {
		b.Run(bb.name, func(b *testing.B) {
			ctx := agent.WithRouteTrace(context.Background(), &agent.RouteTrace{Routed: func(agent.Routed) {}})
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range bb.model.Stream(ctx, bb.req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// TestTransportAllocations checks that every transport router makes at most ten allocations per
// call in addition to those of its member.
func TestTransportAllocations(t *testing.T) {
	m := &instant{chunks: []agent.Chunk{agent.TextDelta{Text: "ok"}, agent.Usage{Input: 100, Output: 1}, agent.Finish{Reason: agent.FinishStop}}}
	ctx := agent.WithRouteTrace(t.Context(), &agent.RouteTrace{Routed: func(agent.Routed) {}})
	req := ask("go")
	count := func(m agent.Model) float64 {
		return testing.AllocsPerRun(200, func() {
			for range m.Stream(ctx, req) {
			}
		})
	}
	alone := count(m)
	for name, newModel := range transports(t, func() agent.Model { return m }) {
		if name == "hedge at once" || name == "hedge soon" || name == "nested" { // these send more than one request, or are several routers
			continue
		}
		if n := count(newModel()) - alone; n > 10 {
			t.Errorf("%s: %v allocations a call, want at most 10", name, n)
		}
	}
	h, err := NewHedge(HedgeConfig{Members: []Member{{Model: m}, {Model: m, Name: "b"}}, Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if n := count(h) - alone; n > 10 {
		t.Errorf("a hedge that waits: %v allocations a call, want at most 10", n)
	}
}
