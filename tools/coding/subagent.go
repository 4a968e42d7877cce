package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
	"github.com/luthier-dev/luthier/tools/coding/internal/show"
)

type agentIn struct {
	Task string `json:"task" jsonschema_description:"the whole task: the sub-agent sees nothing of this conversation. Say what to find or do, where to look and what to report"`
	Mode string `json:"mode,omitempty" jsonschema:"enum=explore,enum=work" jsonschema_description:"explore (default) only reads and can run beside others; work may also change files and run programs"`
}

// agentTool returns a tool that runs sub-agents in this workspace, with its other tools. It is nil
// unless the host has configured them.
func (w *Workspace) agentTool() (agent.Tool, error) {
	if w.cfg.Proc.Agent == nil {
		return nil, nil
	}
	others, err := w.makeTools(subAgentRows())
	if err != nil {
		return nil, err
	}
	explore, err := w.subAgent(others, true)
	if err != nil {
		return nil, err
	}
	work, err := w.subAgent(others, false)
	if err != nil {
		return nil, err
	}
	pick := func(in agentIn) agent.Tool {
		if in.Mode == "work" {
			return work
		}
		return explore
	}
	run := func(ctx context.Context, in agentIn) (*agent.ToolResult, error) {
		if strings.TrimSpace(in.Task) == "" {
			return nil, errors.New("task is empty; write the whole task, for somebody who knows nothing of this conversation")
		}
		args, err := json.Marshal(map[string]string{"task": in.Task})
		if err != nil {
			return nil, err
		}
		call := agent.ToolCall{ID: agent.CallIDFrom(ctx), Name: "agent", Args: args}
		if in.Mode == "work" && w.cfg.Proc.Fork != nil {
			return w.onFork(ctx, call)
		}
		return pick(in).Call(ctx, call)
	}
	effects := func(in agentIn) agent.Effects { return pick(in).Spec().Effects }
	if w.cfg.Proc.Fork != nil { // what a sub-agent changes stays in its fork
		effects = func(agentIn) agent.Effects { return explore.Spec().Effects }
	}
	return newTool("agent", run, toolParts[agentIn]{
		any:     explore.Spec().Effects,
		effects: effects,
		describe: func(in agentIn) agent.CallDescription {
			mode := "read-only"
			switch {
			case in.Mode == "work" && w.cfg.Proc.Fork != nil:
				mode = "on a fork of its own"
			case in.Mode == "work":
				mode = "may change files"
			}
			return w.place(agent.CallDescription{Title: "sub-agent (" + mode + "): " + show.Line(firstLine(in.Task), 100), Detail: in.Task}, "")
		},
		opts: []tools.Option{tools.WithTimeout(-1)},
	})
}

// onFork runs a sub-agent that may change files on a fork of the workspace.
func (w *Workspace) onFork(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	fork, err := w.cfg.Proc.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("no fork of the workspace could be made: %w", err)
	}
	r, err := w.workIn(ctx, fork.Tools, call)
	return fork.Done(context.WithoutCancel(ctx), r, err)
}

func (w *Workspace) workIn(ctx context.Context, ts []agent.Tool, call agent.ToolCall) (*agent.ToolResult, error) {
	cfg := *w.cfg.Proc.Agent
	cfg.Tools, cfg.ToolSource = ts, nil
	work, err := subAgentOf(cfg, "work", agent.Effects{})
	if err != nil {
		return nil, err
	}
	return work.Call(ctx, call)
}

// lastOfSubAgent lists the tools that a sub-agent is shown after all others; the rest are in the
// toolbox's order. New tools need not be added: the list only preserves the bytes with which
// requests of sub-agents have begun so far.
var lastOfSubAgent = []string{"shell", "shell_output", "shell_input", "shell_kill", "lint", "test", "git", "plan", "read_artifact"}

// subAgentRows returns the tools offered to a sub-agent, in order: all except the agent tool
// itself.
func subAgentRows() []toolRow {
	rows := slices.DeleteFunc(toolbox(), func(r toolRow) bool { return r.name == "agent" })
	slices.SortStableFunc(rows, func(a, b toolRow) int {
		return slices.Index(lastOfSubAgent, a.name) - slices.Index(lastOfSubAgent, b.name)
	})
	return rows
}

