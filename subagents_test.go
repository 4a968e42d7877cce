package luthier_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools/coding"
)

// delegate runs an agent that delegates a task, in which the sub-agent makes the calls. It returns
// the model, the results that the sub-agent read, and the Coder's directory.
func delegate(t *testing.T, mode string, opts luthier.Options, before func(*luthier.Coder), calls ...agenttest.Turn) (*agenttest.Scripted, []agent.ToolResult, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Whistle always.", "sub/AGENTS.md": "Hum below.", "sub/a.txt": "a\n"} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	turns := append([]agenttest.Turn{agenttest.Call("s", "agent", `{"task":"do it","mode":"`+mode+`"}`)}, calls...)
	m := agenttest.Script(append(turns, agenttest.Text("sub done"), agenttest.Text("done"))...)
	opts.Model, opts.NoSandbox, opts.NoIndex, opts.NoCheckpoints, opts.SubAgents, opts.StateDir = m, true, true, true, luthier.Shared, t.TempDir()
	c, err := luthier.New(context.Background(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if before != nil {
		before(c)
	}
	var got []agent.ToolResult
	for ev := range c.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"}) {
		if sub, ok := ev.(agent.SubEvent); ok {
			if d, ok := sub.Event.(agent.CallDone); ok {
				got = append(got, d.Result)
			}
		}
	}
	return m, got, dir
}

func allowAll(context.Context, *agent.PermissionRequest, agent.Verdict) agent.Answer {
	return agent.Answer{Allow: true}
}

var writeA = agenttest.Call("w", "write", `{"path":"a.txt","content":"from the sub-agent\n"}`)

// TestSubAgentsAreHeldToWhatTheHostSets: whichever way the host sets a policy, a question or
// middleware, a call of a sub-agent that they refuse is not made.
//
// Evidence: loop · What a host sets in Options or Customize holds for sub-agents too
func TestSubAgentsAreHeldToWhatTheHostSets(t *testing.T) {
	t.Parallel()
	noWrites := agent.Rules{{Name: "no writes", Tools: []string{"write"}, Decision: agent.Deny}, {Name: "rest", Decision: agent.Allow}}
	middleware := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if !op.IsModel() && op.Call.Name == "write" {
				return errors.New("middleware: no")
			}
			return next(ctx, op)
		}
	}
	notWrites := func(_ context.Context, req *agent.PermissionRequest, _ agent.Verdict) agent.Answer {
		return agent.Answer{Allow: req.Call.Name != "write"}
	}
	custom := func(f func(c *coding.Config, a *agent.Config)) luthier.Options {
		return luthier.Options{Autonomy: agent.AutonomyEdit, Customize: f, Ask: allowAll}
	}
	for name, tt := range map[string]struct {
		opts   luthier.Options
		before func(*luthier.Coder)
		writes bool
	}{
		"nothing":           {opts: luthier.Options{Autonomy: agent.AutonomyEdit, Ask: allowAll}, writes: true},
		"Autonomy":          {opts: luthier.Options{Autonomy: agent.AutonomyReadOnly, Ask: allowAll}},
		"Ask, yes":          {opts: luthier.Options{Autonomy: agent.AutonomyAsk, Ask: allowAll}, writes: true},
		"Ask, no":           {opts: luthier.Options{Autonomy: agent.AutonomyAsk, Ask: notWrites}},
		"Middleware":        {opts: luthier.Options{Autonomy: agent.AutonomyEdit, Middleware: []agent.Middleware{middleware}, Ask: allowAll}},
		"Customize: Policy": {opts: custom(func(_ *coding.Config, a *agent.Config) { a.Policy = noWrites })},
		"Customize: Policy, another for sub-agents": {opts: custom(func(c *coding.Config, a *agent.Config) {
			a.Policy = noWrites
			c.Proc.Agent.Policy = agent.StandardRules(agent.AutonomyEdit)
		})},
		"Customize: Policy of sub-agents": {opts: custom(func(c *coding.Config, _ *agent.Config) { c.Proc.Agent.Policy = noWrites })},
		"Customize: Ask": {opts: custom(func(_ *coding.Config, a *agent.Config) {
			a.Policy, a.Ask = agent.StandardRules(agent.AutonomyAsk), notWrites
		})},
		"Customize: Middleware": {opts: custom(func(_ *coding.Config, a *agent.Config) { a.Middleware = []agent.Middleware{middleware} })},
		"Customize: a configuration of sub-agents": {opts: custom(func(c *coding.Config, a *agent.Config) {
			a.Policy = noWrites
			c.Proc.Agent = &agent.Config{Model: c.Proc.Agent.Model, System: "Be quick."}
		})},
		"Without":                {opts: luthier.Options{Autonomy: agent.AutonomyEdit, Without: []string{"write"}, Ask: allowAll}},
		"Only":                   {opts: luthier.Options{Autonomy: agent.AutonomyEdit, Only: []string{"read", "agent"}, Ask: allowAll}},
		"removed while it runs":  {opts: luthier.Options{Autonomy: agent.AutonomyEdit, Ask: allowAll}, before: func(c *luthier.Coder) { c.Registry.Remove("write") }},
		"replaced while it runs": {opts: luthier.Options{Autonomy: agent.AutonomyEdit, Ask: allowAll}, before: func(c *luthier.Coder) { _ = c.Registry.Replace(hostTool{"write", true}) }},
	} {
		_, got, dir := delegate(t, "work", tt.opts, tt.before, writeA)
		if _, err := os.Stat(filepath.Join(dir, "a.txt")); (err == nil) != tt.writes || len(got) != 1 && name != "Autonomy" {
			t.Errorf("%s: the file is there: %t, want %t; results %+v", name, err == nil, tt.writes, got)
		}
	}
}

