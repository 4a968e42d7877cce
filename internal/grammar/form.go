package grammar

import (
	"slices"
)

// A form is a set of JSON values sorted by type: a union of conjunctions. The algebra of schemas (allOf, anyOf, oneOf,
// not, if) is done on forms. What lies inside arrays and objects stays an expression, so that recursive schemas have
// finite forms.
type form struct {
	null, yes, no bool
	nums          []*numC
	strs          []*strC
	arrs          []*arrC
	objs          []*objC
}

// arrC is a set of arrays that meet every condition.
type arrC struct {
	prefix   []*expr
	rest     *expr // items beyond the prefix
	min, max int   // max < 0 is without limit
	holds    []holds
	unique   bool
	src      *source // where holds or unique stand
}

// holds asks for min to max items, from item number from on, that match.
type holds struct {
	what     *expr
	from     int
	min, max int // max < 0 is without limit
}

// objC is a set of objects that meet every condition.
type objC struct {
	layers   []*layer
	required []string
	min, max int
	names    []*expr // what each name must match, as a string
	some     []*some
	src      *source // where the limits stand
}

// layer is what one schema says of the properties of an object: a name it lists, or that its patterns match, has those
// values; any other name has the value extra.
type layer struct {
	props map[string]*expr
	order []string
	pats  []namePattern
	extra *expr
}

type namePattern struct {
	names *lang
	value *expr
}

// some asks for a property that the layer does not list (in, nil), or whose name is in a language (in), and that has the
// value.
type some struct {
	of    *layer
	in    *lang
	name  *expr // when not nil: the name, as a string, must match
	value *expr
}

func fullForm() *form {
	return &form{null: true, yes: true, no: true, nums: []*numC{{}}, strs: []*strC{newStrC()},
		arrs: []*arrC{{max: -1}}, objs: []*objC{{max: -1}}}
}

// maxTerms limits the number of alternatives a form may have for one type.
const maxTerms = 300

func (f *form) terms() int { return max(len(f.nums), len(f.strs), len(f.arrs), len(f.objs)) }

func (f *form) empty() bool {
	return !f.null && !f.yes && !f.no && len(f.nums) == 0 && len(f.strs) == 0 && len(f.arrs) == 0 && len(f.objs) == 0
}

// or unites forms.
func (s *schemas) or(fs ...*form) *form {
	out := &form{}
	for _, f := range fs {
		out.null, out.yes, out.no = out.null || f.null, out.yes || f.yes, out.no || f.no
		out.nums = append(out.nums, f.nums...)
		out.strs = append(out.strs, f.strs...)
		out.arrs = append(out.arrs, f.arrs...)
		out.objs = append(out.objs, f.objs...)
	}
	return out
}

// and intersects two forms.
func (s *schemas) and(f, g *form) (*form, error) {
	out := &form{null: f.null && g.null, yes: f.yes && g.yes, no: f.no && g.no}
	var err error
	if out.nums, err = cross(s, f.nums, g.nums, func(a, b *numC) (*numC, error) { return a.and(b), nil }); err != nil {
		return nil, err
	}
	if out.strs, err = cross(s, f.strs, g.strs, func(a, b *strC) (*strC, error) { return a.and(b), nil }); err != nil {
		return nil, err
	}
	if out.arrs, err = cross(s, f.arrs, g.arrs, s.andArr); err != nil {
		return nil, err
	}
	out.objs, err = cross(s, f.objs, g.objs, s.andObj)
	return out, err
}

func cross[T any](s *schemas, as, bs []*T, and func(a, b *T) (*T, error)) ([]*T, error) {
	var out []*T
	for _, a := range as {
		for _, b := range bs {
			if s.fuel--; s.fuel < 0 {
				return nil, errSchemaSize
			}
			c, err := and(a, b)
			if err != nil {
				return nil, err
			}
			if c != nil {
				out = append(out, c)
			}
		}
	}
	if len(out) > maxTerms {
		return nil, errSchemaSize
	}
	return out, nil
}

func (a *arrC) item(s *schemas, i int) *expr {
	switch {
	case i < len(a.prefix):
		return a.prefix[i]
	case a.rest != nil:
		return a.rest
	}
	return s.any
}

func (s *schemas) andArr(a, b *arrC) (*arrC, error) {
	c := &arrC{min: max(a.min, b.min), max: a.max, unique: a.unique || b.unique, src: a.src}
	if b.unique || len(b.holds) > 0 {
		c.src = b.src
	}
	if c.max < 0 || b.max >= 0 && b.max < c.max {
		c.max = b.max
	}
	for i := range max(len(a.prefix), len(b.prefix)) {
		c.prefix = append(c.prefix, s.both(a.item(s, i), b.item(s, i)))
	}
	if a.rest != nil || b.rest != nil {
		c.rest = s.both(a.item(s, len(c.prefix)), b.item(s, len(c.prefix)))
	}
	c.holds = append(slices.Clone(a.holds), b.holds...)
	return s.tidyArr(c)
}

