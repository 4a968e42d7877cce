package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// deny refuses the tools with these names and allows the others.
func deny(names ...string) agent.Policy {
	return agent.Rules{{Name: "no " + strings.Join(names, ","), Tools: names, Decision: agent.Deny}, {Name: "rest", Decision: agent.Allow}}
}

func askAbout(names ...string) agent.Policy {
	return agent.Rules{{Name: "ask", Tools: names, Decision: agent.Ask}, {Name: "rest", Decision: agent.Allow}}
}

// nested returns the tool "agent" of an agent that calls write, depth levels down, and counts the
// writes that happen.
func nested(t *testing.T, depth int, cfg agent.Config, wrote *atomic.Int32) agent.Tool {
	t.Helper()
	write := newTool("write", agent.Writing("a.txt"), func(context.Context, string) (*agent.ToolResult, error) {
		wrote.Add(1)
		return agent.TextResult("written"), nil
	})
	cfg.Model = newScript(calls(tc{"w", "write", `{}`}), say("sub done"))
	cfg.Tools = []agent.Tool{write}
	for i := 1; ; i++ {
		tool, err := agent.SubAgent(agent.SubAgentConfig{Agent: cfg, MaxDepth: 9})
		if err != nil {
			t.Fatal(err)
		}
		if i == depth {
			return tool
		}
		cfg = agent.Config{Model: newScript(calls(tc{"s", "agent", `{"task":"go on"}`}), say("sub done")), Tools: []agent.Tool{tool}}
	}
}

// TestWhatHoldsForAnAgentHoldsForItsSubAgents: a policy, a question and middleware of the host stop
// a call of a sub-agent as they stop the agent's own, however deep, and whatever the sub-agent's
// own configuration allows.
//
// Evidence: loop · The host's policy, questions and middleware hold for sub-agents too
func TestWhatHoldsForAnAgentHoldsForItsSubAgents(t *testing.T) {
	allow := agent.PolicyFunc(func(context.Context, *agent.PermissionRequest) agent.Verdict {
		return agent.Verdict{Decision: agent.Allow, Rule: "all"}
	})
	refuse := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if !op.IsModel() && op.Call.Name == "write" {
				return errors.New("middleware: no")
			}
			return next(ctx, op)
		}
	}
	pass := func(next agent.Handler) agent.Handler { return next }
	yes := func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
		return agent.Answer{Allow: true}
	}
	no := func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer { return agent.Answer{} }
	for name, tt := range map[string]struct {
		main, sub agent.Config
		writes    int32
	}{
		"no policy":                           {writes: 1},
		"policy":                              {main: agent.Config{Policy: deny("write")}},
		"policy, the sub-agent's allows":      {main: agent.Config{Policy: deny("write")}, sub: agent.Config{Policy: allow}},
		"the sub-agent's policy":              {main: agent.Config{Policy: allow}, sub: agent.Config{Policy: deny("write")}},
		"zero verdict":                        {main: agent.Config{Policy: agent.Rules{{Name: "agents", Tools: []string{"agent"}, Decision: agent.Allow}}}},
		"question, nobody there":              {main: agent.Config{Policy: askAbout("write")}},
		"question, nobody there, sub allows":  {main: agent.Config{Policy: askAbout("write")}, sub: agent.Config{Policy: allow}},
		"question, allowed":                   {main: agent.Config{Policy: askAbout("write"), Ask: yes}, writes: 1},
		"question, refused":                   {main: agent.Config{Policy: askAbout("write"), Ask: no}},
		"question of the sub-agent's, nobody": {main: agent.Config{Policy: allow}, sub: agent.Config{Policy: askAbout("write")}},
		"question of the sub-agent's, asked":  {main: agent.Config{Policy: allow, Ask: yes}, sub: agent.Config{Policy: askAbout("write")}, writes: 1},
		"question, then refused by the sub":   {main: agent.Config{Policy: askAbout("write"), Ask: yes}, sub: agent.Config{Policy: deny("write")}},
		"middleware":                          {main: agent.Config{Middleware: []agent.Middleware{refuse}}},
		"middleware of both":                  {main: agent.Config{Middleware: []agent.Middleware{refuse}}, sub: agent.Config{Middleware: []agent.Middleware{pass}}},
		"the sub-agent's middleware":          {main: agent.Config{Middleware: []agent.Middleware{pass}}, sub: agent.Config{Middleware: []agent.Middleware{refuse}}},
	} {
		for depth := 1; depth <= 3; depth++ {
			var wrote atomic.Int32
			cfg := tt.main
			cfg.Model = newScript(calls(tc{"1", "agent", `{"task":"write"}`}), say("done"))
			cfg.Tools = []agent.Tool{nested(t, depth, tt.sub, &wrote)}
			if res, _ := run(t, configured(t, cfg), agent.NewSession(), "go"); res.Text() != "done" {
				t.Errorf("%s, %d deep: %+v", name, depth, res)
			}
			if wrote.Load() != tt.writes {
				t.Errorf("%s, %d deep: %d writes, want %d", name, depth, wrote.Load(), tt.writes)
			}
		}
	}
}

