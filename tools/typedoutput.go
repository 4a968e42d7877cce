package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
	"github.com/luthier-dev/luthier/internal/toolschema"
	"github.com/luthier-dev/luthier/tools/internal/argcheck"
)

// TypedOutput makes the final answer of a run a Go value. Set its Spec as Config.Output, and pass
// the result of the run to Value. It is safe for concurrent use.
type TypedOutput[T any] struct {
	spec    agent.OutputSchema
	checker *argcheck.Checker
	decoder *toolschema.Decoder
	check   func(T) error
}

// Output returns the output for answers of type T, a struct or a pointer to one. Its schema follows
// the fields and tags of T in the way that [New] describes for arguments.
//
// An answer is read in the way of arguments: text around the JSON is removed, and what has a single
// interpretation is repaired. What does not fit goes back to the model in words, and it is asked
// again; see [agent.OutputSchema]. Members that the schema does not know are a fault, other than in
// arguments.
//
// The options may be [WithSchema], with which T may be any type; [WithCheck] over T;
// [WithExamples]; [WithRepair] and [WithMaxArgs]. Output reports every mistake in T, the tags
// and the options.
func Output[T any](opts ...Option) (*TypedOutput[T], error) {
	t := reflect.TypeFor[T]()
	out, err := newOutput[T](t, opts)
	if err != nil {
		return nil, fmt.Errorf("tools: output %v: %w", t, err)
	}
	return out, nil
}

func newOutput[T any](t reflect.Type, opts []Option) (*TypedOutput[T], error) {
	o, err := collect(opts)
	if err != nil {
		return nil, err
	}
	if o.effects != nil || o.callEffects != nil || o.describe != nil || o.timeout != nil || o.maxOutput != 0 {
		return nil, errors.New("an output takes only WithSchema, WithCheck, WithExamples, WithRepair and WithMaxArgs")
	}
	out := &TypedOutput[T]{decoder: toolschema.NewDecoder(t)}
	if out.check, err = typedHook[func(T) error]("WithCheck", o.check); err != nil {
		return nil, err
	}
	if o.schema == nil {
		if o.schema, err = schemaOf(t); err != nil {
			return nil, err
		}
	}
	out.checker, err = argcheck.Compile(o.schema, argcheck.Config{
		Examples: o.examples, FillDefaults: true, MaxBytes: o.maxArgs, MaxRisk: o.maxRepair, Answer: true,
	})
	if err != nil {
		return nil, err
	}
	if faults := out.checker.DefaultFaults(); len(faults) > 0 {
		return nil, fmt.Errorf("the default of %s", faults[0])
	}
	for i, ex := range o.examples {
		if _, err := out.accept(ex); err != nil {
			return nil, fmt.Errorf("example %d: %w", i+1, err)
		}
	}
	out.spec = agent.OutputSchema{Name: outputName(t), Schema: o.schema, Check: out.read}
	return out, nil
}

func schemaOf(t reflect.Type) (json.RawMessage, error) {
	for e := t; ; e = e.Elem() {
		if e.Kind() == reflect.Pointer {
			continue
		}
		if e.Kind() != reflect.Struct {
			return nil, fmt.Errorf("providers want an object, and this is no struct; put it into a struct, such as struct { Items %v `json:\"items\"` }, or give a schema with WithSchema", t)
		}
		tree, err := toolschema.FromType(t)
		if err != nil {
			return nil, err
		}
		return tree.JSON(), nil
	}
}

// outputName returns the name of a type in the form of a tool's name.
func outputName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var b strings.Builder
	for i, r := range t.Name() {
		switch {
		case r == '[': // the arguments of a generic type
			return b.String()
		case r > unicode.MaxASCII:
			return "answer"
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(t.Name()[i-1])):
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if b.Len() == 0 || b.Len() > 64 {
		return "answer"
	}
	return b.String()
}

// Spec returns the schema and the check, for agent.Config. Its name is that of T in lower case; the
// caller may change it.
func (o *TypedOutput[T]) Spec() *agent.OutputSchema {
	spec := o.spec
	return &spec
}

// Value returns the answer of a run that had the Spec of o as its Output. If the run ended without
// an answer that fits, the error says why.
func (o *TypedOutput[T]) Value(res *agent.Result) (T, error) {
	var none T
	switch {
	case res == nil:
		return none, errors.New("tools: output: there is no result")
	case res.Output == nil && res.Err != nil:
		return none, fmt.Errorf("tools: output: the run has no answer of this form: %w", res.Err)
	case res.Output == nil:
		return none, fmt.Errorf("tools: output: the run has no answer of this form: it stopped with %q (%s)", res.Stop, res.Detail)
	}
	return o.Parse(string(res.Output))
}

// Parse reads an answer that does not come from a run, such as that of [agent.Generate]. The error
// says in words for the model what does not fit.
func (o *TypedOutput[T]) Parse(answer string) (v T, err error) {
	text, err := o.read(answer)
	if err != nil {
		return v, fmt.Errorf("tools: output: %w", err)
	}
	err = o.decoder.Decode(text, &v)
	return v, err
}

// read returns the JSON in an answer.
func (o *TypedOutput[T]) read(answer string) (json.RawMessage, error) {
	text := json.RawMessage(strings.TrimSpace(answer))
	out, fault := o.accept(text)
	if fault == nil || json.Valid(text) {
		return out, fault
	}
	if embedded, err := jsonrepair.Answer(answer, o.accept); err == nil {
		return embedded, nil
	}
	return nil, fault
}

// accept returns text in the form that the schema, T and the host's check accept.
func (o *TypedOutput[T]) accept(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, errors.New("the answer is empty")
	}
	out, _, err := o.checker.Repair(text)
	if err != nil {
		return nil, err
	}
	var v T
	if err := o.decoder.Decode(out, &v); err != nil {
		return nil, err
	}
	if o.check != nil {
		if err := o.check(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
