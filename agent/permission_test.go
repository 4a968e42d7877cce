package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

func TestZeroDecisionIsDeny(t *testing.T) {
	var v agent.Verdict
	var a agent.Answer
	if v.Decision != agent.Deny || v.Decision.String() != "deny" || a.Allow {
		t.Error("a zero verdict or answer must refuse")
	}
	if v := (agent.Rules{}).Decide(context.Background(), &agent.PermissionRequest{}); v.Decision != agent.Deny {
		t.Errorf("no rule: %v", v)
	}
	if e := (agent.Effects{}); e.IsReadOnly() {
		t.Error("unknown effects count as read-only")
	}
}

// Evidence: loop · Effects decide what is allowed, asked for or denied
func TestStandardRules(t *testing.T) {
	read := agent.ReadOnly("a.go")
	write := agent.Writing("a.go")
	with := func(e agent.Effects, f agent.EffectFlags) agent.Effects { e.Flags |= f; return e }
	for _, tt := range []struct {
		name    string
		effects agent.Effects
		boxed   bool
		want    [4]agent.Decision // ask, read-only, edit, sandboxed
	}{
		{"read", read, false, [4]agent.Decision{agent.Allow, agent.Allow, agent.Allow, agent.Allow}},
		{"plan", agent.Writing(agent.ResourcePlan), false, [4]agent.Decision{agent.Allow, agent.Allow, agent.Allow, agent.Allow}},
		{"read secret", with(read, agent.EffectSecret), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"read outside", with(read, agent.EffectOutside), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"network", with(read, agent.EffectNetwork), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"kill", with(read, agent.EffectKill), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"write", write, false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Allow, agent.Allow}},
		{"delete", with(write, agent.EffectDelete), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Allow, agent.Allow}},
		{"write outside", agent.Writing("/etc/passwd"), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"write above", agent.Writing("a/../../x"), false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"unknown", agent.Effects{}, false, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Ask}},
		{"unknown in a sandbox", agent.Effects{}, true, [4]agent.Decision{agent.Ask, agent.Deny, agent.Ask, agent.Allow}},
		{"reading sub-agent", with(agent.ReadOnly("."), agent.EffectSpend), false, [4]agent.Decision{agent.Allow, agent.Allow, agent.Allow, agent.Allow}},
	} {
		req := &agent.PermissionRequest{Spec: agent.ToolSpec{Effects: agent.Writing(".")}, Effects: tt.effects, Description: agent.CallDescription{Sandboxed: tt.boxed}}
		for i, mode := range []agent.Autonomy{agent.AutonomyAsk, agent.AutonomyReadOnly, agent.AutonomyEdit, agent.AutonomySandboxed} {
			if v := agent.StandardRules(mode).Decide(context.Background(), req); v.Decision != tt.want[i] {
				t.Errorf("%s, autonomy %d: %v by %q, want %v", tt.name, mode, v.Decision, v.Rule, tt.want[i])
			}
		}
		// Without trials a call must not run because a trial would be harmless.
		if v := agent.StandardRules(agent.AutonomyDry).Decide(context.Background(), req); v.Decision != tt.want[2] {
			t.Errorf("%s, AutonomyDry: %v, want that of AutonomyEdit, %v", tt.name, v.Decision, tt.want[2])
		}
	}
}

// TestShellWritesAreNeverAutoApproved: if a tool has no declared effects of its own, as the shell
// has none, its writes are never approved without asking.
func TestShellWritesAreNeverAutoApproved(t *testing.T) {
	req := &agent.PermissionRequest{Effects: agent.Writing("a")}
	for _, mode := range []agent.Autonomy{agent.AutonomyAsk, agent.AutonomyReadOnly, agent.AutonomyEdit, agent.AutonomySandboxed} {
		if v := agent.StandardRules(mode).Decide(context.Background(), req); v.Decision == agent.Allow {
			t.Errorf("autonomy %d allows it by %q", mode, v.Rule)
		}
	}
}

