package router

import (
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// must returns the router, or fails the test if there is an error.
func must[M agent.Model](t testing.TB) func(m M, err error) agent.Model {
	return func(m M, err error) agent.Model {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// transports returns the routers of this package that only forward requests, each with members made
// by leaf.
func transports(t testing.TB, leaf func() agent.Model) map[string]func() agent.Model {
	two := func() []Member { return []Member{{Model: leaf(), Name: "one"}, {Model: leaf(), Name: "two"}} }
	all := map[string]func() agent.Model{
		"fallback":        func() agent.Model { return must[*Fallback](t)(NewFallback(FallbackConfig{Members: two()})) },
		"fallback of one": func() agent.Model { return must[*Fallback](t)(NewFallback(FallbackConfig{Members: two()[:1]})) },
		"fallback that holds": func() agent.Model {
			return must[*Fallback](t)(NewFallback(FallbackConfig{Members: two(), Hold: true}))
		},
		"round robin":  func() agent.Model { return must[*RoundRobin](t)(NewRoundRobin(BalanceConfig{Members: two()})) },
		"least loaded": func() agent.Model { return must[*LeastLoaded](t)(NewLeastLoaded(BalanceConfig{Members: two()})) },
		"hedge":        func() agent.Model { return must[*Hedge](t)(NewHedge(HedgeConfig{Members: two()})) },
		"hedge at once": func() agent.Model {
			return must[*Hedge](t)(NewHedge(HedgeConfig{Members: two(), Delay: 1, MaxExtra: 1}))
		},
		"hedge soon": func() agent.Model {
			return must[*Hedge](t)(NewHedge(HedgeConfig{Members: two()[:1], Delay: time.Millisecond, MaxExtra: 1}))
		},
		"breaker": func() agent.Model { return must[*Breaker](t)(NewBreaker(BreakerConfig{Model: leaf()})) },
		"rate limit": func() agent.Model {
			return must[*RateLimit](t)(NewRateLimit(RateLimitConfig{Model: leaf(), Requests: 6000, Tokens: 1e9}))
		},
	}
	all["nested"] = func() agent.Model {
		guard := must[*Breaker](t)(NewBreaker(BreakerConfig{Model: all["rate limit"]()}))
		return must[*Fallback](t)(NewFallback(FallbackConfig{Members: []Member{{Model: all["hedge at once"]()}, {Model: all["least loaded"]()}, {Model: guard, Name: "guarded"}}}))
	}
	return all
}

// TestConformance runs the conformance suite for models on every router: the model behind each, a
// real server on loopback, must behave as without the router.
//
// Evidence: routers · Every router passes the conformance suite
func TestConformance(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	leaf := agenttest.Reference(t)
	for name, newModel := range transports(t, func() agent.Model { return leaf }) {
		switch name {
		case "nested", "hedge soon":
		case "hedge", "round robin", "fallback that holds":
			if testing.Short() {
				continue
			}
		default:
			if !tier.Long() {
				continue // the nested router contains them all
			}
		}
		t.Run(name, func(t *testing.T) {
			var opts []agenttest.ConformanceOption
			if name == "fallback that holds" {
				for _, sc := range []string{"cancel", "break"} {
					opts = append(opts, agenttest.Skip(sc, "the answer never ends, and nothing of it is passed on before"))
				}
			}
			if name == "nested" {
				opts = append(opts, agenttest.Skip("http-huge", "it asks six members, and what the server of this process allocates for each is counted too"))
			}
			agenttest.Conformance(t, newModel, opts...)
		})
	}
}
