package jinja

import "slices"

// macro is a macro, or the body of a call block, with the frame in which it was defined.
type macro struct {
	def *macroDef
	env *frame
}

func (*macro) typeName() string { return "Macro" }

func (m *macro) String() string { return "<Macro " + quoteRepr(m.def.name) + ">" }

// attr returns an attribute of a macro, or nil.
func (m *macro) attr(name string) Value {
	switch name {
	case "name":
		return Str(m.def.name)
	case "arguments":
		t := &tuple{}
		for _, p := range m.def.params {
			t.items = append(t.items, Str(p))
		}
		return t
	case "catch_kwargs":
		return Bool(m.def.kwargs >= 0)
	case "catch_varargs":
		return Bool(m.def.varargs >= 0)
	case "caller":
		return Bool(m.def.caller >= 0 || slices.Contains(m.def.params, "caller"))
	}
	return nil
}

// macroSteps is the number of steps of a macro's call: it takes as long as that many statements.
const macroSteps = 8

// push counts the entry into a macro. Its counterpart pop counts the exit.
func (r *run) push() error {
	if r.depth++; r.depth > maxDepth {
		r.depth--
		return &fault{"RecursionError", "maximum recursion depth exceeded: macros call each other more than 250 levels deep"}
	}
	return r.step(macroSteps)
}

func (r *run) pop() { r.depth-- }

// callMacro binds the arguments and returns the text of the body.
func (r *run) callMacro(m *macro, a arguments) (Value, error) {
	if err := r.push(); err != nil {
		return nil, err
	}
	defer r.pop()
	f := &frame{slots: make([]Value, m.def.size), outer: m.env}
	if err := m.bind(r, f, a); err != nil {
		return nil, err
	}
	s, err := r.capture(m.def.body, f)
	return Str(s), err
}

// bind sets the parameters in the frame.
func (m *macro) bind(r *run, f *frame, a arguments) error {
	d := m.def
	n := min(len(a.pos), len(d.params))
	for i, v := range a.pos[:n] {
		f.slots[d.paramAt[i]] = v
	}
	kw := slices.Clone(a.kw)
	take := func(name string) Value {
		for i, k := range kw {
			if k.name == name {
				kw = slices.Delete(kw, i, i+1)
				return k.v
			}
		}
		return nil
	}
	for i := n; i < len(d.params); i++ {
		f.slots[d.paramAt[i]] = take(d.params[i])
	}
	if d.caller >= 0 {
		if f.slots[d.caller] = take("caller"); f.slots[d.caller] == nil {
			f.slots[d.caller] = &undefined{hint: "No caller defined", name: Str("caller")}
		}
	}
	if err := m.bindRest(f, a.pos[n:], kw); err != nil {
		return err
	}
	for i := n; i < len(d.params); i++ {
		if f.slots[d.paramAt[i]] != nil {
			continue
		}
		k := i - (len(d.params) - len(d.defaults))
		if k < 0 {
			f.slots[d.paramAt[i]] = &undefined{hint: "parameter " + quoteRepr(d.params[i]) + " was not provided", name: Str(d.params[i])}
			continue
		}
		v, err := d.defaults[k].eval(r, f)
		if err != nil {
			return err
		}
		f.slots[d.paramAt[i]] = v
	}
	return nil
}

// bindRest sets varargs and kwargs, or refuses arguments that the macro does not accept.
func (m *macro) bindRest(f *frame, pos []Value, kw []kwarg) error {
	d := m.def
	if d.kwargs >= 0 {
		all := NewDict()
		for _, k := range kw {
			all.Set(k.name, k.v)
		}
		f.slots[d.kwargs] = all
	} else if len(kw) > 0 {
		if kw[0].name == "caller" && slices.Contains(d.params, "caller") {
			return typeError("macro %s was invoked with two values for the special caller argument. This is most likely a bug.", quoteRepr(d.name))
		}
		return typeError("macro %s takes no keyword argument %s", quoteRepr(d.name), quoteRepr(kw[0].name))
	}
	if d.varargs >= 0 {
		f.slots[d.varargs] = &tuple{items: slices.Clone(pos)}
	} else if len(pos) > 0 {
		return typeError("macro %s takes not more than %d argument(s)", quoteRepr(d.name), len(d.params))
	}
	return nil
}
