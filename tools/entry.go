package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools/internal/argcheck"
)

// repairing is a tool of this package: it can repair its arguments separately, and run on repaired
// arguments without repairing them again.
type repairing interface {
	repair(call agent.ToolCall) (agent.ToolCall, []string, error)
	callMended(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error)
	outputLimit() int
}

// entry is a tool in a registry, as returned by [Registry.Tools].
type entry struct {
	r     *Registry
	inner agent.Tool
	own   repairing // inner, if it is a tool of this package
	base  base      // for a tool of another package
	spec  agent.ToolSpec
}

// entries checks tools and wraps each in an entry.
func (r *Registry) entries(ts []agent.Tool) ([]*entry, error) {
	var out []*entry
	for i, t := range ts {
		if t == nil {
			return nil, fmt.Errorf("tool %d: it is nil", i+1)
		}
		e, err := r.entry(t)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", e.spec.Name, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func (r *Registry) entry(t agent.Tool) (*entry, error) {
	if e, ok := t.(*entry); ok {
		t = e.inner // from another registry, whose limits do not apply here
	}
	e := &entry{r: r, inner: t, spec: t.Spec()}
	if !nameShape.MatchString(e.spec.Name) {
		return e, errName
	}
	if own, ok := t.(repairing); ok {
		e.own = own
		return e, nil
	}
	checker, err := argcheck.Compile(e.spec.Schema, argcheck.Config{QuietNull: true})
	if err != nil {
		return e, err
	}
	e.base = base{spec: e.spec, checker: checker}
	return e, nil
}

// Spec returns the spec that the tool had when it was added.
func (e *entry) Spec() agent.ToolSpec { return e.spec }

// Call runs the call through the registry. The error is always nil.
func (e *entry) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	return e.call(ctx, call), nil
}

// CallEffects implements [agent.Effecter].
func (e *entry) CallEffects(call agent.ToolCall) agent.Effects {
	effecter, ok := e.inner.(agent.Effecter)
	if !ok {
		return e.spec.Effects
	}
	call, ok = e.peek(call)
	if !ok {
		return e.spec.Effects
	}
	return effecter.CallEffects(call)
}

// Preparer returns the inner tool's, whose calls then do not run through the registry: they run
// through one elsewhere.
func (e *entry) Preparer() agent.Preparer {
	p, _ := e.inner.(agent.Preparer)
	return p
}

// DescribeCall implements [agent.Describer].
func (e *entry) DescribeCall(call agent.ToolCall) agent.CallDescription {
	if d, ok := e.inner.(agent.Describer); ok {
		if fixed, ok := e.peek(call); ok {
			return d.DescribeCall(fixed)
		}
	}
	return plainDescription(call)
}

// peek repairs the arguments of a call for a tool of another package; tools of this package do so
// themselves.
func (e *entry) peek(call agent.ToolCall) (agent.ToolCall, bool) {
	if e.own != nil {
		return call, true
	}
	call, _, err := e.base.repair(call)
	return call, err == nil
}

// call runs one call.
func (e *entry) call(ctx context.Context, call agent.ToolCall) *agent.ToolResult {
	fixed, notes, err := e.repair(call)
	if err != nil {
		res := agent.ErrorResult("%s", safeText(err.Error()))
		res.CallID = call.ID
		return res
	}
	res, err := e.guard(ctx, fixed)
	if err != nil {
		res = agent.ErrorResult("%s", err.Error())
	}
	return e.finish(ctx, call, res, notes)
}

func (e *entry) repair(call agent.ToolCall) (agent.ToolCall, []string, error) {
	if e.own != nil {
		return e.own.repair(call)
	}
	return e.base.repair(call)
}

func (e *entry) run(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	if e.own != nil {
		return e.own.callMended(ctx, call)
	}
	return e.inner.Call(ctx, call)
}

// finish makes a result safe to send to a model: never nil, with valid text, within its limit, with
// the notes on repairs and the call's id. The tool's own value is not modified.
func (e *entry) finish(ctx context.Context, call agent.ToolCall, res *agent.ToolResult, notes []string) *agent.ToolResult {
	out := agent.ToolResult{}
	if res != nil {
		out = *res
	}
	out.CallID = call.ID
	out.Parts = safeParts(out.Parts)
	if len(out.Parts) == 0 {
		out.Parts = []agent.Part{agent.Text{Text: "(no output)"}}
	}
	limit := e.r.cfg.MaxOutput
	if e.own != nil && e.own.outputLimit() != 0 {
		limit = e.own.outputLimit()
	}
	if limit > 0 {
		out.Parts = e.r.capParts(context.WithoutCancel(ctx), call, out.Parts, limit)
	}
	return noteResult(&out, notes)
}

var errNoResult = errors.New("the tool ended its goroutine without a result")