// TestMiddlewareSurroundsSubAgents: the chain of the run above is built once and surrounds model
// and tool calls of the sub-agent, outside its own; it may make the call again.
func TestMiddlewareSurroundsSubAgents(t *testing.T) {
	var built, models, tools, inner atomic.Int32
	outer := func(next agent.Handler) agent.Handler {
		built.Add(1)
		return func(ctx context.Context, op *agent.Op) error {
			if op.IsModel() {
				models.Add(1)
				return next(ctx, op)
			}
			tools.Add(1)
			if op.Call.Name == "write" {
				if err := next(ctx, op); err != nil {
					return err
				}
			}
			return next(ctx, op)
		}
	}
	count := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if !op.IsModel() {
				inner.Add(1)
			}
			return next(ctx, op)
		}
	}
	var wrote atomic.Int32
	sub := nested(t, 1, agent.Config{Middleware: []agent.Middleware{count}}, &wrote)
	m := newScript(calls(tc{"1", "agent", `{"task":"write"}`}), say("done"))
	run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{sub}, Middleware: []agent.Middleware{outer}}), agent.NewSession(), "go")
	if built.Load() != 1 || models.Load() != 4 || tools.Load() != 2 || inner.Load() != 2 || wrote.Load() != 2 {
		t.Errorf("built %d times; %d model calls, %d tool calls, %d of them inside, %d writes", built.Load(), models.Load(), tools.Load(), inner.Load(), wrote.Load())
	}
}

// TestSubAgentsKeepTheHostsLimits: the number of steps, and a cost limit with the host's prices,
// end a sub-agent that has none of its own. A sub-agent whose model has no price does not run under
// a cost limit.
func TestSubAgentsKeepTheHostsLimits(t *testing.T) {
	limited := func(limits agent.Limits, prices agent.Prices, name string) (string, int32) {
		var looked atomic.Int32
		look := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
			looked.Add(1)
			return agent.TextResult("seen"), nil
		})
		endless := priced{name, agent.ModelFunc(func(_ context.Context, req *agent.Request) agentSeq {
			return seq(agent.ToolCallStart{ID: "x", Name: "look"}, agent.ToolCallDelta{Args: `{"n":` + string(rune('0'+len(req.Messages)%10)) + `}`},
				agent.Usage{Input: 1_000_000}, agent.Finish{Reason: agent.FinishTools})
		})}
		sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: endless, Tools: []agent.Tool{look}}})
		if err != nil {
			t.Fatal(err)
		}
		s := agent.NewSession()
		m := priced{"main-1", newScript(calls(tc{"1", "agent", `{"task":"spin"}`}), say("done"))}
		run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{sub}, Limits: limits, Prices: prices, Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}}), s, "go")
		return resultTexts(s, 0)[0], looked.Load()
	}
	prices := agent.Prices{"main-1": {}, "sub-1": {Input: 1_000_000}} // a dollar a step of the sub-agent
	for name, tt := range map[string]struct {
		limits agent.Limits
		model  string
		want   string
		looks  int32
	}{
		"steps":          {agent.Limits{Steps: 3}, "sub-1", "max_steps", 3},
		"money":          {agent.Limits{MicroDollars: 5_000_000}, "sub-1", "max_cost", 5},
		"money, unknown": {agent.Limits{MicroDollars: 5_000_000}, "sub-2", "no price", 0},
	} {
		text, looks := limited(tt.limits, prices, tt.model)
		if !strings.Contains(text, tt.want) || looks > tt.looks || tt.looks > 0 && looks < tt.looks-1 {
			t.Errorf("%s: %q after %d calls, want %q and at most %d", name, text, looks, tt.want, tt.looks)
		}
	}
}

// priced is a model with a name.
type priced struct {
	name string
	agent.Model
}

func (p priced) Name() string { return p.name }
