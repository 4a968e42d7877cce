package jinja

// items returns the items that iterating over v yields. The slice must not be changed. A generator
// is consumed.
func (r *run) items(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *List:
		return v.Items, nil
	case *tuple:
		return v.items, nil
	case *undefined:
		return nil, nil
	case *generator:
		return r.drain(v)
	case *loopState:
		return v.items[min(v.i+1, len(v.items)):], nil
	}
	n, ok := length(v)
	if !ok {
		return nil, typeError("%s object is not iterable", quoteRepr(v.typeName()))
	}
	if err := r.growItems(n); err != nil {
		return nil, err
	}
	items := make([]Value, 0, n)
	switch v := v.(type) {
	case *Dict:
		for _, e := range v.entries {
			items = append(items, e.key)
		}
	case *dictView:
		for i := range n {
			items = append(items, v.at(i))
		}
	case *rangeValue:
		for i := range v.n {
			items = append(items, v.at(i))
		}
	default:
		s, _ := text(v)
		for _, c := range s {
			items = append(items, Str(string(c)))
		}
	}
	return items, nil
}

func (r *run) drain(g *generator) ([]Value, error) {
	var items []Value
	for {
		v, ok, err := g.next()
		if err != nil || !ok {
			return items, err
		}
		items = append(items, v)
		if len(items) > r.opts.MaxOutput/16 {
			return nil, r.growItems(len(items))
		}
		if err := r.step(1); err != nil {
			return nil, err
		}
	}
}

// iterate returns an iterator over v that fetches one item at a time.
func (r *run) iterate(v Value) (func() (Value, bool, error), error) {
	if g, ok := v.(*generator); ok {
		return g.next, nil
	}
	items, err := r.items(v)
	if err != nil {
		return nil, err
	}
	return over(items), nil
}

// over iterates over a slice.
func over(items []Value) func() (Value, bool, error) {
	i := 0
	return func() (Value, bool, error) {
		if i >= len(items) {
			return nil, false, nil
		}
		i++
		return items[i-1], true, nil
	}
}

// lazy makes a generator that opens its source when the first item is requested, as a Python
// generator does.
func lazy(open func() (func() (Value, bool, error), error)) *generator {
	var next func() (Value, bool, error)
	return &generator{name: "generator", next: func() (Value, bool, error) {
		if next == nil {
			var err error
			if next, err = open(); err != nil {
				return nil, false, err
			}
		}
		return next()
	}}
}
