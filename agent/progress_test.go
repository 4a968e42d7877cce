package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// hides is middleware as hosts write it to keep a secret out of results.
func hides(secret string) agent.Middleware {
	return func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			err := next(ctx, op)
			if op.Result != nil {
				res := *op.Result
				res.Parts = slices.Clone(res.Parts)
				for i, p := range res.Parts {
					if p, ok := p.(agent.Text); ok {
						res.Parts[i] = agent.Text{Text: strings.ReplaceAll(p.Text, secret, "***")}
					}
				}
				op.Result = &res
			}
			return err
		}
	}
}

// talker is a tool that sends progress and returns a result.
func talker(name string, pieces ...string) *fn {
	return newTool(name, agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		for _, p := range pieces {
			agent.Progress(ctx, p)
		}
		return agent.TextResult(strings.Join(pieces, "")), nil
	})
}

// shown returns what a person sees of calls: progress and results in order.
func shown(evs []agent.Event) (out []string) {
	for _, ev := range evs {
		if sub, ok := ev.(agent.SubEvent); ok {
			ev = sub.Event
		}
		switch ev := ev.(type) {
		case agent.CallProgress:
			out = append(out, ev.CallID+": "+ev.Text)
		case agent.CallDone:
			out = append(out, ev.Call.ID+" done: "+ev.Result.Text())
		}
	}
	return out
}

// The middleware that hides a secret in the result of a call hides it in what the call shows while
// it runs, also in a sub-agent, without knowing about progress.
//
// Evidence: loop · The middleware that redacts results redacts progress
func TestProgressIsRedacted(t *testing.T) {
	agenttest.CheckLeaks(t)
	tool := talker("talk", "the token ", "is hunter2", ", really")
	a := configured(t, agent.Config{Model: newScript(calls(tc{"1", "talk", `{}`}), say("ok")), Tools: []agent.Tool{tool}, Middleware: []agent.Middleware{hides("hunter2")}})
	_, evs := run(t, a, agent.NewSession(), "go")
	want := []string{"1: the token ", "1: is ***", "1: , really", "1 done: the token is ***, really"}
	if diff := cmp.Diff(want, shown(evs)); diff != "" {
		t.Error(diff)
	}
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: newScript(calls(tc{"2", "talk", `{}`}), say("done")), Tools: []agent.Tool{tool}}})
	if err != nil {
		t.Fatal(err)
	}
	a = configured(t, agent.Config{Model: newScript(calls(tc{"1", "agent", `{"task":"x"}`}), say("ok")), Tools: []agent.Tool{sub}, Middleware: []agent.Middleware{hides("hunter2")}})
	_, evs = run(t, a, agent.NewSession(), "go")
	if got := strings.Join(shown(evs), "\n"); strings.Contains(got, "hunter2") || !strings.Contains(got, "2: is ***") {
		t.Error(got)
	}
}

// Middleware that lets one call run at a time, that refuses, keeps answers, panics or looks only at
// whole calls does not stop a call that sends progress.
func TestProgressAndOtherMiddleware(t *testing.T) {
	agenttest.CheckLeaks(t)
	var one sync.Mutex
	whole := 0
	var kept agent.ToolResult
	for name, tt := range map[string]struct {
		m    func(next agent.Handler, ctx context.Context, op *agent.Op) error
		want []string
	}{
		"one at a time": {func(next agent.Handler, ctx context.Context, op *agent.Op) error {
			one.Lock()
			defer one.Unlock()
			return next(ctx, op)
		}, []string{"1: a", "1: b", "1 done: ab"}},
		"refuses": {func(next agent.Handler, ctx context.Context, op *agent.Op) error {
			if op.IsModel() {
				return next(ctx, op)
			}
			if !op.Partial {
				return next(ctx, op)
			}
			return errors.New("no progress here")
		}, []string{"1 done: ab"}},
		"answers itself": {func(next agent.Handler, ctx context.Context, op *agent.Op) error {
			if op.Partial {
				op.Result = &kept
				return nil
			}
			return next(ctx, op)
		}, []string{"1 done: ab"}},
		"panics": {func(next agent.Handler, ctx context.Context, op *agent.Op) error {
			if op.Partial {
				panic("a fault")
			}
			return next(ctx, op)
		}, []string{"1 done: ab"}},
		"whole calls": {func(next agent.Handler, ctx context.Context, op *agent.Op) error {
			if op.Partial {
				if op.Call.Name != "talk" || op.Attempt != 1 || op.Step != 1 {
					t.Errorf("%+v", op)
				}
				err := next(ctx, op)
				if !op.Effects.IsReadOnly() {
					t.Errorf("effects %v", op.Effects)
				}
				return err
			}
			if op.Call != nil {
				whole++
			}
			return next(ctx, op)
		}, []string{"1: a", "1: b", "1 done: ab"}},
	} {
		m := func(next agent.Handler) agent.Handler {
			return func(ctx context.Context, op *agent.Op) error { return tt.m(next, ctx, op) }
		}
		a := configured(t, agent.Config{Model: newScript(calls(tc{"1", "talk", `{}`}), say("ok")), Tools: []agent.Tool{talker("talk", "a", "b")}, Middleware: []agent.Middleware{m}})
		_, evs := run(t, a, agent.NewSession(), "go")
		got := shown(evs)
		if name == "one at a time" { // the lock is free again only when the call has returned
			slices.Sort(got)
			slices.Sort(tt.want)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if whole != 1 {
		t.Errorf("%d whole calls", whole)
	}
}

// Middleware learns which model answered, how often it was asked, and what that cost, whether it
// failed or not; of a tool call what it spent.
//
// Evidence: loop · Middleware sees the model, the attempt and the cost of every operation
func TestOpCost(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	watch := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			before := op.Attempt
			err := next(ctx, op)
			what := op.Model
			if op.Call != nil {
				what = op.Call.Name
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%d %s attempt %d (%d): %d+%d tokens, %d, %v, %v", op.Step, what, op.Attempt, before, op.Usage.Input, op.Usage.Output, op.MicroDollars, op.Estimated, err != nil))
			return err
		}
	}
	spend := newTool("spend", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		return agent.TextResult("ok"), errors.Join(agent.Spend(ctx, agent.Usage{Input: 7}, 70), agent.Spend(ctx, agent.Usage{Output: 1}, 3))
	})
	model := named{newScript(
		fails(agent.ErrServer, agent.TextDelta{Text: "x"}, agent.Usage{Input: 4, Output: 1}),
		calls(tc{"1", "spend", `{}`}), say("ok"))}
	prices := agent.Prices{"scripted-1": {Input: 1_000_000, Output: 2_000_000}}
	a := configured(t, agent.Config{Model: model, Prices: prices, Tools: []agent.Tool{spend}, Middleware: []agent.Middleware{watch}})
	res, _ := run(t, a, agent.NewSession(), "go")
	want := []string{
		"1 scripted-1 attempt 1 (1): 4+1 tokens, 6, false, true",
		"1 scripted-1 attempt 2 (2): 10+5 tokens, 20, false, false",
		"1 spend attempt 1 (1): 7+1 tokens, 73, false, false",
		"2 scripted-1 attempt 1 (1): 10+5 tokens, 20, false, false",
	}
	slices.Sort(seen) // a call runs while the response still streams
	slices.Sort(want)
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if res.MicroDollars != 6+20+73+20 {
		t.Errorf("the run cost %d", res.MicroDollars)
	}
}
