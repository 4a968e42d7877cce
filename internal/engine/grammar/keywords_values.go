package grammar

import (
	"encoding/json"
)

// values applies enum and const.
func (k *keywords) values(f *form) (*form, error) {
	var lists [][]any
	if raw, ok := k.m["enum"]; ok {
		list, ok := raw.([]any)
		if !ok {
			return nil, k.src.bad("enum", "must be a list")
		}
		lists = append(lists, list)
	}
	if raw, ok := k.m["const"]; ok && k.src.res.draft > 4 {
		lists = append(lists, []any{raw})
	}
	for _, list := range lists {
		g, err := k.s.listed(k.src, list)
		if err != nil {
			return nil, err
		}
		if f, err = k.s.and(f, g); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// listed returns the form of a list of values.
func (s *schemas) listed(src *source, list []any) (*form, error) {
	f := &form{}
	var texts []string
	var nums []numVal
	for _, x := range list {
		switch x := x.(type) {
		case nil:
			f.null = true
		case bool:
			f.yes, f.no = f.yes || x, f.no || !x
		case json.Number:
			v, err := src.rational("enum", string(x))
			if err != nil {
				return nil, err
			}
			nums = append(nums, numVal{v, string(x)})
		case string:
			texts = append(texts, x)
		case []any:
			c := &arrC{min: len(x), max: len(x)}
			for _, y := range x {
				e, err := s.constant(src, y)
				if err != nil {
					return nil, err
				}
				c.prefix = append(c.prefix, e)
			}
			f.arrs = append(f.arrs, c)
		case map[string]any:
			lay := &layer{props: map[string]*expr{}, extra: s.none}
			for _, name := range sortedKeys(x) {
				e, err := s.constant(src, x[name])
				if err != nil {
					return nil, err
				}
				lay.order = append(lay.order, name)
				lay.props[name] = e
			}
			f.objs = append(f.objs, &objC{max: -1, layers: []*layer{lay}, required: lay.order})
		}
	}
	if nums != nil {
		f.nums = []*numC{{vals: nums}}
	}
	if texts != nil {
		f.strs = []*strC{{max: -1, pos: []*lang{listLang(texts)}}}
	}
	return f, nil
}

// listLang returns the language of the texts.
func listLang(texts []string) *lang {
	l := &lang{set: make(map[string]bool, len(texts))}
	for _, t := range texts {
		if !l.set[t] {
			l.set[t] = true
			l.values = append(l.values, t)
		}
	}
	key, _ := json.Marshal(l.values)
	l.key = "list " + string(key)
	return l
}

// constant returns the expression of one value.
func (s *schemas) constant(src *source, v any) (*expr, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	key := "=" + string(text)
	if e, ok := s.byKey[key]; ok {
		return e, nil
	}
	if s.depth++; s.depth > maxNest {
		return nil, errSchemaDeep
	}
	f, err := s.listed(src, []any{v})
	s.depth--
	if err != nil {
		return nil, err
	}
	e := s.add(&expr{form: f, void: 2})
	s.byKey[key] = e
	return e, nil
}
