package jinja

func (x *constExpr) eval(*run, *frame) (Value, error) { return x.v, nil }

func (x *nameExpr) eval(r *run, f *frame) (Value, error) {
	for _, ref := range x.refs {
		g := f
		for range ref.up {
			g = g.outer
		}
		if v := g.slots[ref.slot]; v != nil {
			return v, nil
		}
	}
	return r.lookup(x.vars), nil
}

func evalAll(r *run, f *frame, xs []expr) ([]Value, error) {
	if err := r.step(len(xs)); err != nil {
		return nil, err
	}
	items := make([]Value, len(xs))
	for i, x := range xs {
		v, err := x.eval(r, f)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

func (x *listExpr) eval(r *run, f *frame) (Value, error) {
	items, err := evalAll(r, f, x.items)
	return &List{items}, err
}

func (x *tupleExpr) eval(r *run, f *frame) (Value, error) {
	items, err := evalAll(r, f, x.items)
	return &tuple{items: items}, err
}

func (x *dictExpr) eval(r *run, f *frame) (Value, error) {
	if err := r.step(len(x.keys)); err != nil {
		return nil, err
	}
	d := NewDict()
	for i := range x.keys {
		k, err := x.keys[i].eval(r, f)
		if err != nil {
			return nil, err
		}
		v, err := x.values[i].eval(r, f)
		if err != nil {
			return nil, err
		}
		if err := d.setItem(k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (x *attrExpr) eval(r *run, f *frame) (Value, error) {
	obj, err := x.obj.eval(r, f)
	if err != nil {
		return nil, err
	}
	return getAttr(obj, x.name, x.key)
}

func (x *itemExpr) eval(r *run, f *frame) (Value, error) {
	obj, err := x.obj.eval(r, f)
	if err != nil {
		return nil, err
	}
	index, err := x.index.eval(r, f)
	if err != nil {
		return nil, err
	}
	if s, ok := obj.(Str); ok {
		if err := r.step(len(s) / 64); err != nil {
			return nil, err
		}
	}
	return getItem(obj, index)
}

func (x *sliceExpr) eval(r *run, f *frame) (Value, error) {
	obj, err := x.obj.eval(r, f)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i, b := range [3]expr{x.from, x.to, x.step} {
		if b == nil {
			continue
		}
		if bounds[i], err = b.eval(r, f); err != nil {
			return nil, err
		}
	}
	return r.slice(obj, bounds)
}

func (x *binaryExpr) eval(r *run, f *frame) (Value, error) {
	a, err := x.l.eval(r, f)
	if err != nil {
		return nil, err
	}
	b, err := x.r.eval(r, f)
	if err != nil {
		return nil, err
	}
	return r.binary(x.op, a, b)
}

func (x *compareExpr) eval(r *run, f *frame) (Value, error) {
	a, err := x.first.eval(r, f)
	if err != nil {
		return nil, err
	}
	for i, op := range x.ops {
		b, err := x.rest[i].eval(r, f)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(op, a, b)
		if err != nil || !ok {
			return Bool(false), err
		}
		a = b
	}
	return Bool(true), nil
}

func (x *concatExpr) eval(r *run, f *frame) (Value, error) {
	var b []byte
	for _, part := range x.parts {
		v, err := part.eval(r, f)
		if err != nil {
			return nil, err
		}
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		b = append(b, s...)
		if err := r.grow(len(b)); err != nil {
			return nil, err
		}
	}
	return Str(b), nil
}

func (x *andExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.l.eval(r, f)
	if err != nil || !truth(v) {
		return v, err
	}
	return x.r.eval(r, f)
}

func (x *orExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.l.eval(r, f)
	if err != nil || truth(v) {
		return v, err
	}
	return x.r.eval(r, f)
}

func (x *notExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.x.eval(r, f)
	if err != nil {
		return nil, err
	}
	return Bool(!truth(v)), nil
}

func (x *negExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.x.eval(r, f)
	if err != nil {
		return nil, err
	}
	return negate(v)
}

func (x *posExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.x.eval(r, f)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case Bool:
		return boolInt(v), nil
	case *undefined:
		return nil, v.err()
	}
	if !isNumber(v) {
		return nil, typeError("bad operand type for unary +: %s", quoteRepr(v.typeName()))
	}
	return v, nil
}

func (x *condExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.cond.eval(r, f)
	if err != nil {
		return nil, err
	}
	if truth(v) {
		return x.yes.eval(r, f)
	}
	if x.no != nil {
		return x.no.eval(r, f)
	}
	return &undefined{hint: "the inline if-expression evaluated to false and no else section was defined."}, nil
}

func (x *callExpr) eval(r *run, f *frame) (Value, error) { return x.evalWith(r, f, nil) }

// evalWith makes the call, with the body of a call block as the argument caller, unless that is
// nil.
func (x *callExpr) evalWith(r *run, f *frame, caller *macro) (Value, error) {
	fn, self, err := x.callee(r, f)
	if err != nil {
		return nil, err
	}
	base := len(r.stack)
	a, err := x.args.evalArgs(r, f)
	if err != nil {
		return nil, err
	}
	if caller != nil {
		a.kw = append(a.kw, kwarg{"caller", caller})
	}
	var v Value
	if self != nil {
		v, err = fn.(*builtin).invoke(r, self, a)
	} else {
		v, err = r.callValue(fn, a)
	}
	r.stack = r.stack[:base]
	return v, err
}

// callee evaluates the function to be called. A method is not bound first; it is returned with its
// object.
func (x *callExpr) callee(r *run, f *frame) (fn, self Value, err error) {
	attr, ok := x.fn.(*attrExpr)
	if !ok {
		fn, err = x.fn.eval(r, f)
		return fn, nil, err
	}
	obj, err := attr.obj.eval(r, f)
	if err != nil {
		return nil, nil, err
	}
	if m := method(obj, attr.name); m != nil {
		return m, obj, nil
	}
	fn, err = getAttr(obj, attr.name, attr.key)
	return fn, nil, err
}

func (x *filterExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.x.eval(r, f)
	if err != nil {
		return nil, err
	}
	return x.apply(r, f, v)
}

func (x *filterExpr) apply(r *run, f *frame, v Value) (Value, error) {
	if x.fn == nil {
		return nil, &fault{"TemplateRuntimeError", "No filter named " + quoteRepr(x.name) + " found."}
	}
	base := len(r.stack)
	a, err := x.args.evalArgs(r, f)
	if err != nil {
		return nil, err
	}
	v, err = x.fn.invoke(r, v, a)
	r.stack = r.stack[:base]
	return v, err
}

// applyFilters applies a chain of filters to v; the innermost filter node has no operand, since v
// is its operand.
func applyFilters(r *run, f *frame, x expr, v Value) (Value, error) {
	filter := x.(*filterExpr)
	if filter.x != nil {
		var err error
		if v, err = applyFilters(r, f, filter.x, v); err != nil {
			return nil, err
		}
	}
	return filter.apply(r, f, v)
}

func (x *testExpr) eval(r *run, f *frame) (Value, error) {
	v, err := x.x.eval(r, f)
	if err != nil {
		return nil, err
	}
	if x.fn == nil {
		return nil, &fault{"TemplateRuntimeError", "No test named " + quoteRepr(x.name) + " found."}
	}
	base := len(r.stack)
	a, err := x.args.evalArgs(r, f)
	if err != nil {
		return nil, err
	}
	v, err = x.fn.invoke(r, v, a)
	r.stack = r.stack[:base]
	return v, err
}