// Evidence: loop · A grant covers its scope only
func TestAskAndGrants(t *testing.T) {
	dir := t.TempDir()
	var asked []string
	answer := agent.Answer{}
	cfg := agent.Config{Policy: agent.StandardRules(agent.AutonomyAsk), Ask: func(_ context.Context, req *agent.PermissionRequest, v agent.Verdict) agent.Answer {
		asked = append(asked, string(req.Call.Args)+" "+v.Reason)
		return answer
	}}
	w := fileTool("write", true, func(_ context.Context, path string) (*agent.ToolResult, error) {
		return agent.TextResult("wrote " + path), nil
	})
	cfg.Tools = []agent.Tool{w}
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "g", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	step := func(args, want string, questions int) {
		t.Helper()
		asked = nil
		m := newScript(calls(tc{"1", "write", args}), say("ok"))
		cfg.Model = m
		run(t, configured(t, cfg), s, "go")
		last := m.reqs[1].Messages
		got := last[len(last)-1].Parts[0].(agent.ToolResult).Text()
		if !strings.Contains(got, want) || len(asked) != questions {
			t.Errorf("%s: %q after %d questions %q; want %q after %d", args, got, len(asked), asked, want, questions)
		}
	}
	step(`{"path":"a/x"}`, "the user refused", 1)
	answer = agent.Answer{Allow: true}
	step(`{"path":"a/x"}`, "wrote a/x", 1)
	step(`{"path":"a/x"}`, "wrote a/x", 1)
	answer = agent.Answer{Allow: true, Scope: agent.GrantExact}
	step(`{"path":"a/x"}`, "wrote a/x", 1)
	step(`{"path":"a/x"}`, "wrote a/x", 0)
	answer = agent.Answer{Allow: true, Scope: agent.GrantPath, Prefix: "src"}
	step(`{"path":"src/a"}`, "wrote src/a", 1)
	answer = agent.Answer{Reason: "no more"}
	step(`{"path":"src/b/c"}`, "wrote src/b/c", 0)
	step(`{"path":"srcs/b"}`, "no more", 1)
	step(`{"path":"src/../etc"}`, "no more", 1)
	step(`{"path":"/src/x"}`, "no more", 1)
	s.Close()
	if s, _, err = agent.OpenSession(filepath.Join(dir, "g.jsonl"), agent.SessionOptions{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	step(`{"path":"src/b/c"}`, "wrote", 0) // grants outlive the process
	cfg.Ask = nil
	step(`{"path":"z"}`, "nobody to ask", 0)
}

func TestPathGrantDoesNotCoverOtherEffects(t *testing.T) {
	g := agent.Grant{Scope: agent.GrantPath, Tool: "shell", Prefix: "src"}
	e := agent.Writing("src/a")
	req := &agent.PermissionRequest{Call: agent.ToolCall{Name: "shell"}, Effects: e}
	if !g.Covers(req) {
		t.Error("a write below the prefix is not covered")
	}
	for _, f := range []agent.EffectFlags{agent.EffectNetwork, agent.EffectKill, agent.EffectExec, agent.EffectOutside, agent.EffectSecret} {
		req.Effects.Flags = f
		if g.Covers(req) {
			t.Errorf("flag %b is covered by a path grant", f)
		}
	}
	req.Effects = agent.Effects{}
	if g.Covers(req) {
		t.Error("unknown effects are covered by a path grant")
	}
}

// TestGrantsOfObeyedFiles checks that no grant covers a file that something later obeys or
// executes, unless the person was asked about that file, and that no degree of autonomy allows it.
func TestGrantsOfObeyedFiles(t *testing.T) {
	for _, level := range []agent.Autonomy{agent.AutonomyAsk, agent.AutonomyReadOnly, agent.AutonomyEdit, agent.AutonomySandboxed} {
		req := &agent.PermissionRequest{Call: agent.ToolCall{Name: "write"}, Effects: agent.Writing("AGENTS.md")}
		req.Effects.Flags, req.Spec.Effects, req.Description.Sandboxed = agent.EffectObeyed, agent.Writing("."), true
		if v := agent.StandardRules(level).Decide(t.Context(), req); v.Decision == agent.Allow {
			t.Errorf("autonomy %d allows it by %q", level, v.Rule)
		}
	}
	ask := func(paths ...string) *agent.PermissionRequest {
		return &agent.PermissionRequest{Call: agent.ToolCall{Name: "write"}, Effects: agent.Writing(paths...)}
	}
	obeyed := func(paths ...string) *agent.PermissionRequest {
		req := ask(paths...)
		req.Effects.Flags = agent.EffectObeyed
		return req
	}
	plain := agent.Grant{Scope: agent.GrantPath, Tool: "write", Prefix: "."}
	asked := agent.Grant{Scope: agent.GrantPath, Tool: "write", Prefix: ".", Obeyed: `["AGENTS.md"]`}
	for _, c := range []struct {
		g    agent.Grant
		req  *agent.PermissionRequest
		want bool
	}{
		{plain, ask("a.go"), true}, {plain, obeyed("AGENTS.md"), false}, {asked, obeyed("AGENTS.md"), true},
		{asked, obeyed(".mcp.json"), false}, {asked, obeyed("AGENTS.md", ".mcp.json"), false}, {asked, ask("a.go"), true},
	} {
		if got := c.g.Covers(c.req); got != c.want {
			t.Errorf("%+v covers %v: %v, want %v", c.g, c.req.Effects, got, c.want)
		}
	}
}

// Evidence: loop · A verdict is explained with its reason and effects
func TestExplain(t *testing.T) {
	tool := described{fileTool("write", true, nil)}
	a := configured(t, agent.Config{Model: newScript(), Tools: []agent.Tool{tool}, Policy: agent.StandardRules(agent.AutonomyAsk)})
	ex := a.Explain(context.Background(), nil, agent.ToolCall{Name: "write", Args: []byte(`{"path":"a"}`)})
	want := "write: ask (needs approval): it writes\ncall: write a\nruns in: host\neffects: writes a\n+ diff"
	if diff := cmp.Diff(want, ex.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ex := a.Explain(context.Background(), nil, agent.ToolCall{Name: "nope"}); ex.Found || ex.Verdict.Decision != agent.Deny {
		t.Errorf("unknown tool: %+v", ex)
	}
}

type described struct{ *fn }

func (described) DescribeCall(agent.ToolCall) agent.CallDescription {
	return agent.CallDescription{Title: "write a", Where: "host", Detail: "+ diff\n"}
}

// Evidence: loop · Sub-agents run in parallel and share one budget
func TestSubAgents(t *testing.T) {
	gate := make(chan struct{}, 2)
	both := make(chan struct{})
	meet := newTool("meet", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		if gate <- struct{}{}; len(gate) == 2 {
			close(both)
		}
		select {
		case <-both: // both sub-agents are here at the same time
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return agent.TextResult("met"), nil
	})
	sub, err := agent.SubAgent(agent.SubAgentConfig{
		Agent:   agent.Config{Model: statelessSub{}, Tools: []agent.Tool{meet}},
		Effects: agent.ReadOnly("."),
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newScript(calls(tc{"1", "agent", `{"task":"find A"}`}, tc{"2", "agent", `{"task":"find B"}`}, tc{"3", "agent", `{"task":" "}`}), say("both found"))
	s := agent.NewSession()
	res, evs := run(t, newAgent(t, m, sub), s, "go")
	got := resultTexts(s, 0)
	if got[0] != "report on find A" || got[1] != "report on find B" || !strings.Contains(got[2], "not empty") {
		t.Errorf("reports = %q", got)
	}
	if want := int64(20 + 2*14); res.Usage.Input != want {
		t.Errorf("input tokens = %d, want %d with the sub-agents'", res.Usage.Input, want)
	}
	subs := map[string]int{}
	for _, ev := range evs {
		if se, ok := ev.(agent.SubEvent); ok {
			subs[se.CallID]++
		}
	}
	if subs["1"] == 0 || subs["2"] == 0 {
		t.Errorf("sub-agent events: %v", subs)
	}
}

// statelessSub waits for the other sub-agent, then reports on its task.
type statelessSub struct{}

func (statelessSub) Stream(ctx context.Context, req *agent.Request) agentSeq {
	usage := agent.Usage{Input: 7, Output: 1}
	if len(req.Messages) == 1 {
		return seq(agent.ToolCallStart{ID: "m", Name: "meet"}, usage, agent.Finish{Reason: agent.FinishTools})
	}
	return seq(agent.TextDelta{Text: "report on " + req.Messages[0].Text()}, usage, agent.Finish{Reason: agent.FinishStop})
}

func TestSubAgentBudget(t *testing.T) {
	var steps atomic.Int32
	look := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		steps.Add(1)
		return agent.TextResult("seen"), nil
	})
	endless := agent.ModelFunc(func(_ context.Context, req *agent.Request) agentSeq {
		return seq(agent.ToolCallStart{ID: "x", Name: "look"}, agent.ToolCallDelta{Args: `{"n":` + string(rune('0'+len(req.Messages)%10)) + `}`},
			agent.Usage{Input: 10}, agent.Finish{Reason: agent.FinishTools})
	})
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: endless, Tools: []agent.Tool{look}, Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	m := newScript(calls(tc{"1", "agent", `{"task":"spin"}`}), say("x"))
	s := agent.NewSession()
	res, _ := run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{sub}, Limits: agent.Limits{Tokens: 100}}), s, "go")
	if res.Stop != agent.StopTokens || steps.Load() > 10 { // the run may end before the response that called the sub-agent has reported its own usage
		t.Errorf("%+v after %d steps of the sub-agent; its budget is what is left of 100 tokens", res, steps.Load())
	}
	if got := resultTexts(s, 0)[0]; !strings.Contains(got, "max_tokens") {
		t.Errorf("report = %q", got)
	}
}

