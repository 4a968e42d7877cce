package router

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// deciders returns the routers that choose by the content of a request, over members that leaf
// makes, and nested combinations of them.
func deciders(t testing.TB, leaf func() agent.Model) map[string]func() agent.Model {
	must := func(m agent.Model, err error) agent.Model {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	member := func(name string) Member { return Member{Model: leaf(), Name: name, Price: usd(0.001)} }
	auto := func(ms ...Member) agent.Model { return must(NewAuto(AutoConfig{Members: ms})) }
	cascade := func(ms ...Member) agent.Model { return must(NewCascade(CascadeConfig{Members: ms})) }
	plan := func(p, a Member) agent.Model { return must(NewPlanThenAct(PlanConfig{Planner: p, Actor: a})) }
	hedge := func(ms ...Member) agent.Model {
		return must(NewHedge(HedgeConfig{Members: ms, Delay: 1, MaxExtra: 1}))
	}
	fallback := func(ms ...Member) agent.Model { return must(NewFallback(FallbackConfig{Members: ms})) }
	state := filepath.Join(t.TempDir(), "state.json")
	return map[string]func() agent.Model{
		"auto":          func() agent.Model { return auto(member("one"), member("two")) },
		"auto of one":   func() agent.Model { return auto(member("one")) },
		"auto, saved":   func() agent.Model { return must(NewAuto(AutoConfig{Members: []Member{member("one")}, State: state})) },
		"cascade":       func() agent.Model { return cascade(member("one"), member("two")) },
		"plan-then-act": func() agent.Model { return plan(member("one"), member("two")) },
		"auto over fallback over hedge": func() agent.Model {
			return auto(Member{Model: fallback(Member{Model: hedge(member("one"), member("two")), Name: "hedge"}, member("three")), Name: "fallback"}, member("four"))
		},
		"plan of cascade and auto": func() agent.Model {
			return plan(Member{Model: cascade(member("one"), member("two")), Name: "cascade"}, Member{Model: auto(member("three")), Name: "auto"})
		},
		"cascade over plan": func() agent.Model {
			return cascade(Member{Model: plan(member("one"), member("two")), Name: "plan"}, member("three"))
		},
	}
}

// billing adds up the usage that a model reports for answers it finished, in micro-dollars at a
// dollar per million tokens.
func billing(sum *atomic.Int64, m agent.Model) agent.Model {
	return agent.ModelFunc(func(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			var u agent.Usage
			for c, err := range m.Stream(ctx, req) {
				switch c := c.(type) {
				case agent.Usage:
					u = c
				case agent.Finish:
					sum.Add(u.Total())
				}
				if !yield(c, err) {
					return
				}
			}
		}
	})
}

// TestConformanceOfDeciders runs the conformance suite for models on the routers that decide.
//
// Evidence: routers · Every router passes the conformance suite
func TestConformanceOfDeciders(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	leaf := agenttest.Reference(t)
	for name, newModel := range deciders(t, func() agent.Model { return leaf }) {
		switch name {
		case "auto of one", "auto, saved", "cascade over plan", "plan of cascade and auto":
			continue // TestDecidersChargeOnce covers them
		case "auto", "plan-then-act":
			if testing.Short() {
				continue
			}
		}
		t.Run(name, func(t *testing.T) {
			var opts []agenttest.ConformanceOption
			if strings.Contains(name, "cascade") {
				const held = "an answer is held back until it is checked, so its first chunk cannot be waited for"
				opts = append(opts, agenttest.Skip("cancel", held), agenttest.Skip("break", held))
			}
			if strings.Contains(name, "hedge") {
				opts = append(opts, agenttest.Skip("http-huge", "the request is sent twice, and both read the start of their error"))
			}
			agenttest.Conformance(t, newModel, opts...)
		})
	}
}

// TestDecidersChargeOnce runs tasks through every nesting with models that misbehave. No task is
// lost, the cost of a run equals the cost in its trace, and the cost of whole answers equals what
// the models billed.
//
// Evidence: routers · Every attempt is an event and is paid for once
func TestDecidersChargeOnce(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, seed := range []uint64{1, 2, 3} {
		n := 0
		var billed atomic.Int64 // thousandths of a dollar, by the models
		leaf := func() agent.Model {
			n++
			turns := 0
			script := agenttest.ScriptFunc(func(*agent.Request) agenttest.Turn {
				turns++
				if turns%4 == 0 {
					return speak("done")
				}
				return doWork(fmt.Sprint("c", turns), fmt.Sprintf(`{"n":%d}`, turns))
			})
			return billing(&billed, agenttest.Inject(script, agenttest.Faults{Seed: seed + uint64(n), Rates: map[agenttest.Fault]float64{
				agenttest.FaultServer: 0.1, agenttest.FaultRateLimit: 0.05, agenttest.FaultCut: 0.05, agenttest.FaultMidServer: 0.05}}))
		}
		for name, newModel := range deciders(t, leaf) {
			ag, err := agent.New(agent.Config{Model: newModel(), Tools: []agent.Tool{work{}}, Retry: agent.Retry{Base: 1, Cap: 1, Max: 50}, Limits: agent.Limits{MicroDollars: -1}})
			if err != nil {
				t.Fatal(err)
			}
			var l ledger
			for range 10 {
				res, err := ag.Run(l.trace(context.Background()), agent.NewSession(), agent.Text{Text: "do it"}).Collect()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var told, whole int64
				for _, r := range l.routed {
					told += r.MicroDollars
					if r.Err == nil && !r.Estimated {
						whole += r.MicroDollars
					}
				}
				if bill := billed.Swap(0); told != res.MicroDollars || whole != bill {
					t.Errorf("%s: the run cost %d, the attempts %d; %d of it for whole answers, and %d were billed", name, res.MicroDollars, told, whole, bill)
				}
				l.routed = nil
			}
		}
	}
}
