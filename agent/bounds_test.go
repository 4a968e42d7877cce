package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// TestTokenLimitWithoutUsage: for a model that reports no usage, the token limit applies to an
// estimate.
func TestTokenLimitWithoutUsage(t *testing.T) {
	m := newScript()
	for i := range 50 {
		m.turns = append(m.turns, chunks(agent.ToolCallStart{ID: "1", Name: "look"}, agent.ToolCallDelta{Args: fmt.Sprint(`{"n":`, i, `}`)}, agent.Finish{Reason: agent.FinishTools}))
	}
	tool := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		return agent.TextResult(strings.Repeat("x", 4000)), nil
	})
	res, _ := run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{tool}, Limits: agent.Limits{Tokens: 20_000}}), agent.NewSession(), "go")
	if res.Stop != agent.StopTokens || res.Steps > 10 || res.Usage.Total() != 0 {
		t.Errorf("%+v", res)
	}
}

// TestParallelSubAgentsShareABudget: what one sub-agent spends is immediately unavailable to the
// others.
//
// Evidence: loop · Sub-agents run in parallel and share one budget
func TestParallelSubAgentsShareABudget(t *testing.T) {
	var n atomic.Int64
	endless := agent.ModelFunc(func(context.Context, *agent.Request) agentSeq {
		time.Sleep(time.Millisecond)
		return seq(agent.ToolCallStart{ID: "x", Name: "look"}, agent.ToolCallDelta{Args: fmt.Sprint(`{"n":`, n.Add(1), `}`)},
			agent.Usage{Input: 10}, agent.Finish{Reason: agent.FinishTools})
	})
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: endless, Tools: []agent.Tool{okTool("look")}}, Effects: agent.ReadOnly(".")})
	if err != nil {
		t.Fatal(err)
	}
	var cs []tc
	for i := range 6 {
		cs = append(cs, tc{fmt.Sprint(i), "agent", `{"task":"spin"}`})
	}
	s := agent.NewSession()
	res, _ := run(t, configured(t, agent.Config{Model: newScript(calls(cs...), say("x")), Tools: []agent.Tool{sub}, Limits: agent.Limits{Tokens: 500}}), s, "go")
	if got := res.Usage.Total(); res.Stop != agent.StopTokens || got < 500 || got > 500+6*10 {
		t.Errorf("%s after %d tokens; six sub-agents had 500 together", res.Stop, got)
	}
	if u, _ := s.Usage(); u != res.Usage {
		t.Errorf("session %+v, run %+v", u, res.Usage)
	}
}

// TestReadOnlySubAgentIsHeldToIt: a sub-agent that is offered in plan mode as read-only cannot
// write.
func TestReadOnlySubAgentIsHeldToIt(t *testing.T) {
	w := newTool("write", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) {
		t.Error("a sub-agent that only reads wrote")
		return nil, nil
	})
	inner := newScript(calls(tc{"1", "write", `{}`}), say("sorry"))
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: inner, Tools: []agent.Tool{w}}, Effects: agent.ReadOnly(".")})
	if err != nil {
		t.Fatal(err)
	}
	a := newAgent(t, newScript(calls(tc{"1", "agent", `{"task":"x"}`}), say("plan")), sub)
	if _, err := a.Plan(context.Background(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); err != nil {
		t.Fatal(err)
	}
}

// valueTool cannot be compared with ==.
type valueTool struct {
	spec agent.ToolSpec
	list []string
}

func (v valueTool) Spec() agent.ToolSpec { return v.spec }
func (v valueTool) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return agent.TextResult("ok"), nil
}

type freshSource struct{}

func (freshSource) Tools() []agent.Tool {
	return []agent.Tool{nil, valueTool{spec: agent.ToolSpec{Name: "look", Effects: agent.ReadOnly(".")}}}
}

func TestToolSourceOfValues(t *testing.T) {
	m := newScript(calls(tc{"1", "look", `{}`}), say("ok"))
	a := configured(t, agent.Config{Model: m, ToolSource: freshSource{}, Policy: agent.StandardRules(agent.AutonomyReadOnly)})
	s := agent.NewSession()
	run(t, a, s, "go")
	if s.Epoch() != 0 || fmt.Sprint(resultTexts(s, 0)) != "[ok]" {
		t.Errorf("epoch %d, %q", s.Epoch(), resultTexts(s, 0))
	}
	if ex := a.Explain(context.Background(), s, agent.ToolCall{Name: "look"}); ex.Verdict.Decision != agent.Allow {
		t.Errorf("%+v", ex)
	}
}

