package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/toolschema"
	"github.com/luthier-dev/luthier/tools/internal/argcheck"
)

// New builds a tool from a Go function.
//
// In is a struct (or a pointer to one) with a field for each argument. Its schema follows
// encoding/json: names and omitempty come from the json tag, embedded structs are flattened,
// unexported and "-" fields are left out. A field that is a pointer, has omitempty or omitzero, or
// has a default is optional; every other argument is required. The tag jsonschema accepts
// description, enum, default, minimum, maximum, minLength, maxLength, pattern, format, minItems,
// maxItems and the other keywords of github.com/invopop/jsonschema; a description may contain
// commas. Nested structs, slices, maps with string keys, []byte (base64), [time.Time] (RFC 3339),
// [time.Duration] (text such as "30s"), [json.RawMessage] and any (any JSON) may be fields; a type
// that contains itself may not.
//
// Out becomes the result that the model reads: a string, []byte or [json.RawMessage] as it is; an
// [agent.ToolResult], a pointer to one, an [agent.Part] or a slice of them unchanged; struct{} and
// nil as "Done."; anything else as compact JSON, in which a [time.Duration] is text such as
// "1m30s", as in the arguments. An error of fn is shown to the model as a failed result, so it
// should say what to do next.
//
// New does all the work that does not depend on a call, and reports every mistake in In, the tags
// and the options. The tool may be called concurrently if fn may.
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
	tree, err := toolschema.FromType(reflect.TypeFor[In]())
	if err != nil {
		return nil, err
	}
	t.decoder = toolschema.NewDecoder(reflect.TypeFor[In]())
	if o.schema == nil {
		o.schema = tree.JSON()
	}
	if t.base, err = newBase(agent.ToolSpec{Name: name, Description: description}, o); err != nil {
		return nil, err
	}
	for i, ex := range o.examples {
		if _, err := t.decode(ex); err != nil {
			return nil, fmt.Errorf("example %d: %w", i+1, err)
		}
	}
	return t, t.checkDefaults()
}

// checkDefaults decodes the defaults, so that an unsuitable one is found now and not during a call.
func (t *typedTool[In, Out]) checkDefaults() error {
	faults := t.checker.DefaultFaults()
	if len(faults) > 0 {
		return fmt.Errorf("the default of %s", faults[0])
	}
	return nil
}

// base holds what every tool of this package has: a spec, and a checker for its arguments.
type base struct {
	spec      agent.ToolSpec
	checker   *argcheck.Checker
	maxOutput int
}

var nameShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var errName = errors.New("a name is 1 to 64 letters, digits, '_' or '-'")

func newBase(spec agent.ToolSpec, o *options) (base, error) {
	if !nameShape.MatchString(spec.Name) {
		return base{}, errName
	}
	spec.Schema = o.schema
	if o.effects != nil {
		spec.Effects = *o.effects
	}
	if o.timeout != nil {
		spec.Timeout = *o.timeout
	}
	checker, err := argcheck.Compile(o.schema, argcheck.Config{
		Examples: o.examples, FillDefaults: true, QuietNull: true, MaxBytes: o.maxArgs, MaxRisk: o.maxRepair,
	})
	if err != nil {
		return base{}, err
	}
	for i, ex := range o.examples {
		if err := checker.Validate(ex); err != nil {
			return base{}, fmt.Errorf("example %d: %w", i+1, err)
		}
	}
	return base{spec: spec, checker: checker, maxOutput: o.maxOutput}, nil
}

// Spec returns the description of the tool for the model and the loop.
func (b *base) Spec() agent.ToolSpec { return b.spec }

// outputLimit returns the limit of [WithMaxOutput].
func (b *base) outputLimit() int { return b.maxOutput }

// repair returns call with arguments that the schema accepts, and notes on the changes.
func (b *base) repair(call agent.ToolCall) (agent.ToolCall, []string, error) {
	args, notes, err := b.checker.Repair(call.Args)
	if err != nil {
		return call, nil, argsError(b.spec.Name, err)
	}
	call.Args = args
	return call, notes, nil
}

type typedTool[In, Out any] struct {
	base
	decoder     *toolschema.Decoder
	fn          func(ctx context.Context, in In) (Out, error)
	callEffects func(In) agent.Effects
	describe    func(In) agent.CallDescription
	check       func(In) error
}

// Call repairs and checks the arguments, decodes them and runs the function.
func (t *typedTool[In, Out]) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
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

// callMended runs the function on arguments that the schema accepts.
func (t *typedTool[In, Out]) callMended(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	in, err := t.decode(call.Args)
	if err != nil {
		return nil, &ArgsError{Tool: t.spec.Name, Faults: []string{err.Error()}, text: err.Error()}
	}
	if t.check != nil {
		if err := t.check(in); err != nil {
			return nil, &ArgsError{Tool: t.spec.Name, Faults: []string{err.Error()}, text: err.Error(), cause: err}
		}
	}
	out, err := t.fn(ctx, in)
	if err != nil {
		return failed(out, err)
	}
	return toResult(out)
}

func (t *typedTool[In, Out]) decode(args json.RawMessage) (in In, err error) {
	err = t.decoder.Decode(args, &in)
	return in, err
}

// CallEffects implements [agent.Effecter]. It returns the effects of this call, or those of any
// call if this call's effects cannot be determined.
func (t *typedTool[In, Out]) CallEffects(call agent.ToolCall) agent.Effects {
	if t.callEffects == nil {
		return t.spec.Effects
	}
	in, ok := t.peek(call)
	if !ok {
		return t.spec.Effects
	}
	return t.callEffects(in)
}

// DescribeCall implements [agent.Describer].
func (t *typedTool[In, Out]) DescribeCall(call agent.ToolCall) agent.CallDescription {
	if t.describe != nil {
		if in, ok := t.peek(call); ok {
			return t.describe(in)
		}
	}
	return plainDescription(call)
}

// peek decodes the arguments of a call that has not run yet.
func (t *typedTool[In, Out]) peek(call agent.ToolCall) (in In, ok bool) {
	call, _, err := t.repair(call)
	if err != nil {
		return in, false
	}
	in, err = t.decode(call.Args)
	return in, err == nil
}

// plainDescription describes a call by its name and arguments.
func plainDescription(call agent.ToolCall) agent.CallDescription {
	args := string(call.Args)
	if len(args) > 200 {
		args = args[:200] + "…"
	}
	return agent.CallDescription{Title: call.Name + " " + safeText(args)}
}
