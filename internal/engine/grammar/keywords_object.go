package grammar

import (
	"slices"
	"sort"
)

func (k *keywords) objects() (*objC, error) {
	c := &objC{max: -1, src: k.src}
	l, err := k.layer()
	if err != nil {
		return nil, err
	}
	if l != nil {
		c.layers = []*layer{l}
	}
	switch req := k.m["required"].(type) {
	case []any:
		for _, r := range req {
			name, ok := r.(string)
			if !ok {
				return nil, k.src.bad("required", "must be a list of names")
			}
			c.required = append(c.required, name)
		}
		sort.Strings(c.required)
		c.required = slices.Compact(c.required)
	case nil, bool: // a boolean is from draft 3, where it does not concern this object
	default:
		return nil, k.src.bad("required", "must be a list of names")
	}
	if raw, ok := k.m["minProperties"]; ok {
		if c.min, err = k.src.count("minProperties", raw); err != nil {
			return nil, err
		}
	}
	if raw, ok := k.m["maxProperties"]; ok {
		if c.max, err = k.src.count("maxProperties", raw); err != nil {
			return nil, err
		}
	}
	if raw, ok := k.m["propertyNames"]; ok && k.src.res.draft >= 6 {
		if n := k.s.of(k.src.sub(raw, "propertyNames")); n != k.s.any {
			c.names = []*expr{n}
		}
	}
	return k.s.tidyObj(c)
}

func (k *keywords) layer() (*layer, error) {
	l := &layer{props: map[string]*expr{}}
	if raw, ok := k.m["properties"]; ok {
		props, ok := raw.(map[string]any)
		if !ok {
			return nil, k.src.bad("properties", "must be an object")
		}
		for _, name := range sortedKeys(props) {
			l.order = append(l.order, name)
			l.props[name] = k.s.of(k.src.sub(props[name], "properties", name))
		}
	}
	if raw, ok := k.m["patternProperties"]; ok {
		pats, ok := raw.(map[string]any)
		if !ok {
			return nil, k.src.bad("patternProperties", "must be an object")
		}
		for _, text := range sortedKeys(pats) {
			names, err := k.pattern("patternProperties", text)
			if err != nil {
				return nil, err
			}
			l.pats = append(l.pats, namePattern{names, k.s.of(k.src.sub(pats[text], "patternProperties", text))})
		}
	}
	if raw, ok := k.m["additionalProperties"]; ok {
		l.extra = k.s.of(k.src.sub(raw, "additionalProperties"))
	} else if raw, ok := k.m["unevaluatedProperties"]; ok && raw != true {
		if k.inPlace() {
			return nil, k.src.unsupported("unevaluatedProperties", "it cannot be enforced beside allOf, anyOf, $ref and the like: use additionalProperties")
		}
		l.extra = k.s.of(k.src.sub(raw, "unevaluatedProperties"))
	}
	if len(l.props) == 0 && len(l.pats) == 0 && (l.extra == nil || l.extra == k.s.any) {
		return nil, nil
	}
	return l, nil
}
