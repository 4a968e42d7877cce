package grammar

import (
	"errors"
	"maps"
	"slices"
	"strconv"
)

// refused lists keywords with assertions that this package does not enforce. A schema that contains
// one of them is refused.
var refused = map[string]string{
	"$dynamicRef":   "dynamic references cannot be enforced: use $ref",
	"$recursiveRef": "dynamic references cannot be enforced: use $ref",
}

// Any keyword that the method keyword does not handle is an annotation, as the specification
// requires for undefined keywords: title, description, default, examples, readOnly, deprecated,
// contentEncoding, $comment, x-….

// source returns the part of f that is in a subschema.
func (s *schemas) source(src *source, f *form) (*form, error) {
	m, ok := src.raw.(map[string]any)
	if !ok {
		return nil, src.bad("", "a schema must be an object or a boolean")
	}
	if ref, ok := m["$ref"].(string); ok && src.res.draft <= 7 {
		e, err := s.ref(src, "$ref", ref) // in these drafts a reference hides its sibling keywords
		if err != nil {
			return nil, err
		}
		return s.narrow(f, e)
	}
	k := &keywords{s: s, src: src, m: m}
	if reason, key := k.refusal(); key != "" {
		return nil, src.unsupported(key, "%s", reason)
	}
	g, err := k.base()
	if err != nil {
		return nil, err
	}
	if f, err = s.and(f, g); err != nil {
		return nil, err
	}
	return k.applicators(f)
}

// keywords reads one subschema.
type keywords struct {
	s   *schemas
	src *source
	m   map[string]any
}

