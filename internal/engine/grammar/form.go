package grammar

import (
	"slices"
)

// A form is a set of JSON values sorted by type: a union of conjunctions. The algebra of schemas
// (allOf, anyOf, oneOf, not, if) works on forms. The contents of arrays and objects stay
// expressions, so that recursive schemas have finite forms.
type form struct {
	null, yes, no bool
	nums          []*numC
	strs          []*strC
	arrs          []*arrC
	objs          []*objC
}

// arrC is the set of arrays that meet all its conditions.
type arrC struct {
	prefix   []*expr
	rest     *expr // items beyond the prefix
	min, max int   // max < 0 means no limit
	holds    []holds
	unique   bool
	src      *source // where contains or uniqueItems appears in the schema
}

// holds requires min to max matching items, counting from the item with the number in the field
// from.
type holds struct {
	what     *expr
	from     int
	min, max int // max < 0 means no limit
}

// objC is the set of objects that meet all its conditions.
type objC struct {
	layers   []*layer
	required []string
	min, max int
	names    []*expr // expressions that each name must match, as a string
	some     []*some
	src      *source // where the limits appear in the schema
}

// layer holds the constraints of one schema on the properties of an object. A name that is listed
// or that matches a pattern has the corresponding values; any other name has the value extra.
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

// some requires that there is a property with the value. If its field in is nil, the layer must not
// list the property; otherwise the property's name must be in that language.
type some struct {
	of    *layer
	in    *lang
	name  *expr // if not nil: the name, as a string, must match
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

// or returns the union of forms.
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

// and returns the intersection of two forms.
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

// tidyArr tightens the conditions of an array to what is possible. It returns nil if no array is
// possible.
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

// tidyObj returns nil if c obviously contains no object.
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

// property returns the expression for the value of the property with the given name. If the name is
// refused, the expression has no values.
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

// overlap reports whether two forms may have a value in common. It returns false only if a simple
// check rules out a common value.
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

// number returns the automaton of a set of numbers, nil for the empty set.
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