// Evidence: loop · AGENTS.md files are read down to the folder of the work
func TestInstructions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		p := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(p), 0o755)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("AGENTS.md", "root rules")
	write("a/b/AGENTS.md", "nested rules")
	write("a/b/c/x.go", "package c")
	write("other/AGENTS.md", "   ")
	outside := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(outside, []byte("secret"), 0o644)
	os.MkdirAll(filepath.Join(dir, "link"), 0o755)
	if err := os.Symlink(outside, filepath.Join(dir, "link", "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string][]string{".": {"root rules"}, "a/b/c": {"root rules", "nested rules"}, "other": {"root rules"}, "link": {"root rules"}, "nowhere/at/all": {"root rules"}} {
		ins, err := agent.FindInstructions(dir, from)
		var got []string
		for _, in := range ins {
			got = append(got, in.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", from, err, diff)
		}
	}
	if _, err := agent.FindInstructions(dir, "../.."); err == nil {
		t.Error("a folder outside the workspace was accepted")
	}

	read := fileTool("read", false, func(_ context.Context, path string) (*agent.ToolResult, error) {
		return agent.TextResult("text of " + path), nil
	})
	m := newScript(calls(tc{"1", "read", `{"path":"a/b/c/x.go"}`}), calls(tc{"2", "read", `{"path":"a/b/c/x.go"}`}), say("ok"))
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{read}, Middleware: []agent.Middleware{agent.NestedInstructions(dir)}})
	s := agent.NewSession()
	run(t, a, s, "go")
	if got := resultTexts(s, 0)[0]; !strings.Contains(got, "nested rules") || strings.Contains(got, "root rules") {
		t.Errorf("first read: %q", got)
	}
	if got := resultTexts(s, 1)[0]; strings.Contains(got, "nested rules") {
		t.Errorf("second read repeats them: %q", got)
	}
}
