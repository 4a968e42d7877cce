package jinja

import "slices"

// filterPprint prints a value as Python's pprint does if it fits on one line: repr with the keys of
// dicts sorted. Longer values also stay on one line.
func filterPprint(r *run, c call) (Value, error) {
	v, err := sortedKeys(r, c.self, 0)
	if err != nil {
		return nil, err
	}
	p := printer{limit: r.opts.MaxOutput}
	p.repr(v, 0)
	return Str(p.b), p.err
}

// sortedKeys copies a value with the keys of its dicts sorted where possible.
func sortedKeys(r *run, v Value, depth int) (Value, error) {
	if depth > maxValueDepth {
		return nil, errValueDepth
	}
	if err := r.step(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *List:
		items, err := sortedItems(r, v.Items, depth)
		return &List{items}, err
	case *tuple:
		items, err := sortedItems(r, v.items, depth)
		return &tuple{items: items}, err
	case *Dict:
		entries := slices.Clone(v.entries)
		if sortBy(r, entries, func(e entry) Value { return e.key }, false) != nil {
			entries = slices.Clone(v.entries) // keys of kinds without an order stay as they are
		}
		d := NewDict()
		for _, e := range entries {
			x, err := sortedKeys(r, e.value, depth+1)
			if err != nil {
				return nil, err
			}
			d.put(e.hash, e.key, x)
		}
		return d, nil
	}
	return v, nil
}

func sortedItems(r *run, items []Value, depth int) ([]Value, error) {
	out := make([]Value, len(items))
	for i, x := range items {
		var err error
		if out[i], err = sortedKeys(r, x, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
