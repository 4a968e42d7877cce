package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools"
)

// elsewhere is a tool that has to find out what a call does.
type elsewhere struct {
	effects  agent.Effects // of the call
	err      error
	bound    bool // whether the policy allowed whatever the spec names
	prepared atomic.Int64
	ran      atomic.Int64
	session  *agent.Session
	callID   string
}

func (t *elsewhere) Spec() agent.ToolSpec {
	return agent.ToolSpec{Name: "far", Effects: agent.Writing(".")}
}

func (t *elsewhere) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return nil, errors.New("it was not prepared")
}

func (t *elsewhere) PrepareCall(ctx context.Context, call agent.ToolCall, allowed func(agent.Effects, agent.CallDescription) bool) (*agent.PreparedCall, error) {
	t.prepared.Add(1)
	t.session, t.callID = agent.SessionFrom(ctx), agent.CallIDFrom(ctx)
	t.bound = allowed(t.Spec().Effects, agent.CallDescription{Title: call.Name})
	return &agent.PreparedCall{Effects: t.effects, Description: agent.CallDescription{Title: "far away\x1b"}, Call: func(context.Context) (*agent.ToolResult, error) {
		t.ran.Add(1)
		return agent.TextResult("prepared"), nil
	}}, t.err
}

// TestPreparedCalls: the policy, the question to the person and the checkpoints go by what a tool
// finds out about a call. A policy of the host is not trusted to treat all calls of a tool alike.
//
// Evidence: agent · A tool may find out what a call does by work that takes time
func TestPreparedCalls(t *testing.T) {
	writes, reads := agent.Writing("a.txt"), agent.ReadOnly("a.txt")
	host := agent.PolicyFunc(func(context.Context, *agent.PermissionRequest) agent.Verdict {
		return agent.Verdict{Decision: agent.Allow}
	})
	changed := agent.StandardRules(agent.AutonomyEdit)
	changed[0].Match = func(*agent.PermissionRequest) bool { return true }
	refused := agent.StandardRules(agent.AutonomyEdit)
	refused[2].Decision = agent.Deny
	for _, c := range []struct {
		name    string
		policy  agent.Policy
		effects agent.Effects
		err     error
		bound   bool
		asked   int
		saved   int
		result  string
	}{
		{name: "no policy", effects: writes, bound: true, saved: 1, result: "prepared"},
		{name: "a call that reads", effects: reads, bound: true, result: "prepared"},
		{name: "edits are allowed", policy: agent.StandardRules(agent.AutonomyEdit), effects: writes, bound: true, saved: 1, result: "prepared"},
		{name: "edits are asked about", policy: agent.StandardRules(agent.AutonomyAsk), effects: writes, asked: 1, saved: 1, result: "prepared"},
		{name: "reads are not", policy: agent.StandardRules(agent.AutonomyAsk), effects: reads, result: "prepared"},
		{name: "read-only", policy: agent.StandardRules(agent.AutonomyReadOnly), effects: writes, result: "Not permitted"},
		{name: "a policy of the host", policy: host, effects: writes, saved: 1, result: "prepared"},
		{name: "a rule was added", policy: append(agent.Rules{{Name: "x", Tools: []string{"y"}}}, agent.StandardRules(agent.AutonomyEdit)...), effects: writes, saved: 1, result: "prepared"},
		{name: "a rule was changed", policy: changed, effects: writes, saved: 1, result: "prepared"},
		{name: "a decision was changed", policy: refused, effects: writes, result: "Not permitted"},
		{name: "it cannot be prepared", bound: true, err: errors.New("no connection"), result: "no connection"},
	} {
		for _, wrapped := range []bool{false, true} {
			tool := &elsewhere{effects: c.effects, err: c.err}
			cfg := agent.Config{Model: agenttest.Script(agenttest.Call("c1", "far", `{}`), agenttest.Text("done")), Policy: c.policy}
			store, asked := &saver{}, 0
			cfg.Checkpointer = store
			cfg.Ask = func(_ context.Context, req *agent.PermissionRequest, _ agent.Verdict) agent.Answer {
				if asked++; req.Description.Title != "far away<U+001B>" {
					t.Errorf("%s: asked about %q", c.name, req.Description.Title)
				}
				return agent.Answer{Allow: true}
			}
			if cfg.Tools = []agent.Tool{tool}; wrapped {
				r, err := tools.NewRegistry(tool)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Tools, cfg.ToolSource = nil, r
			}
			a, err := agent.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			s := agent.NewSession()
			if _, err := a.Run(t.Context(), s, agent.Text{Text: "go"}).Collect(); err != nil {
				t.Fatal(err)
			}
			result := s.Messages()[2].Parts[0].(agent.ToolResult).Text()
			if !strings.Contains(result, c.result) || tool.bound != c.bound || asked != c.asked || store.n != c.saved || tool.prepared.Load() != 1 || (tool.ran.Load() == 1) != (c.result == "prepared") {
				t.Errorf("%s, wrapped %t: %q, bound %t, asked %d, %d checkpoints, prepared %d, ran %d", c.name, wrapped, result, tool.bound, asked, store.n, tool.prepared.Load(), tool.ran.Load())
			}
			if tool.session != s || tool.callID != "c1" {
				t.Errorf("%s: session %v, call %q", c.name, tool.session, tool.callID)
			}
			if ex := a.Explain(t.Context(), s, agent.ToolCall{Name: "far"}); c.err == nil && ex.Description.Title != "far away<U+001B>" || c.err != nil && ex.Verdict.Decision != agent.Deny {
				t.Errorf("%s: explained as %v", c.name, ex)
			}
		}
	}
}

// saver counts checkpoints.
type saver struct{ n int }

func (s *saver) Snapshot(context.Context, string) (string, error)         { s.n++; return "s", nil }
func (s *saver) Restore(context.Context, string) (undo string, err error) { return "", nil }

// TestToolContext: a tool that a host calls itself finds its session, call and progress as in a
// run. What belongs to a run does nothing.
func TestToolContext(t *testing.T) {
	s := agent.NewSession()
	var said []string
	ctx := agent.ToolContext(t.Context(), agent.ToolScope{Session: s, CallID: "c", Progress: func(text string) { said = append(said, text) }})
	agent.Progress(ctx, "one")
	agent.Progress(agent.ToolContext(t.Context(), agent.ToolScope{}), "two")
	if agent.SessionFrom(ctx) != s || agent.CallIDFrom(ctx) != "c" || len(said) != 1 || agent.Spend(ctx, agent.Usage{Input: 1}, 1) != nil {
		t.Errorf("session %v, call %q, said %q", agent.SessionFrom(ctx), agent.CallIDFrom(ctx), said)
	}
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: agenttest.Script(agenttest.Text("answer"))}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := sub.Call(ctx, agent.ToolCall{Args: []byte(`{"task":"x"}`)}); err != nil || r.Text() != "answer" {
		t.Errorf("a sub-agent outside a run: %v, %v", r, err)
	}
	s.FollowEpoch(3)
	if s.Epoch() != 3 {
		t.Errorf("epoch %d", s.Epoch())
	}
}
