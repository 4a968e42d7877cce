package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/argcheck"
	"github.com/luthier-dev/luthier/internal/toolschema"
)

var nameShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// New builds a tool from a Go function.
func New[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) (agent.Tool, error) {
	t, err := newTyped(name, description, fn, opts)
	if err != nil {
		return nil, fmt.Errorf("tools: new %q: %w", name, err)
	}
	return t, nil
}

func newTyped[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts []Option) (*typedTool[In, Out], error) {
	if fn == nil {
		return nil, errors.New("the function is nil")
	}
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	t := &typedTool[In, Out]{fn: fn}
	if t.callEffects, err = typedHook[func(In) agent.Effects]("WithCallEffects", o.callEffects); err != nil {
		return nil, err
	}
	if t.describe, err = typedHook[func(In) agent.CallDescription]("WithDescribe", o.describe); err != nil {
		return nil, err
	}
	if t.check, err = typedHook[func(In) error]("WithCheck", o.check); err != nil {
		return nil, err
	}
	if o.schema == nil {
		tree, err := toolschema.FromType(reflect.TypeFor[In]())
		if err != nil {
			return nil, err
		}
		o.schema = tree.JSON()
	}
	if t.base, err = newBase(name, description, o); err != nil {
		return nil, err
	}
	return t, nil
}

func collect(opts []Option) (*options, error) {
	o := &options{}
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// base is what every tool of this package has: a spec and a checker of its arguments.
type base struct {
	spec      agent.ToolSpec
	checker   *argcheck.Checker
	maxOutput int
}

func newBase(name, description string, o *options) (base, error) {
	if !nameShape.MatchString(name) {
		return base{}, errors.New("a name is 1 to 64 letters, digits, '_' or '-'")
	}
	checker, err := argcheck.Compile(o.schema, o.examples...)
	if err != nil {
		return base{}, err
	}
	return base{
		spec: agent.ToolSpec{
			Name: name, Description: description, Schema: o.schema, Effects: o.effects, Timeout: o.timeout,
		},
		checker:   checker,
		maxOutput: o.maxOutput,
	}, nil
}

// Spec returns the tool's description for the model.
func (b *base) Spec() agent.ToolSpec { return b.spec }

type typedTool[In, Out any] struct {
	base
	fn          func(ctx context.Context, in In) (Out, error)
	callEffects func(In) agent.Effects
	describe    func(In) agent.CallDescription
	check       func(In) error
}

// Call mends and checks the arguments, decodes them and runs the function.
func (t *typedTool[In, Out]) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	args, notes, err := t.checker.Mend(call.Args)
	if err != nil {
		return nil, fmt.Errorf("%s was not run: %w", t.spec.Name, err)
	}
	res, err := t.run(ctx, args)
	if err != nil {
		return nil, err
	}
	_ = notes
	return res, nil
}

func (t *typedTool[In, Out]) run(ctx context.Context, args json.RawMessage) (*agent.ToolResult, error) {
	var in In
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	out, err := t.fn(ctx, in)
	if err != nil {
		return nil, err
	}
	return toResult(out)
}

// CallEffects implements [agent.Effecter].
func (t *typedTool[In, Out]) CallEffects(call agent.ToolCall) agent.Effects {
	if t.callEffects == nil {
		return t.spec.Effects
	}
	var in In
	if args, _, err := t.checker.Mend(call.Args); err != nil || json.Unmarshal(args, &in) != nil {
		return t.spec.Effects
	}
	return t.callEffects(in)
}

// DescribeCall implements [agent.Describer].
func (t *typedTool[In, Out]) DescribeCall(call agent.ToolCall) agent.CallDescription {
	var in In
	if t.describe == nil {
		return agent.CallDescription{Title: t.spec.Name}
	}
	if args, _, err := t.checker.Mend(call.Args); err != nil || json.Unmarshal(args, &in) != nil {
		return agent.CallDescription{Title: t.spec.Name}
	}
	return t.describe(in)
}
