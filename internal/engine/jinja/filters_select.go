package jinja

import "slices"

// The filters that apply another filter or a test to every item. They are evaluated lazily, so they
// copy their arguments.

func filterMap(r *run, c call) (Value, error) {
	self := c.self
	if len(c.rest) == 0 {
		g, err := mapGetter(c.kw)
		if err != nil {
			return nil, err
		}
		return mapLazily(r, self, g.get), nil
	}
	fn, err := namedBuiltin(filterTable, "filter", c.rest[0])
	if err != nil {
		return nil, err
	}
	a := arguments{slices.Clone(c.rest[1:]), slices.Clone(c.kw)}
	return mapLazily(r, self, func(v Value) (Value, error) { return fn.invoke(r, v, a) }), nil
}

// mapGetter returns the getter for map(attribute=…, default=…).
func mapGetter(kw []kwarg) (getter, error) {
	var g getter
	var def Value
	found := false
	for _, k := range kw {
		switch k.name {
		case "attribute":
			g, found = newGetter(k.v), true
		case "default":
			def = k.v
		default:
			return g, &fault{"FilterArgumentError", "Unexpected keyword argument " + quoteRepr(k.name)}
		}
	}
	if !found {
		return g, &fault{"FilterArgumentError", "map requires a filter argument"}
	}
	if def != Value(None{}) {
		g.def = def
	}
	return g, nil
}

func mapLazily(r *run, v Value, f func(Value) (Value, error)) Value {
	return lazy(func() (func() (Value, bool, error), error) {
		if !truth(v) { // for any false value, Jinja2 does not even check whether it is iterable
			return over(nil), nil
		}
		next, err := r.iterate(v)
		return func() (Value, bool, error) {
			v, ok, err := next()
			if err != nil || !ok {
				return nil, false, err
			}
			v, err = f(v)
			return v, err == nil, err
		}, err
	})
}

// namedBuiltin looks up the filter or test whose name a template passes as a string.
func namedBuiltin(t table, what string, name Value) (*builtin, error) {
	s, _ := text(name)
	if b := t[s]; b != nil {
		return b, nil
	}
	return nil, &fault{"TemplateRuntimeError", "No " + what + " named " + repr(name) + "."}
}

// selector makes the filters select, reject, selectattr and rejectattr.
func selector(want, attr bool) builtin {
	return builtin{rest: true, kwargs: true, fn: func(r *run, c call) (Value, error) {
		rest := slices.Clone(c.rest)
		var g getter
		if attr {
			if len(rest) == 0 {
				return nil, &fault{"FilterArgumentError", "Missing parameter for attribute name"}
			}
			g, rest = newGetter(rest[0]), rest[1:]
		}
		test := func(v Value) (bool, error) { return truth(v), nil }
		if len(rest) > 0 {
			fn, err := namedBuiltin(testTable, "test", rest[0])
			if err != nil {
				return nil, err
			}
			a := arguments{rest[1:], slices.Clone(c.kw)}
			test = func(v Value) (bool, error) {
				v, err := fn.invoke(r, v, a)
				return err == nil && truth(v), err
			}
		}
		self := c.self
		return lazy(func() (func() (Value, bool, error), error) {
			if !truth(self) {
				return over(nil), nil
			}
			next, err := r.iterate(self)
			return keep(r, next, func(v Value) (bool, error) {
				v, err := g.get(v)
				if err != nil {
					return false, err
				}
				ok, err := test(v)
				return err == nil && ok == want, err
			}), err
		}), nil
	}}
}
