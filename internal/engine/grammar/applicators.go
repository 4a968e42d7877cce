package grammar

import (
	"errors"
	"strconv"
)

// applicatorKeys lists the keywords that apply other schemas to the same value, in the order in
// which they are processed: the most restrictive first.
var applicatorKeys = []string{"$ref", "allOf", "dependentRequired", "not", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"}

// applicators narrows f to the values that satisfy the keywords that apply other schemas to the
// same value.
func (k *keywords) applicators(f *form) (*form, error) {
	for _, key := range applicatorKeys {
		raw, ok := k.m[key]
		if !ok || !k.known(key) {
			continue
		}
		var err error
		if f, err = k.applicator(f, key, raw); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// known reports whether the draft of the schema has the keyword.
func (k *keywords) known(key string) bool {
	switch key {
	case "if":
		return k.src.res.draft >= 7
	case "dependentRequired", "dependentSchemas":
		return k.src.res.draft >= 2019
	}
	return true
}

// applicator narrows f by one such keyword.
func (k *keywords) applicator(f *form, key string, raw any) (*form, error) {
	switch key {
	case "$ref":
		ref, ok := raw.(string)
		if !ok {
			return nil, k.src.bad(key, "must be a string")
		}
		e, err := k.s.ref(k.src, key, ref)
		if err != nil {
			return nil, err
		}
		return k.s.narrow(f, e)
	case "not":
		return k.s.narrow(f, k.s.negated(k.s.of(k.src.sub(raw, key))))
	case "if":
		return k.condition(f, raw)
	case "dependentRequired", "dependentSchemas", "dependencies":
		return k.dependencies(f, key, raw)
	}
	list, ok := raw.([]any)
	if !ok || len(list) == 0 {
		return nil, k.src.bad(key, "must be a list of schemas")
	}
	es := make([]*expr, len(list))
	for i, x := range list {
		es[i] = k.s.of(k.src.sub(x, key, strconv.Itoa(i)))
	}
	switch key {
	case "allOf":
		return k.s.all(f, es)
	case "anyOf":
		fs, err := k.s.each(f, es)
		if err != nil {
			return nil, err
		}
		return k.s.or(fs...), nil
	}
	g, err := k.s.exactlyOne(f, es)
	if errors.Is(err, errSchemaSize) {
		return nil, k.src.unsupported(key, "its branches overlap in too many ways: make them differ by a required property with a const value, or use anyOf")
	}
	return g, err
}

// all narrows f by every expression. Expressions without alternatives are applied before those with
// alternatives.
func (s *schemas) all(f *form, es []*expr) (*form, error) {
	var err error
	for _, choices := range []bool{false, true} {
		for _, e := range es {
			if (e.kind == exprSource && e.src.applies()) != choices {
				continue
			}
			if f, err = s.narrow(f, e); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// each narrows f by each expression separately.
func (s *schemas) each(f *form, es []*expr) ([]*form, error) {
	fs := make([]*form, len(es))
	for i, e := range es {
		var err error
		if fs[i], err = s.narrow(f, e); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

// exactlyOne returns the part of f that is in exactly one expression: from the part in each
// expression, the overlap with the others is removed.
func (s *schemas) exactlyOne(f *form, es []*expr) (*form, error) {
	fs, err := s.each(f, es)
	if err != nil {
		return nil, err
	}
	parts := append([]*form(nil), fs...)
	for i := range fs {
		for j := range i {
			both, err := s.overlap(fs[i], fs[j])
			if err != nil {
				return nil, err
			}
			if !both {
				continue
			}
			if parts[j], err = s.narrow(parts[j], s.negated(es[i])); err != nil {
				return nil, err
			}
			if parts[i], err = s.narrow(parts[i], s.negated(es[j])); err != nil {
				return nil, err
			}
		}
	}
	return s.or(parts...), nil
}

// condition turns if, then and else into a choice.
func (k *keywords) condition(f *form, raw any) (*form, error) {
	when := k.s.of(k.src.sub(raw, "if"))
	then, other := k.s.any, k.s.any
	if x, ok := k.m["then"]; ok {
		then = k.s.of(k.src.sub(x, "then"))
	}
	if x, ok := k.m["else"]; ok {
		other = k.s.of(k.src.sub(x, "else"))
	}
	if then == k.s.any && other == k.s.any {
		return f, nil
	}
	yes, err := k.s.all(f, []*expr{when, then})
	if err != nil {
		return nil, err
	}
	no, err := k.s.all(f, []*expr{k.s.negated(when), other})
	if err != nil {
		return nil, err
	}
	return k.s.or(yes, no), nil
}

// dependencies narrows f so that for each name, the object either lacks it, or has certain other
// names or is valid for another schema.
func (k *keywords) dependencies(f *form, key string, raw any) (*form, error) {
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, k.src.bad(key, "must be an object")
	}
	for _, name := range sortedKeys(m) {
		var with *form
		if list, ok := m[name].([]any); ok {
			c := &objC{max: -1, required: []string{name}}
			for _, r := range list {
				req, ok := r.(string)
				if !ok {
					return nil, k.src.bad(key, "must hold lists of names")
				}
				c = &objC{max: -1, required: append(c.required, req)}
			}
			c, err := k.s.andObj(c, &objC{max: -1})
			if err != nil {
				return nil, err
			}
			with = &form{objs: keep(c)}
		} else {
			var err error
			has := &form{objs: []*objC{{max: -1, required: []string{name}}}}
			if with, err = k.s.narrow(has, k.s.of(k.src.sub(m[name], key, name))); err != nil {
				return nil, err
			}
		}
		without := fullForm()
		without.objs = []*objC{{max: -1, layers: []*layer{{props: map[string]*expr{name: k.s.none}, order: []string{name}}}}}
		var err error
		if f, err = k.s.and(f, k.s.or(without, with)); err != nil {
			return nil, err
		}
	}
	return f, nil
}
