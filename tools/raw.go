package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/agent"
)

// Handler runs a call whose arguments the tool's schema has accepted.
type Handler func(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error)

// NewRaw builds a tool from a spec and a handler, for arguments that are known only at run time,
// such as those of a tool on another machine. The arguments are repaired and validated against
// spec.Schema as in [New]; a nil schema accepts any JSON. Options with a parameter In do not apply.
func NewRaw(spec agent.ToolSpec, handler Handler, opts ...Option) (agent.Tool, error) {
	t, err := newRaw(spec, handler, opts)
	if err != nil {
		return nil, fmt.Errorf("tools: new %q: %w", spec.Name, err)
	}
	return t, nil
}

func newRaw(spec agent.ToolSpec, handler Handler, opts []Option) (*rawTool, error) {
	if handler == nil {
		return nil, errors.New("the handler is nil")
	}
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	if o.callEffects != nil || o.describe != nil || o.check != nil {
		return nil, errors.New("WithCallEffects, WithDescribe and WithCheck need a typed tool; use New")
	}
	if o.schema == nil {
		o.schema = spec.Schema
	}
	t := &rawTool{handler: handler}
	t.base, err = newBase(spec, o)
	return t, err
}

type rawTool struct {
	base
	handler Handler
}

// Call repairs and checks the arguments and runs the handler.
func (t *rawTool) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	call, notes, err := t.repair(call)
	if err != nil {
		return nil, err
	}
	res, err := t.callMended(ctx, call)
	if err != nil {
		return nil, noteError(err, notes)
	}
	return noteResult(res, notes), nil
}

func (t *rawTool) callMended(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	return t.handler(ctx, call)
}