// TestSubAgentsReadWhatTheAgentReads: the instructions of the workspace and of the host are in the
// system prompt of a sub-agent, whichever way the host adds them, without the role of the agent
// above. Instructions of a sub-folder follow the first call there.
func TestSubAgentsReadWhatTheAgentReads(t *testing.T) {
	t.Parallel()
	opts := luthier.Options{Ask: allowAll, System: "Be polite.",
		Customize: func(c *coding.Config, a *agent.Config) {
			a.System = "First of all.\n\n" + a.System + "\n\nLast of all."
			c.Proc.Agent.System = "For sub-agents."
		}}
	for _, mode := range []string{"explore", "work"} {
		m, got, dir := delegate(t, mode, opts, nil, agenttest.Call("r", "read", `{"path":"sub/a.txt"}`))
		system := m.Requests()[1].System
		for _, want := range []string{"for another agent", "Whistle always.", "Be polite.", "First of all.", "Last of all.", "For sub-agents.", filepath.Base(dir)} {
			if strings.Count(system, want) != 1 {
				t.Errorf("%s: the system prompt has %q %d times:\n%s", mode, want, strings.Count(system, want), system)
			}
		}
		if strings.Contains(system, "You are a coding agent.") {
			t.Errorf("%s: a sub-agent has the role of the agent above", mode)
		}
		if len(got) != 1 || !strings.Contains(got[0].Text(), "Hum below.") {
			t.Errorf("%s: the instructions of the sub-folder are missing: %+v", mode, got)
		}
	}
	opts.Customize = func(_ *coding.Config, a *agent.Config) { a.System = "All mine." }
	m, _, _ := delegate(t, "work", opts, nil)
	if system := m.Requests()[1].System; !strings.HasSuffix(system, "All mine.") || strings.Contains(system, "Whistle") {
		t.Errorf("a system prompt of the host's own: %q", system)
	}
}

// hostTool is a tool of a host.
type hostTool struct {
	name   string
	writes bool
}

func (h hostTool) Spec() agent.ToolSpec {
	e := agent.ReadOnly(".")
	if h.writes {
		e = agent.Writing("elsewhere")
	}
	return agent.ToolSpec{Name: h.name, Schema: json.RawMessage(`{"type":"object"}`), Effects: e}
}

func (h hostTool) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return agent.TextResult("the host's " + h.name), nil
}

type hostTools []agent.Tool

func (h hostTools) Tools() []agent.Tool { return h }

