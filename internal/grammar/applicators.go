package grammar

import (
	"strconv"
)

// applicators narrows f by the keywords that apply other schemas to the same value.
func (k *keywords) applicators(f *form) (*form, error) {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentRequired", "dependentSchemas", "dependencies"} {
		raw, ok := k.m[key]
		if !ok || !k.known(key) {
			continue
		}
		gs, err := k.applicator(key, raw)
		if err != nil {
			return nil, err
		}
		for _, g := range gs {
			if f, err = k.s.and(f, g); err != nil {
				return nil, err
			}
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

// applicator returns forms that all must hold.
func (k *keywords) applicator(key string, raw any) ([]*form, error) {
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
		return one(k.s.norm(e))
	case "not":
		return one(k.s.norm(k.s.negated(k.s.of(k.src.sub(raw, key)))))
	case "if":
		return k.condition(raw)
	case "dependentRequired", "dependentSchemas", "dependencies":
		return k.dependencies(key, raw)
	}
	fs, err := k.branches(key, raw)
	if err != nil {
		return nil, err
	}
	switch key {
	case "anyOf":
		return []*form{k.s.or(fs...)}, nil
	case "oneOf":
		return one(k.s.exactlyOne(fs))
	}
	return fs, nil
}

func one(f *form, err error) ([]*form, error) { return []*form{f}, err }

func (k *keywords) branches(key string, raw any) ([]*form, error) {
	list, ok := raw.([]any)
	if !ok || len(list) == 0 {
		return nil, k.src.bad(key, "must be a list of schemas")
	}
	fs := make([]*form, len(list))
	for i, x := range list {
		f, err := k.s.norm(k.s.of(k.src.sub(x, key, strconv.Itoa(i))))
		if err != nil {
			return nil, err
		}
		fs[i] = f
	}
	return fs, nil
}

// exactlyOne returns the values that are in exactly one form: from each, what overlaps with others is taken away.
func (s *schemas) exactlyOne(fs []*form) (*form, error) {
	parts := make([]*form, len(fs))
	copy(parts, fs)
	for i, f := range fs {
		for j, g := range fs[:i] {
			both, err := s.overlap(f, g)
			if err != nil {
				return nil, err
			}
			if !both {
				continue
			}
			notF, err := s.not(f)
			if err != nil {
				return nil, err
			}
			notG, err := s.not(g)
			if err != nil {
				return nil, err
			}
			if parts[j], err = s.and(parts[j], notF); err != nil {
				return nil, err
			}
			if parts[i], err = s.and(parts[i], notG); err != nil {
				return nil, err
			}
		}
	}
	return s.or(parts...), nil
}

// condition turns if, then and else into a choice.
func (k *keywords) condition(raw any) ([]*form, error) {
	when := k.s.of(k.src.sub(raw, "if"))
	then, other := k.s.any, k.s.any
	if x, ok := k.m["then"]; ok {
		then = k.s.of(k.src.sub(x, "then"))
	}
	if x, ok := k.m["else"]; ok {
		other = k.s.of(k.src.sub(x, "else"))
	}
	if then == k.s.any && other == k.s.any {
		return nil, nil
	}
	f, err := k.s.norm(k.s.both(when, then))
	if err != nil {
		return nil, err
	}
	g, err := k.s.norm(k.s.both(k.s.negated(when), other))
	if err != nil {
		return nil, err
	}
	return []*form{k.s.or(f, g)}, nil
}

// dependencies says for each name: the object lacks it, or it has more names or is valid for another schema.
func (k *keywords) dependencies(key string, raw any) ([]*form, error) {
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, k.src.bad(key, "must be an object")
	}
	var out []*form
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
			f, err := k.s.norm(k.s.of(k.src.sub(m[name], key, name)))
			if err != nil {
				return nil, err
			}
			if with, err = k.s.and(f, &form{objs: []*objC{{max: -1, required: []string{name}}}}); err != nil {
				return nil, err
			}
		}
		without := fullForm()
		without.objs = []*objC{{max: -1, layers: []*layer{{props: map[string]*expr{name: k.s.none}, order: []string{name}}}}}
		out = append(out, k.s.or(without, with))
	}
	return out, nil
}