// tidyArr shortens an array to what can be; nil if nothing can.
func (s *schemas) tidyArr(c *arrC) (*arrC, error) {
	for i, p := range c.prefix {
		none, err := s.never(p)
		if err != nil {
			return nil, err
		}
		if none && (c.max < 0 || c.max > i) {
			c.max = i
		}
	}
	if c.rest != nil && (c.max < 0 || c.max > len(c.prefix)) {
		none, err := s.never(c.rest)
		if err != nil {
			return nil, err
		}
		if none {
			c.max = len(c.prefix)
		}
	}
	if c.max >= 0 && c.max < c.min {
		return nil, nil
	}
	for _, h := range c.holds {
		if h.max >= 0 && h.min > h.max || c.max >= 0 && h.min > c.max-h.from {
			return nil, nil
		}
	}
	return c, nil
}

func (s *schemas) andObj(a, b *objC) (*objC, error) {
	c := &objC{min: max(a.min, b.min), max: a.max, layers: slices.Clone(a.layers), src: a.src}
	if b.min > a.min || a.src == nil {
		c.src = b.src
	}
	if c.max < 0 || b.max >= 0 && b.max < c.max {
		c.max = b.max
	}
	for _, l := range b.layers {
		if !slices.Contains(c.layers, l) {
			c.layers = append(c.layers, l)
		}
	}
	c.required = append(slices.Clone(a.required), b.required...)
	slices.Sort(c.required)
	c.required = slices.Compact(c.required)
	c.names = append(slices.Clone(a.names), b.names...)
	c.some = append(slices.Clone(a.some), b.some...)
	return s.tidyObj(c)
}

// tidyObj returns nil if no object is in c, as far as that is easy to see.
func (s *schemas) tidyObj(c *objC) (*objC, error) {
	if c.max >= 0 && (c.max < c.min || c.max < len(c.required)) {
		return nil, nil
	}
	for _, r := range c.required {
		v, err := s.property(c, r)
		if err != nil {
			return nil, err
		}
		if none, err := s.never(v); none || err != nil {
			return nil, err
		}
	}
	for _, so := range c.some {
		if none, err := s.never(so.value); none || err != nil {
			return nil, err
		}
	}
	return c, nil
}

// property returns the expression for the value of a property of that name; it matches nothing if the name is refused.
func (s *schemas) property(c *objC, name string) (*expr, error) {
	out := s.any
	for _, l := range c.layers {
		v, err := s.inLayer(l, name)
		if err != nil {
			return nil, err
		}
		out = s.both(out, v)
	}
	for _, n := range c.names {
		ok, err := s.matchesName(n, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			return s.none, nil
		}
	}
	return out, nil
}

func (s *schemas) inLayer(l *layer, name string) (*expr, error) {
	out, listed := l.props[name]
	if !listed {
		out = s.any
	}
	for _, p := range l.pats {
		in, err := p.names.has(s.v, name)
		if err != nil {
			return nil, err
		}
		if in {
			listed = true
			out = s.both(out, p.value)
		}
	}
	if !listed && l.extra != nil {
		return l.extra, nil
	}
	return out, nil
}

func (s *schemas) matchesName(n *expr, name string) (bool, error) {
	f, err := s.norm(n)
	if err != nil {
		return false, err
	}
	for _, c := range f.strs {
		if ok, err := c.has(s.v, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

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

// orEmpty tells an empty union from a missing one.
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

// notObj returns sets that together hold every object not in a. Properties that tell schemas apart (those with a short
// list of values) come first, and the further sets agree with a on them: then the complements of many branches of a oneOf
// multiply out to few sets.
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
			return nil // being absent is wrong as well
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

// short reports whether an expression is a list of a few plain values.
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

// notRest returns the part of the complement that is not about listed or required properties.
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

// overlap reports whether two forms have a value in common, as far as that is easy to see.
func (s *schemas) overlap(f, g *form) (bool, error) {
	h, err := s.and(f, g)
	if err != nil {
		return false, err
	}
	none, err := s.void(h)
	return !none, err
}

// void reports whether a form certainly has no value.
func (s *schemas) void(f *form) (bool, error) {
	if f.null || f.yes || f.no || len(f.arrs) > 0 || len(f.objs) > 0 {
		return false, nil
	}
	for _, c := range f.nums {
		if d, err := s.number(c); err != nil || d != nil {
			return false, err
		}
	}
	for _, c := range f.strs {
		if d, err := c.content(s.v); err != nil || d != nil {
			return false, err
		}
	}
	return true, nil
}

// number returns the automaton of a set of numbers; nil means the empty set.
func (s *schemas) number(c *numC) (content, error) {
	if c.vals != nil {
		return newTrie(c.list(), func(int) int32 { return 0 }, -1), nil
	}
	return s.v.cached(c.key(), func() (content, error) {
		d, err := c.automaton()
		if err != nil || d.empty() {
			return nil, err
		}
		return d, nil
	})
}