// TestSubAgentsHaveTheHostsTools: a sub-agent has the tools that a host adds, in Options, in
// Customize or while the agent runs; one that may only read has those that only read.
func TestSubAgentsHaveTheHostsTools(t *testing.T) {
	t.Parallel()
	opts := luthier.Options{Ask: allowAll, Tools: []agent.Tool{hostTool{"in_options", false}, hostTool{"w_options", true}},
		Customize: func(_ *coding.Config, a *agent.Config) {
			a.Tools = []agent.Tool{hostTool{"in_tools", false}, hostTool{"w_tools", true}}
			a.ToolSource = hostTools{hostTool{"in_source", false}, hostTool{"w_source", true}}
		}}
	add := func(c *luthier.Coder) { _ = c.Registry.Add(hostTool{"added", false}, hostTool{"w_added", true}) }
	for _, mode := range []string{"explore", "work"} {
		var turns []agenttest.Turn
		for _, name := range []string{"in_options", "in_tools", "in_source", "added"} {
			turns = append(turns, agenttest.Call(name, name, `{}`))
		}
		m, got, _ := delegate(t, mode, opts, add, turns...)
		for i, main := range []bool{true, false} {
			var names []string
			for _, s := range m.Requests()[i].Tools {
				names = append(names, s.Name)
			}
			for _, name := range strings.Fields("in_options in_tools in_source added w_options w_tools w_source w_added read shell agent") {
				want := (main || mode == "work" || !strings.HasPrefix(name, "w_")) && (main || name != "agent")
				if slices.Contains(names, name) != want {
					t.Errorf("%s: %s is among the tools of request %d: %t, want %t", mode, name, i, !want, want)
				}
			}
		}
		for _, r := range got {
			if !strings.HasPrefix(r.Text(), "the host's ") {
				t.Errorf("%s: %q", mode, r.Text())
			}
		}
		if len(got) != 4 {
			t.Errorf("%s: %d results", mode, len(got))
		}
	}
}

// TestSubAgentsHaveTheHostsLimits: a limit and the prices of the host end a sub-agent, set in
// Options or in Customize. A cost limit that cannot be counted for sub-agents is an error of New.
func TestSubAgentsHaveTheHostsLimits(t *testing.T) {
	t.Parallel()
	read := agenttest.Call("r", "read", `{"path":"sub/a.txt"}`)
	for name, tt := range map[string]struct {
		opts luthier.Options
		most int
	}{
		"Options.Limits":         {luthier.Options{Limits: agent.Limits{Steps: 2}}, 2},
		"Customize: Limits":      {luthier.Options{Customize: func(_ *coding.Config, a *agent.Config) { a.Limits.Steps = 2 }}, 2},
		"Customize: Prices":      {luthier.Options{Limits: agent.Limits{MicroDollars: 3}, Customize: func(_ *coding.Config, a *agent.Config) { a.Prices = agent.Prices{"agenttest": {Input: 1_000_000}} }}, 3},
		"Customize: sub-agents'": {luthier.Options{Customize: func(c *coding.Config, _ *agent.Config) { c.Proc.Agent.Limits.Steps = 1 }}, 1},
	} {
		turns := make([]agenttest.Turn, 6)
		for i := range turns {
			turns[i] = agenttest.Join(read, agenttest.Usage(agent.Usage{Input: 1}))
		}
		_, got, _ := delegate(t, "explore", tt.opts, nil, turns...)
		if len(got) == 0 || len(got) > tt.most {
			t.Errorf("%s: the sub-agent made %d calls, want 1 to %d", name, len(got), tt.most)
		}
	}
	_, err := luthier.New(context.Background(), t.TempDir(), luthier.Options{Model: agenttest.Script(), NoSandbox: true, NoIndex: true, SubAgents: luthier.Shared, StateDir: t.TempDir(),
		Limits: agent.Limits{MicroDollars: 5},
		Customize: func(c *coding.Config, a *agent.Config) {
			a.Prices = agent.Prices{"agenttest": {}}
			c.Proc.Agent.Model = unpriced{a.Model}
		}})
	if err == nil || !strings.Contains(err.Error(), "no price for model") {
		t.Errorf("a sub-agent without a price under a cost limit: %v", err)
	}
}

type unpriced struct{ agent.Model }

func (unpriced) Name() string { return "unpriced" }

// TestUndoTakesBackWhatASubAgentWrote: the agent takes its checkpoint before the task begins.
func TestUndoTakesBackWhatASubAgentWrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := agenttest.Script(agenttest.Call("s", "agent", `{"task":"write","mode":"work"}`), writeA, agenttest.Text("sub done"), agenttest.Text("done"))
	c, err := luthier.New(context.Background(), dir, luthier.Options{Model: m, NoSandbox: true, NoIndex: true, SubAgents: luthier.Shared, StateDir: t.TempDir(),
		Customize: func(_ *coding.Config, a *agent.Config) { a.Policy = nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := agent.NewSession()
	if _, err := c.Run(context.Background(), s, agent.Text{Text: "go"}).Collect(); err != nil || read(t, dir, "a.txt") != "from the sub-agent\n" {
		t.Fatal(err)
	}
	if _, err := c.Undo(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("undo left the file of the sub-agent: %v", err)
	}
}
