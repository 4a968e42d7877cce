package jinja

import (
	"slices"
	"strings"
)

// builtin is a function written in Go: a filter, a test, a method or a global function.
type builtin struct {
	name   string   // set when the tables are built
	params []string // in addition to the value on which a filter, test or method works; a trailing "=" marks an optional parameter
	rest   bool     // accepts more positional arguments
	kwargs bool     // accepts any keyword arguments
	mutate bool     // changes its value, which is refused unless Options.AllowMutation is set
	fn     func(r *run, c call) (Value, error)
}

// call is one call of a builtin. Its slices are valid only during the call.
type call struct {
	self Value   // the value before the |, the dot or the "is"
	args []Value // by parameter; nil if not given
	rest []Value
	kw   []kwarg
	name string // of the function, for messages
}

type kwarg struct {
	name string
	v    Value
}

// table maps names to filters, tests, methods or globals.
type table map[string]*builtin

// newTable returns the table with each builtin's name set.
func newTable(rows map[string]builtin) table {
	t := make(table, len(rows))
	for name, b := range rows {
		b.name = name
		t[name] = &b
	}
	return t
}

// params splits a signature such as "old new count=".
func params(signature string) []string { return strings.Fields(signature) }

// arguments holds the evaluated arguments of a call. The slice pos is on the run's stack.
type arguments struct {
	pos []Value
	kw  []kwarg
}

// evalArgs evaluates arguments onto the stack; the caller pops them with r.stack = r.stack[:base].
func (a *callArgs) evalArgs(r *run, f *frame) (arguments, error) {
	base := len(r.stack)
	for _, x := range a.pos {
		v, err := x.eval(r, f)
		if err != nil {
			return arguments{}, err
		}
		r.stack = append(r.stack, v)
	}
	var kw []kwarg
	for i, x := range a.named {
		v, err := x.eval(r, f)
		if err != nil {
			return arguments{}, err
		}
		kw = append(kw, kwarg{a.names[i], v})
	}
	if a.star != nil || a.starStar != nil {
		var err error
		if kw, err = a.evalStars(r, f, kw); err != nil {
			return arguments{}, err
		}
	}
	return arguments{slices.Clip(r.stack[base:]), kw}, nil
}

// evalStars adds *args to the stack and **kwargs to kw.
func (a *callArgs) evalStars(r *run, f *frame, kw []kwarg) ([]kwarg, error) {
	if a.star != nil {
		v, err := a.star.eval(r, f)
		if err != nil {
			return nil, err
		}
		items, err := r.items(v)
		if err != nil {
			return nil, typeError("argument after * must be an iterable, not %s", v.typeName())
		}
		r.stack = append(r.stack, items...)
	}
	if a.starStar != nil {
		v, err := a.starStar.eval(r, f)
		if err != nil {
			return nil, err
		}
		d, ok := v.(*Dict)
		if !ok {
			return nil, typeError("argument after ** must be a mapping, not %s", v.typeName())
		}
		for _, e := range d.entries {
			name, ok := text(e.key)
			if !ok {
				return nil, typeError("keywords must be strings")
			}
			if slices.ContainsFunc(kw, func(k kwarg) bool { return k.name == name }) {
				return nil, typeError("got multiple values for keyword argument %s", quoteRepr(name))
			}
			kw = append(kw, kwarg{name, e.value})
		}
	}
	return kw, nil
}