// TestGrantTricks lists calls that a grant must not cover.
func TestGrantTricks(t *testing.T) {
	call := agent.ToolCall{Name: "edit", Args: json.RawMessage(`{}`)}
	for _, tt := range []struct {
		prefix, path string
		want         bool
	}{
		{"src", "src/a", true}, {"src/", "src/a", true}, {"./src", "src/a", true}, {".", "a", true}, {"src", "src/..data/x", true},
		{"src", "src/../a", false}, {"src", "src2", false}, {"src", "Src/a", false}, {"src", `src\a`, false}, {"src", `src/..\..\a`, false},
		{"src", "/src/a", false}, {".", "../a", false}, {".", "/etc/passwd", false}, {"", "a", false}, {"..", "../a", false}, {".", "proc:3", false},
		{"src", "", false}, {"src", ".", false},
	} {
		g := agent.Grant{Scope: agent.GrantPath, Tool: "edit", Prefix: tt.prefix}
		if got := g.Covers(&agent.PermissionRequest{Call: call, Effects: agent.Writing(tt.path)}); got != tt.want {
			t.Errorf("a grant for %q covers %q: %v", tt.prefix, tt.path, got)
		}
	}
	lie := agent.Effects{Known: true, Reads: []string{"../secret"}}
	if v := agent.StandardRules(agent.AutonomyReadOnly).Decide(context.Background(), &agent.PermissionRequest{Effects: lie}); v.Decision == agent.Allow {
		t.Error("a read outside the workspace is allowed because its flag is missing")
	}
}

// placed is a tool that describes where it runs.
type placed struct {
	*fn
	where *string
}

func (p placed) DescribeCall(agent.ToolCall) agent.CallDescription {
	return agent.CallDescription{Where: *p.where, Sandboxed: *p.where != "host"}
}

func TestExactGrantBindsToThePlace(t *testing.T) {
	where := "sandbox"
	tool := placed{newTool("sh", agent.Effects{}, func(context.Context, string) (*agent.ToolResult, error) { return agent.TextResult("ran"), nil }), &where}
	asked := 0
	cfg := agent.Config{Tools: []agent.Tool{tool}, Policy: agent.StandardRules(agent.AutonomyAsk), Ask: func(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
		asked++
		return agent.Answer{Allow: true, Scope: agent.GrantExact}
	}}
	s := agent.NewSession()
	for i, at := range []string{"sandbox", "sandbox", "host"} {
		where = at
		cfg.Model = newScript(calls(tc{fmt.Sprint(i), "sh", `{}`}), say("ok"))
		run(t, configured(t, cfg), s, "go")
	}
	if asked != 2 {
		t.Errorf("asked %d times; the grant for the sandbox must not hold on the host", asked)
	}
}

// TestForkAfterCompaction forks before and after a compaction.
func TestForkAfterCompaction(t *testing.T) {
	m := newScript(calls(tc{"1", "look", `{"n":1}`}), calls(tc{"2", "look", `{"n":2}`}), fails(agent.ErrContextLength), say("ok"))
	dir := t.TempDir()
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{okTool("look")}, Compactor: keepLast{}}), s, "go")
	total := len(s.Transcript()) // 5 messages, then the 3 that were kept, then the answer
	check := func(s *agent.Session) {
		t.Helper()
		for n, want := range map[int]int{2: 3, 5: 5, 6: 1, 8: 3, total: 4} {
			f, err := s.Fork(n, agent.SessionOptions{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(f.Messages()); got != want {
				t.Errorf("a fork at %d of %d has %d messages, want %d", n, total, got, want)
			}
			f.Close()
		}
	}
	check(s)
	s.Close()
	again, _, err := agent.OpenSession(filepath.Join(dir, "s.jsonl"), agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	check(again)
}

// TestSpend: what a tool spent on its own model call counts in the run's result, in its limits and
// in the session.
func TestSpend(t *testing.T) {
	judge := newTool("judge", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		return agent.TextResult("good"), agent.Spend(ctx, agent.Usage{Input: 1000, Output: 1}, 7)
	})
	s := agent.NewSession()
	m := newScript(calls(tc{"1", "judge", `{}`}), say("never"))
	res, _ := run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{judge}, Limits: agent.Limits{Tokens: 900}}), s, "go")
	if res.Stop != agent.StopTokens || res.Usage.Input != 1010 || res.MicroDollars != 7 {
		t.Errorf("result = %+v", res)
	}
	if u, cost := s.Usage(); u.Input != 1010 || cost != 7 {
		t.Errorf("session: %+v, %d", u, cost)
	}
	if err := agent.Spend(context.Background(), agent.Usage{Input: 1}, 1); err != nil {
		t.Errorf("outside a run: %v", err)
	}
}
