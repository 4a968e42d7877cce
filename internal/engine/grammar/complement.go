package grammar

import (
	"slices"
)

// not returns the complement of a form.
func (s *schemas) not(f *form) (*form, error) {
	out := &form{null: !f.null, yes: !f.yes, no: !f.no, nums: []*numC{{}}, strs: []*strC{newStrC()},
		arrs: []*arrC{{max: -1}}, objs: []*objC{{max: -1}}}
	var err error
	step := func(g *form) {
		if err == nil {
			full := fullForm()
			full.null, full.yes, full.no = out.null, out.yes, out.no
			if g.nums == nil {
				g.nums = full.nums
			}
			if g.strs == nil {
				g.strs = full.strs
			}
			if g.arrs == nil {
				g.arrs = full.arrs
			}
			if g.objs == nil {
				g.objs = full.objs
			}
			g.null, g.yes, g.no = out.null, out.yes, out.no
			out, err = s.and(out, g)
		}
	}
	for _, c := range f.nums {
		step(&form{nums: orEmpty(c.complement())})
	}
	for _, c := range f.strs {
		step(&form{strs: orEmpty(c.complement())})
	}
	for _, c := range f.arrs {
		cs, e := s.notArr(c)
		if e != nil {
			return nil, e
		}
		step(&form{arrs: orEmpty(cs)})
	}
	for _, c := range f.objs {
		cs, e := s.notObj(c)
		if e != nil {
			return nil, e
		}
		step(&form{objs: orEmpty(cs)})
	}
	return out, err
}

// orEmpty turns a missing union into an empty one.
func orEmpty[T any](x []*T) []*T {
	if x == nil {
		return []*T{}
	}
	return x
}

func (s *schemas) notArr(a *arrC) ([]*arrC, error) {
	var out []*arrC
	if a.min > 0 {
		out = append(out, &arrC{max: a.min - 1})
	}
	if a.max >= 0 {
		out = append(out, &arrC{min: a.max + 1, max: -1})
	}
	for i, p := range a.prefix {
		if p == s.any {
			continue
		}
		c := &arrC{min: i + 1, max: -1}
		for range i {
			c.prefix = append(c.prefix, s.any)
		}
		c.prefix = append(c.prefix, s.negated(p))
		out = append(out, c)
	}
	if a.rest != nil && a.rest != s.any {
		if a.rest == s.none {
			out = append(out, &arrC{min: len(a.prefix) + 1, max: -1})
		} else {
			out = append(out, &arrC{max: -1, holds: []holds{{what: s.negated(a.rest), from: len(a.prefix), min: 1, max: -1}}})
		}
	}
	for _, h := range a.holds {
		if h.min > 0 {
			out = append(out, &arrC{max: -1, holds: []holds{{what: h.what, from: h.from, max: h.min - 1}}})
		}
		if h.max >= 0 {
			out = append(out, &arrC{max: -1, holds: []holds{{what: h.what, from: h.from, min: h.max + 1, max: -1}}})
		}
	}
	if a.unique {
		return nil, a.src.unsupported("uniqueItems", "its negation cannot be enforced")
	}
	return out, nil
}

// notObj returns sets that together contain every object not in a. Properties that discriminate
// between schemas (those with a short list of values) come first, and in the later sets these
// properties have the same values as in a. So the product of the complements of many oneOf branches
// has few sets.
func (s *schemas) notObj(a *objC) ([]*objC, error) {
	var out []*objC
	agree := &objC{max: -1}
	one := func(name string, value *expr) *layer {
		return &layer{props: map[string]*expr{name: value}, order: []string{name}}
	}
	add := func(c *objC) error {
		d, err := s.andObj(c, agree)
		if err == nil && d != nil {
			out = append(out, d)
		}
		return err
	}
	need := func(name string) []string {
		if slices.Contains(a.required, name) {
			return nil // a missing property is not allowed either
		}
		return []string{name}
	}
	told := map[string]bool{}
	for _, discriminating := range []bool{true, false} {
		for _, l := range a.layers {
			for _, name := range l.order {
				v := l.props[name]
				if v == s.any || s.short(v) != discriminating {
					continue
				}
				if err := add(&objC{max: -1, required: need(name), layers: []*layer{one(name, s.negated(v))}}); err != nil {
					return nil, err
				}
				told[name] = true
				if !discriminating {
					continue
				}
				same := &objC{max: -1, layers: []*layer{one(name, v)}}
				if need(name) == nil {
					same.required = []string{name}
				}
				next, err := s.andObj(agree, same)
				if err != nil {
					return nil, err
				}
				if next == nil {
					return out, nil
				}
				agree = next
			}
		}
	}
	for _, r := range a.required {
		if !told[r] {
			if err := add(&objC{max: -1, layers: []*layer{one(r, s.none)}}); err != nil {
				return nil, err
			}
		}
	}
	rest := s.notRest(a)
	for _, c := range rest {
		if err := add(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// short reports whether an expression is a short list of plain values.
func (s *schemas) short(e *expr) bool {
	if e.kind == exprNot {
		return false
	}
	f, err := s.norm(e)
	if err != nil || len(f.arrs) > 0 || len(f.objs) > 0 {
		return false
	}
	for _, c := range f.nums {
		if c.vals == nil {
			return false
		}
	}
	for _, c := range f.strs {
		if !slices.ContainsFunc(c.pos, func(l *lang) bool { return l.values != nil }) {
			return false
		}
	}
	return true
}

// notRest returns the part of the complement that does not concern listed or required properties.
func (s *schemas) notRest(a *objC) []*objC {
	var out []*objC
	if a.min > 0 {
		out = append(out, &objC{max: a.min - 1})
	}
	if a.max >= 0 {
		out = append(out, &objC{min: a.max + 1, max: -1})
	}
	for _, l := range a.layers {
		for _, p := range l.pats {
			if p.value != s.any {
				out = append(out, &objC{max: -1, some: []*some{{in: p.names, value: s.negated(p.value)}}})
			}
		}
		if l.extra != nil && l.extra != s.any {
			out = append(out, &objC{max: -1, some: []*some{{of: l, value: s.negated(l.extra)}}})
		}
	}
	for _, n := range a.names {
		out = append(out, &objC{max: -1, some: []*some{{name: s.negated(n), value: s.any}}})
	}
	for _, so := range a.some {
		c := &objC{max: -1}
		switch {
		case so.of != nil:
			l := &layer{props: map[string]*expr{}, extra: s.negated(so.value)}
			for _, name := range so.of.order {
				l.props[name] = s.any
			}
			l.order = so.of.order
			for _, p := range so.of.pats {
				l.pats = append(l.pats, namePattern{p.names, s.any})
			}
			c.layers = []*layer{l}
		case so.in != nil:
			c.layers = []*layer{{pats: []namePattern{{so.in, s.negated(so.value)}}}}
		default:
			c.names = []*expr{s.negated(so.name)} // its value is always s.any
		}
		out = append(out, c)
	}
	return out
}
