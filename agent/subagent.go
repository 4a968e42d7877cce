package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// SubAgentConfig describes a tool that runs another agent.
type SubAgentConfig struct {
	Name        string // of the tool; empty means "agent"
	Description string // what the sub-agent is good for, for the model; empty describes it in general terms
	// Agent is the sub-agent's own configuration. What holds for the agent that calls it holds for
	// it too: its calls need the approval of both policies, and the caller's middleware surrounds
	// its own. Its Limits are the budget for one task, further limited by what is left of the
	// caller's budget. Every other field that is zero is the caller's, except for Tools,
	// ToolSource, Verify, Checkpointer, Output and SessionLimits. MaxOutput, Temperature, Effort,
	// Stop and Seed are the caller's only if both use the same model.
	Agent Config
	// Effects of a task. The zero value means unknown, so that sub-agents run one after another.
	// ReadOnly(".") lets several sub-agents that only read run in parallel, and enforces that:
	// calls that may change something are refused. EffectSpend is added automatically.
	Effects  Effects
	MaxDepth int // how deep sub-agents may nest; 0 means 2
	// Session creates the session of one task, which is closed when the task ends. Nil keeps it in
	// memory.
	Session func(ctx context.Context, parent *Session) (*Session, error)
}

type subAgent struct {
	cfg   SubAgentConfig
	spec  ToolSpec
	agent *Agent
}

// subAgentSchema returns the JSON Schema of a task.
func subAgentSchema() json.RawMessage {
	task, _ := json.Marshal(promptText(subAgentTaskPrompt)) // a string
	return json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","description":` + string(task) +
		`}},"required":["task"],"additionalProperties":false}`)
}

// SubAgent returns a tool that passes a task to another agent and returns its final answer. Several
// calls run in parallel if their effects allow it; events of the sub-agent arrive as [SubEvent],
// and its usage and cost count towards the caller's.
func SubAgent(cfg SubAgentConfig) (Tool, error) {
	if cfg.Name == "" {
		cfg.Name = "agent"
	}
	if cfg.MaxDepth == 0 {
		cfg.MaxDepth = 2
	}
	if cfg.Description == "" {
		cfg.Description = promptText(subAgentPrompt)
	}
	if cfg.Agent.Purpose == "" {
		cfg.Agent.Purpose = PurposeSubAgent
	}
	a, err := New(cfg.Agent)
	if err != nil {
		return nil, fmt.Errorf("agent: sub-agent %s: %w", cfg.Name, err)
	}
	e := cfg.Effects
	e.Flags |= EffectSpend
	t := &subAgent{cfg: cfg, agent: a, spec: ToolSpec{
		Name: cfg.Name, Description: cfg.Description, Schema: subAgentSchema(), Effects: e, Timeout: -1,
	}}
	return t, checkTools([]Tool{t})
}

// Spec describes the tool.
func (t *subAgent) Spec() ToolSpec { return t.spec }

// Call runs the sub-agent on one task.
func (t *subAgent) Call(ctx context.Context, call ToolCall) (*ToolResult, error) {
	var in struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(call.Args, &in); err != nil || strings.TrimSpace(in.Task) == "" {
		return nil, errors.New(`the arguments must be {"task": "…"} with a task that is not empty`)
	}
	scope := runScope(ctx)
	child, err := t.child(scope)
	if err != nil {
		return nil, err
	}
	s, err := t.session(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return report(ctx, child.Run(ctx, s, Text{Text: in.Task}), scope)
}

// child returns the agent for one task, held to what holds for the run that calls it.
func (t *subAgent) child(scope *callScope) (*Agent, error) {
	if scope == nil {
		child := *t.agent
		child.depth, child.readOnly = 1, changesNothing(&t.spec.Effects)
		return &child, nil
	}
	by := scope.by
	if by.agent.depth >= t.cfg.MaxDepth {
		return nil, fmt.Errorf("sub-agents may nest %d deep at most; do this task yourself", t.cfg.MaxDepth)
	}
	above := *by.agent
	above.capped = above.capped || by.account.whole.MicroDollars > 0
	child, err := t.agent.under(&above, t.cfg.Agent)
	if err != nil {
		return nil, err
	}
	child.depth, child.parent = by.agent.depth+1, by.account
	child.readOnly = changesNothing(&t.spec.Effects) || by.mode.plan || by.mode.readOnly
	child.cfg.Limits, err = by.account.remaining(child.cfg.Limits)
	return child, err
}

func (t *subAgent) session(ctx context.Context) (*Session, error) {
	if t.cfg.Session == nil {
		return NewSession(), nil
	}
	return t.cfg.Session(ctx, SessionFrom(ctx))
}

// report drives the sub-agent's run, forwards its events and turns its end into a result.
func report(ctx context.Context, run Run, scope *callScope) (*ToolResult, error) {
	var res *Result
	var fail error
	for ev, err := range run {
		if err != nil {
			fail = err
			continue
		}
		if d, ok := ev.(Done); ok {
			res = d.Result
		}
		if scope != nil {
			scope.by.out.post(SubEvent{CallID: scope.call.tc.ID, Event: ev})
		}
	}
	if res == nil {
		return nil, fail
	}
	if scope != nil { // only recorded here: the runs above were already charged as it was spent
		scope.call.bill.add(res.Usage, res.MicroDollars, res.Estimated != Usage{})
		if err := scope.by.session.addSpend(&stepMeta{usage: res.Usage, cost: res.MicroDollars, estimated: res.Estimated != Usage{}}); err != nil {
			return nil, err
		}
	}
	text := res.Text()
	if res.Stop == StopDone {
		return TextResult(orText(text, "(the sub-agent answered nothing)")), nil
	}
	return ErrorResult("The sub-agent stopped early (%s: %s) after %d steps. Its last words: %s", res.Stop, res.Detail, res.Steps, orText(text, "(none)")), nil
}
