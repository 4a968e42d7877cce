package jinja

// loopState is the loop variable.
type loopState struct {
	items   []Value
	i       int // index of the current item
	depth   int
	changed []Value // the last arguments of loop.changed; nil before the first call
	// Only for a recursive loop:
	stmt *forStmt
	env  *frame
}

func (*loopState) typeName() string { return "LoopContext" }

func (s *forStmt) exec(r *run, f *frame) (signal, error) {
	v, err := s.iter.eval(r, f)
	if err != nil {
		return sigNone, at(s.line, err)
	}
	if s.recursive {
		err = s.runFunc(r, f, v, 0)
	} else {
		err = s.run(r, f, f, v, &loopState{})
	}
	return sigNone, err
}

// runFunc runs a recursive loop in a separate frame.
func (s *forStmt) runFunc(r *run, env *frame, v Value, depth int) error {
	inner := &frame{slots: make([]Value, s.size), outer: env}
	return s.run(r, inner, env, v, &loopState{depth: depth, stmt: s, env: env})
}

// run loops over v with the body's variables in the frame f; the else branch runs in env.
func (s *forStmt) run(r *run, f, env *frame, v Value, loop *loopState) error {
	items, err := r.items(v)
	if err != nil {
		return at(s.line, err)
	}
	if s.filter != nil {
		if items, err = s.filtered(r, f, items); err != nil {
			return at(s.line, err)
		}
	}
	loop.items = items
	for i := range items {
		if r.fuel--; r.fuel < 0 {
			return at(s.line, r.step(0))
		}
		clear(f.slots[s.slots[0]:s.slots[1]])
		loop.i = i
		f.slots[s.loop] = loop
		if err := s.target.assign(r, f, items[i]); err != nil {
			return at(s.line, err)
		}
		sig, err := r.exec(s.body, f)
		if err != nil {
			return err
		}
		if sig == sigBreak {
			break
		}
	}
	if len(items) == 0 {
		_, err := r.exec(s.no, env)
		return err
	}
	return nil
}

// filtered keeps the items that satisfy the if of the for tag.
func (s *forStmt) filtered(r *run, f *frame, items []Value) ([]Value, error) {
	var kept []Value
	for _, x := range items {
		if err := r.step(1); err != nil {
			return nil, err
		}
		clear(f.slots[s.slots[0]:s.slots[1]])
		if err := s.target.assign(r, f, x); err != nil {
			return nil, err
		}
		v, err := s.filter.eval(r, f)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			kept = append(kept, x)
		}
	}
	return kept, nil
}

// recurse is loop(items) inside a recursive loop. It returns the text of the loop over the items.
func (r *run) recurse(l *loopState, a arguments) (Value, error) {
	if l.stmt == nil {
		return nil, typeError("the loop must have the 'recursive' marker to be called recursively")
	}
	if len(a.pos) != 1 || len(a.kw) != 0 {
		return nil, typeError("loop() takes one argument")
	}
	if err := r.push(); err != nil {
		return nil, err
	}
	defer r.pop()
	mark := len(r.out)
	err := l.stmt.runFunc(r, l.env, a.pos[0], l.depth+1)
	s := string(r.out[mark:])
	r.out = r.out[:mark]
	return Str(s), err
}

// attr returns an attribute of loop, or nil.
func (l *loopState) attr(name string) Value {
	n := len(l.items)
	switch name {
	case "index":
		return Int(l.i + 1)
	case "index0":
		return Int(l.i)
	case "revindex":
		return Int(n - l.i)
	case "revindex0":
		return Int(n - l.i - 1)
	case "first":
		return Bool(l.i == 0)
	case "last":
		return Bool(l.i == n-1)
	case "length":
		return Int(n)
	case "depth":
		return Int(l.depth + 1)
	case "depth0":
		return Int(l.depth)
	case "previtem":
		if l.i == 0 {
			return &undefined{hint: "there is no previous item"}
		}
		return l.items[l.i-1]
	case "nextitem":
		if l.i == n-1 {
			return &undefined{hint: "there is no next item"}
		}
		return l.items[l.i+1]
	}
	if fn := loopMethods[name]; fn != nil {
		return &boundMethod{l, fn}
	}
	return nil
}

var loopMethods = newTable(map[string]builtin{
	"cycle": {rest: true, fn: func(_ *run, c call) (Value, error) {
		if len(c.rest) == 0 {
			return nil, typeError("no items for cycling given")
		}
		return c.rest[c.self.(*loopState).i%len(c.rest)], nil
	}},
	"changed": {rest: true, fn: func(r *run, c call) (Value, error) {
		l := c.self.(*loopState)
		now := append([]Value{}, c.rest...)
		if l.changed != nil {
			same, err := r.equal(&tuple{items: l.changed}, &tuple{items: now})
			if err != nil || same {
				return Bool(false), err
			}
		}
		l.changed = now
		return Bool(true), nil
	}},
})