// subAgent creates the agent behind one mode.
func (w *Workspace) subAgent(others []agent.Tool, readOnly bool) (agent.Tool, error) {
	cfg := *w.cfg.Proc.Agent
	if len(cfg.Tools) == 0 && cfg.ToolSource == nil {
		cfg.Tools = slices.Clone(others)
	}
	mode, effects := "work", agent.Effects{}
	if readOnly {
		// Several explorers may run at the same time: they conflict with calls that write, not with
		// each other.
		mode, effects = "explore", agent.ReadOnly(".")
		cfg.Tools = slices.DeleteFunc(slices.Clone(cfg.Tools), func(t agent.Tool) bool { return !onlyReads(t) })
		cfg.Policy = readOnlyPolicy(cfg.Policy)
	}
	if cfg.ToolSource != nil {
		cfg.ToolSource = &subSource{from: cfg.ToolSource, readOnly: readOnly}
	}
	return subAgentOf(cfg, mode, effects)
}

func subAgentOf(cfg agent.Config, mode string, effects agent.Effects) (agent.Tool, error) {
	cfg.System = strings.TrimSpace(prompt("agent_"+mode+".md") + "\n\n" + cfg.System)
	t, err := agent.SubAgent(agent.SubAgentConfig{Name: "agent_" + mode, Agent: cfg, Effects: effects})
	if err != nil {
		return nil, fmt.Errorf("Config.Proc.Agent: %w", err)
	}
	return t, nil
}

// subSource offers a sub-agent the tools of the host's source in the order of subAgentRows, without
// the agent tool itself. A sub-agent that may only read is not offered tools that write.
type subSource struct {
	from     agent.ToolSource
	readOnly bool

	mu   sync.Mutex // guards the fields below
	last []agent.Tool
	out  []agent.Tool
}

// Tools returns the same slice until the host's tools change.
func (s *subSource) Tools() []agent.Tool {
	all := s.from.Tools()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil && len(all) == len(s.last) && (len(all) == 0 || &all[0] == &s.last[0]) {
		return s.out
	}
	s.last = all
	s.out = slices.DeleteFunc(slices.Clone(all), func(t agent.Tool) bool {
		return t == nil || t.Spec().Name == "agent" || s.readOnly && !onlyReads(t)
	})
	slices.SortStableFunc(s.out, func(a, b agent.Tool) int {
		return slices.Index(lastOfSubAgent, a.Spec().Name) - slices.Index(lastOfSubAgent, b.Spec().Name)
	})
	return s.out
}

// onlyReads reports whether t can be offered to an agent that must not change anything: at least
// some of its calls are known to be read-only before they run.
func onlyReads(t agent.Tool) bool {
	spec := t.Spec()
	return spec.Effects.IsReadOnly() || spec.Name == "shell"
}

// readOnlyPolicy refuses every call that is not known to be read-only, and passes the others to
// next. If next is nil, it allows them.
func readOnlyPolicy(next agent.Policy) agent.Policy {
	return agent.PolicyFunc(func(ctx context.Context, req *agent.PermissionRequest) agent.Verdict {
		if !req.Effects.IsReadOnly() {
			return agent.Verdict{Decision: agent.Deny, Rule: "explore",
				Reason: "this agent may only read, and the call is not known to do just that; use the read tools or report what would have to be done"}
		}
		if next == nil {
			return agent.Verdict{Decision: agent.Allow, Rule: "explore"}
		}
		return next.Decide(ctx, req)
	})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

type planIn struct {
	Plan string `json:"plan" jsonschema_description:"the whole plan, in Markdown; it replaces the one before"`
}

// maxPlan limits the size of a plan, which is part of the session and may be shown with every
// request.
const maxPlan = 64 << 10

// planTool returns a tool that records the plan of a session.
func (w *Workspace) planTool() (agent.Tool, error) {
	effects := agent.Writing(agent.ResourcePlan)
	return newTool("plan", w.setPlan, toolParts[planIn]{
		any:     effects,
		effects: func(planIn) agent.Effects { return effects },
		describe: func(in planIn) agent.CallDescription {
			return agent.CallDescription{Title: "set the plan", Detail: in.Plan}
		},
	})
}

func (w *Workspace) setPlan(ctx context.Context, in planIn) (string, error) {
	s := agent.SessionFrom(ctx)
	switch {
	case s == nil:
		return "", errors.New("there is no session to keep a plan in; tell the plan in your answer")
	case strings.TrimSpace(in.Plan) == "":
		return "", errors.New("plan is empty; write the goal, the files to change, the steps in order and how each is verified")
	case len(in.Plan) > maxPlan:
		return "", fmt.Errorf("plan has %s, more than %s; keep to the steps", show.Size(int64(len(in.Plan))), show.Size(maxPlan))
	}
	if err := s.SetPlan(strings.TrimSpace(in.Plan)); err != nil {
		return "", fmt.Errorf("the plan could not be recorded: %w", err)
	}
	return "The plan is recorded.", nil
}
