package jinja

// exec runs statements until one breaks or continues the enclosing loop.
func (r *run) exec(body []stmt, f *frame) (signal, error) {
	for _, s := range body {
		if r.fuel--; r.fuel < 0 {
			return sigNone, r.step(0)
		}
		if sig, err := s.exec(r, f); err != nil || sig != sigNone {
			return sig, err
		}
	}
	return sigNone, nil
}

func (s *textStmt) exec(r *run, _ *frame) (signal, error) { return sigNone, r.write(s.s) }

func (s *outputStmt) exec(r *run, f *frame) (signal, error) {
	v, err := s.x.eval(r, f)
	if err == nil {
		err = r.print(v)
	}
	if err != nil {
		return sigNone, at(s.line, err)
	}
	return sigNone, nil
}

// print writes a value in the form in which {{ }} shows it.
func (r *run) print(v Value) error {
	if s, ok := text(v); ok {
		return r.write(s)
	}
	s, err := str(v, r.opts.MaxOutput)
	if err != nil {
		return err
	}
	return r.write(s)
}

func (s *ifStmt) exec(r *run, f *frame) (signal, error) {
	for i := range s.arms {
		v, err := s.arms[i].cond.eval(r, f)
		if err != nil {
			return sigNone, at(s.arms[i].line, err)
		}
		if truth(v) {
			return r.exec(s.arms[i].body, f)
		}
	}
	return r.exec(s.no, f)
}

func (s *setStmt) exec(r *run, f *frame) (signal, error) {
	v, err := s.x.eval(r, f)
	if err == nil {
		err = s.target.assign(r, f, v)
	}
	if err != nil {
		return sigNone, at(s.line, err)
	}
	return sigNone, nil
}

// enter clears the variables of the scope.
func (s *scoped) enter(f *frame) { clear(f.slots[s.slots[0]:s.slots[1]]) }

// captured runs the body and filters its text.
func (s *scoped) captured(r *run, f *frame, filter expr, line int) (Value, error) {
	s.enter(f)
	out, err := r.capture(s.body, f)
	if err != nil {
		return nil, err
	}
	v := Value(Str(out))
	if filter != nil {
		if v, err = applyFilters(r, f, filter, v); err != nil {
			return nil, at(line, err)
		}
	}
	return v, nil
}

func (s *setBlock) exec(r *run, f *frame) (signal, error) {
	v, err := s.captured(r, f, s.filter, s.line)
	if err == nil {
		err = s.target.assign(r, f, v)
	}
	return sigNone, at(s.line, err)
}

func (s *filterBlock) exec(r *run, f *frame) (signal, error) {
	v, err := s.captured(r, f, s.filter, s.line)
	if err == nil {
		err = r.print(v)
	}
	return sigNone, at(s.line, err)
}

func (s *withStmt) exec(r *run, f *frame) (signal, error) {
	values := make([]Value, len(s.values))
	for i, x := range s.values {
		v, err := x.eval(r, f)
		if err != nil {
			return sigNone, at(s.line, err)
		}
		values[i] = v
	}
	s.enter(f)
	for i, t := range s.targets {
		if err := t.assign(r, f, values[i]); err != nil {
			return sigNone, at(s.line, err)
		}
	}
	return r.exec(s.body, f)
}

func (s *blockStmt) exec(r *run, f *frame) (signal, error) {
	s.enter(f)
	return r.exec(s.body, f)
}

func (s *jumpStmt) exec(*run, *frame) (signal, error) { return s.sig, nil }

func (s *macroStmt) exec(r *run, f *frame) (signal, error) {
	return sigNone, s.target.assign(r, f, &macro{def: s.def, env: f})
}

func (s *callBlock) exec(r *run, f *frame) (signal, error) {
	v, err := s.call.evalWith(r, f, &macro{def: s.def, env: f})
	if err == nil {
		err = r.print(v)
	}
	return sigNone, at(s.line, err)
}

// The generation tag marks the text that the model wrote, for training. It renders its body in a
// separate scope.
func (s *generationBlock) exec(r *run, f *frame) (signal, error) {
	v, err := r.callMacro(&macro{def: s.def, env: f}, arguments{})
	if err == nil {
		err = r.print(v)
	}
	return sigNone, at(s.line, err)
}

func (t *nameTarget) assign(_ *run, f *frame, v Value) error {
	f.slots[t.slot] = v
	return nil
}

func (t *tupleTarget) assign(r *run, f *frame, v Value) error {
	if _, ok := length(v); !ok {
		if _, ok := v.(*generator); !ok {
			return typeError("cannot unpack non-iterable %s object", v.typeName())
		}
	}
	items, err := r.items(v)
	if err != nil {
		return err
	}
	if len(items) < len(t.items) {
		return valueError("not enough values to unpack (expected %d, got %d)", len(t.items), len(items))
	}
	if len(items) > len(t.items) {
		return valueError("too many values to unpack (expected %d)", len(t.items))
	}
	for i, x := range t.items {
		if err := x.assign(r, f, items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *attrTarget) assign(r *run, f *frame, v Value) error {
	obj, err := t.ns.eval(r, f)
	if err != nil {
		return err
	}
	ns, ok := obj.(*namespace)
	if !ok {
		return &fault{"TemplateRuntimeError", "cannot assign attribute on non-namespace object"}
	}
	ns.attrs.Set(t.attr, v)
	return nil
}