// invoke binds arguments to the parameters and calls the function. The bound values are on the
// stack.
func (b *builtin) invoke(r *run, self Value, a arguments) (Value, error) {
	cost := 1
	if s, ok := text(self); ok {
		cost += len(s) / 64
	}
	if err := r.step(cost); err != nil {
		return nil, err
	}
	if b.mutate && !r.opts.AllowMutation {
		return nil, &fault{"SecurityError", "access to attribute " + quoteRepr(b.name) + " of " + quoteRepr(self.typeName()) + " object is unsafe."}
	}
	c := call{self: self, name: b.name, kw: a.kw, args: a.pos}
	if len(a.pos) > len(b.params) {
		if !b.rest {
			return nil, typeError("%s() takes at most %d arguments (%d given)", b.name, len(b.params), len(a.pos))
		}
		c.args, c.rest = a.pos[:len(b.params)], a.pos[len(b.params):]
	}
	base := len(r.stack)
	if len(c.args) < len(b.params) {
		r.stack = append(r.stack, c.args...)
		for range len(b.params) - len(c.args) {
			r.stack = append(r.stack, nil)
		}
		c.args = r.stack[base:]
	}
	defer func() { r.stack = r.stack[:base] }()
	if err := b.bind(&c, len(a.pos)); err != nil {
		return nil, err
	}
	return b.fn(r, c)
}

// bind moves keyword arguments to their positions and checks that no required argument is missing.
func (b *builtin) bind(c *call, given int) error {
	if !b.kwargs {
		for _, k := range c.kw {
			i := slices.IndexFunc(b.params, func(p string) bool { return strings.TrimSuffix(p, "=") == k.name })
			if i < 0 {
				return typeError("%s() got an unexpected keyword argument %s", b.name, quoteRepr(k.name))
			}
			if c.args[i] != nil {
				return typeError("%s() got multiple values for argument %s", b.name, quoteRepr(k.name))
			}
			c.args[i] = k.v
		}
		c.kw = nil
	}
	for i := given; i < len(b.params); i++ {
		if c.args[i] == nil && !strings.HasSuffix(b.params[i], "=") {
			return typeError("%s() missing required argument %s", b.name, quoteRepr(b.params[i]))
		}
	}
	return nil
}

// boundMethod is a method taken from a value without calling it.
type boundMethod struct {
	self Value
	fn   *builtin
}

func (*boundMethod) typeName() string { return "builtin_function_or_method" }

func (m *boundMethod) String() string {
	return "<built-in method " + m.fn.name + " of " + m.self.typeName() + " object>"
}

// A function can be used as a value: a global function.
func (*builtin) typeName() string { return "function" }

func (b *builtin) String() string { return "<function " + b.name + ">" }

// callValue calls any callable value.
func (r *run) callValue(fn Value, a arguments) (Value, error) {
	switch fn := fn.(type) {
	case *macro:
		return r.callMacro(fn, a)
	case *builtin:
		return fn.invoke(r, nil, a)
	case *boundMethod:
		return fn.fn.invoke(r, fn.self, a)
	case *undefined:
		return nil, fn.err()
	case *loopState:
		return r.recurse(fn, a)
	case *joiner:
		return fn.call(), nil
	}
	return nil, typeError("%s object is not callable", quoteRepr(fn.typeName()))
}

// Typed access to bound arguments.

// arg returns the i-th argument or a default.
func (c *call) arg(i int, def Value) Value {
	if c.args[i] == nil {
		return def
	}
	return c.args[i]
}

// intArg returns an integer argument; None counts as absent.
func (c *call) intArg(i int, def int) (int, error) {
	v := c.args[i]
	if v == nil || v == Value(None{}) {
		return def, nil
	}
	n, ok := intValue(v)
	if !ok {
		if u, ok := v.(*undefined); ok {
			return 0, u.err()
		}
		return 0, typeError("%s() argument must be an integer, not %s", c.name, quoteRepr(v.typeName()))
	}
	return int(n), nil
}

// strArg returns a text argument.
func (c *call) strArg(i int, def string) (string, error) {
	if c.args[i] == nil {
		return def, nil
	}
	s, ok := text(c.args[i])
	if !ok {
		return "", typeError("%s() argument must be str, not %s", c.name, c.args[i].typeName())
	}
	return s, nil
}

func (c *call) boolArg(i int, def bool) bool {
	if c.args[i] == nil {
		return def
	}
	return truth(c.args[i])
}