func (k *keywords) refusal() (reason, key string) {
	for _, key := range sortedKeys(k.m) {
		if reason, ok := refused[key]; ok {
			return reason, key
		}
	}
	return "", ""
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// base returns the form described by the keywords for single types, enum and const.
func (k *keywords) base() (*form, error) {
	f, err := k.types()
	if err != nil {
		return nil, err
	}
	if len(f.strs) > 0 {
		c, err := k.strings()
		if err != nil {
			return nil, err
		}
		f.strs = keep(c)
	}
	if len(f.nums) > 0 {
		c, err := k.numbers(f.nums[0])
		if err != nil {
			return nil, err
		}
		f.nums = keep(c)
	}
	if len(f.arrs) > 0 {
		c, err := k.arrays()
		if err != nil {
			return nil, err
		}
		f.arrs = keep(c)
	}
	if len(f.objs) > 0 {
		c, err := k.objects()
		if err != nil {
			return nil, err
		}
		f.objs = keep(c)
	}
	return k.values(f)
}

func keep[T any](c *T) []*T {
	if c == nil {
		return nil
	}
	return []*T{c}
}

func (k *keywords) types() (*form, error) {
	raw, ok := k.m["type"]
	if !ok {
		return fullForm(), nil
	}
	list, ok := raw.([]any)
	if !ok {
		list = []any{raw}
	}
	full, f := fullForm(), &form{}
	whole, any := false, false
	for _, t := range list {
		switch t {
		case "null":
			f.null = true
		case "boolean":
			f.yes, f.no = true, true
		case "integer":
			whole = true
		case "number":
			any = true
		case "string":
			f.strs = full.strs
		case "array":
			f.arrs = full.arrs
		case "object":
			f.objs = full.objs
		case "any":
			if k.src.res.draft <= 4 {
				return full, nil
			}
			return nil, k.src.bad("type", "unknown type any")
		default:
			return nil, k.src.bad("type", "unknown type %v", t)
		}
	}
	if any || whole {
		f.nums = []*numC{{integer: !any}}
	}
	return f, nil
}

func (k *keywords) strings() (*strC, error) {
	c := newStrC()
	if raw, ok := k.m["minLength"]; ok {
		n, err := k.src.count("minLength", raw)
		if err != nil {
			return nil, err
		}
		c.min = n
	}
	if raw, ok := k.m["maxLength"]; ok {
		n, err := k.src.count("maxLength", raw)
		if err != nil {
			return nil, err
		}
		c.max = n
	}
	if raw, ok := k.m["pattern"]; ok {
		l, err := k.pattern("pattern", raw)
		if err != nil {
			return nil, err
		}
		if l != nil {
			c.pos = append(c.pos, l)
		}
	}
	if name, ok := k.m["format"].(string); ok {
		if l := formatLang(name); l != nil {
			c.pos = append(c.pos, l)
		}
	}
	if c.max >= 0 && c.max < c.min {
		return nil, nil
	}
	_, err := c.content(k.s.v) // so that a pattern that is too large is reported with its place in the schema
	if err != nil {
		return nil, k.patternError("pattern", err)
	}
	return c, nil
}

func (k *keywords) patternError(keyword string, err error) error {
	if errors.Is(err, errRxSize) {
		return k.src.unsupported(keyword, "its automaton would be too large: simplify it or lower its repetition counts")
	}
	return err
}

// pattern returns the language of a pattern; nil means any string.
func (k *keywords) pattern(keyword string, raw any) (*lang, error) {
	text, ok := raw.(string)
	if !ok {
		return nil, k.src.bad(keyword, "must be a string")
	}
	l := &lang{key: "pattern " + text, pattern: text}
	if _, err := l.content(k.s.v); err != nil {
		if errors.Is(err, errRxSize) {
			return nil, k.patternError(keyword, err)
		}
		return nil, k.src.unsupported(keyword, "%v", err)
	}
	return l, nil
}

func (k *keywords) numbers(c *numC) (*numC, error) {
	set := func(keyword string, lo, open bool) error {
		raw, ok := k.m[keyword]
		if !ok {
			return nil
		}
		if b, isBool := raw.(bool); isBool {
			if k.src.res.draft > 4 && b {
				return k.src.bad(keyword, "must be a number")
			}
			return nil // in draft 4, a part of minimum and maximum
		}
		v, err := k.src.number(keyword, raw)
		if err != nil {
			return err
		}
		if k.src.res.draft <= 4 && !open {
			key := "exclusiveMaximum"
			if lo {
				key = "exclusiveMinimum"
			}
			open = k.m[key] == true
		}
		d := &numC{hi: &bound{v, open}}
		if lo {
			d = &numC{lo: &bound{v, open}}
		}
		if c != nil {
			c = c.and(d)
		}
		return nil
	}
	for _, x := range []struct {
		key      string
		lo, open bool
	}{{"minimum", true, false}, {"maximum", false, false}, {"exclusiveMinimum", true, true}, {"exclusiveMaximum", false, true}} {
		if err := set(x.key, x.lo, x.open); err != nil {
			return nil, err
		}
	}
	if raw, ok := k.m["multipleOf"]; ok && c != nil {
		v, err := k.src.number("multipleOf", raw)
		if err != nil {
			return nil, err
		}
		if v.Sign() <= 0 {
			return nil, k.src.bad("multipleOf", "must be greater than 0")
		}
		if v.Num().IsInt64() && v.Num().Int64() == 1 && v.IsInt() {
			return c.and(&numC{integer: true}), nil
		}
		c = c.and(&numC{mults: []multiple{{v: v}}})
	}
	if c != nil {
		if _, err := k.s.number(c); err != nil {
			return nil, k.src.unsupported("multipleOf", "%v", err)
		}
	}
	return c, nil
}

func (k *keywords) arrays() (*arrC, error) {
	c := &arrC{max: -1, src: k.src}
	prefix := "prefixItems"
	items, more := "items", ""
	if _, isList := k.m["items"].([]any); isList {
		prefix, items, more = "items", "additionalItems", "items"
	}
	if raw, ok := k.m[prefix]; ok && (k.src.res.draft >= 2020 || more != "") {
		list, ok := raw.([]any)
		if !ok {
			return nil, k.src.bad(prefix, "must be a list of schemas")
		}
		for i, x := range list {
			c.prefix = append(c.prefix, k.s.of(k.src.sub(x, prefix, strconv.Itoa(i))))
		}
	}
	if raw, ok := k.m[items]; ok {
		c.rest = k.s.of(k.src.sub(raw, items))
	}
	var err error
	if raw, ok := k.m["minItems"]; ok {
		if c.min, err = k.src.count("minItems", raw); err != nil {
			return nil, err
		}
	}
	if raw, ok := k.m["maxItems"]; ok {
		if c.max, err = k.src.count("maxItems", raw); err != nil {
			return nil, err
		}
	}
	if k.m["uniqueItems"] == true {
		c.unique = true
	}
	if err := k.contains(c); err != nil {
		return nil, err
	}
	if raw, ok := k.m["unevaluatedItems"]; ok && raw != true {
		if c.rest == nil && raw == false && !k.inPlace() && k.m["contains"] == nil {
			c.rest = k.s.none
		} else if c.rest == nil {
			return nil, k.src.unsupported("unevaluatedItems", "it can only be enforced as false and without allOf, anyOf, $ref and the like beside it: use items")
		}
	}
	return k.s.tidyArr(c)
}

func (k *keywords) contains(c *arrC) error {
	raw, ok := k.m["contains"]
	if !ok || k.src.res.draft <= 4 {
		return nil
	}
	h := holds{what: k.s.of(k.src.sub(raw, "contains")), min: 1, max: -1}
	var err error
	if n, ok := k.m["minContains"]; ok && k.src.res.draft >= 2019 {
		if h.min, err = k.src.count("minContains", n); err != nil {
			return err
		}
	}
	if n, ok := k.m["maxContains"]; ok && k.src.res.draft >= 2019 {
		if h.max, err = k.src.count("maxContains", n); err != nil {
			return err
		}
	}
	if h.min > 0 || h.max >= 0 {
		c.holds = append(c.holds, h)
	}
	return nil
}

// inPlace reports whether a keyword applies another schema to the same value.
func (k *keywords) inPlace() bool {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies"} {
		if _, ok := k.m[key]; ok {
			return true
		}
	}
	return false
}
