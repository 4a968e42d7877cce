package jinja

import (
	"slices"
	"strings"
)

func filterFirst(r *run, c call) (Value, error) {
	next, err := r.iterate(c.self)
	if err != nil {
		return nil, err
	}
	v, ok, err := next()
	if err != nil || ok {
		return v, err
	}
	return &undefined{hint: "No first item, sequence was empty."}, nil
}

// reversible returns the items of a value that Python's reversed function accepts.
func (r *run) reversible(v Value) ([]Value, error) {
	switch v.(type) {
	case *generator, *loopState:
		return nil, typeError("%s object is not reversible", quoteRepr(v.typeName()))
	}
	return r.items(v)
}

func filterLast(r *run, c call) (Value, error) {
	items, err := r.reversible(c.self)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &undefined{hint: "No last item, sequence was empty."}, nil
	}
	return items[len(items)-1], nil
}

func filterReverse(r *run, c call) (Value, error) {
	if s, ok := text(c.self); ok {
		runes := []rune(s)
		slices.Reverse(runes)
		return like(c.self, string(runes)), r.grow(len(s))
	}
	items, err := r.items(c.self)
	if err != nil {
		return nil, &fault{"FilterArgumentError", "argument must be iterable"}
	}
	out := slices.Clone(items)
	slices.Reverse(out)
	if err := r.growItems(len(out)); err != nil {
		return nil, err
	}
	if _, ok := c.self.(*generator); ok {
		return &List{out}, nil
	}
	return &generator{next: over(out), name: reverseName(c.self)}, nil
}

func reverseName(v Value) string {
	switch v.(type) {
	case *List:
		return "list_reverseiterator"
	case *rangeValue:
		return "range_iterator"
	case *Dict:
		return "dict_reversekeyiterator"
	}
	return "reversed"
}

func filterLength(_ *run, c call) (Value, error) {
	n, ok := length(c.self)
	if !ok {
		return nil, typeError("object of type %s has no len()", quoteRepr(c.self.typeName()))
	}
	return Int(n), nil
}

func filterList(r *run, c call) (Value, error) {
	items, err := r.items(c.self)
	if err != nil {
		return nil, err
	}
	return &List{slices.Clone(items)}, r.growItems(len(items))
}

func filterItems(r *run, c call) (Value, error) {
	self := c.self
	return lazy(func() (func() (Value, bool, error), error) {
		switch v := self.(type) {
		case *undefined:
			return over(nil), nil
		case *Dict:
			return r.iterate(&dictView{v, 'i'})
		}
		return nil, typeError("Can only get item pairs from a mapping.")
	}), nil
}

func filterSum(r *run, c call) (Value, error) {
	items, err := r.items(c.self)
	if err != nil {
		return nil, err
	}
	g := newGetter(c.arg(0, None{}))
	sum := c.arg(1, Int(0))
	if _, ok := text(sum); ok {
		return nil, typeError("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for _, x := range items {
		if x, err = g.get(x); err != nil {
			return nil, err
		}
		if err := r.step(1); err != nil {
			return nil, err
		}
		if sum, err = r.binary(opAdd, sum, x); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func filterJoin(r *run, c call) (Value, error) {
	items, err := r.items(c.self)
	if err != nil {
		return nil, err
	}
	sep, err := r.str(c.arg(0, Str("")))
	if err != nil {
		return nil, err
	}
	g := newGetter(c.arg(1, None{}))
	var b strings.Builder
	for i, x := range items {
		if i > 0 {
			b.WriteString(sep)
		}
		if x, err = g.get(x); err != nil {
			return nil, err
		}
		s, err := r.str(x)
		if err != nil {
			return nil, err
		}
		b.WriteString(s)
		if b.Len() > r.opts.MaxOutput {
			break
		}
	}
	if err := r.step(len(items)); err != nil {
		return nil, err
	}
	return Str(b.String()), r.grow(b.Len())
}

func filterBatch(r *run, c call) (Value, error) {
	n, err := c.intArg(0, 0)
	if err != nil {
		return nil, err
	}
	self, fill := c.self, c.arg(1, None{})
	return lazy(func() (func() (Value, bool, error), error) {
		items, err := r.items(self)
		if err != nil {
			return nil, err
		}
		var out []Value
		var row []Value
		for _, x := range items {
			if len(row) == n {
				out = append(out, &List{row})
				row = nil
			}
			row = append(row, x)
		}
		if len(row) > 0 {
			if fill != Value(None{}) && n > len(row) {
				if err := r.growItems(n); err != nil {
					return nil, err
				}
				for len(row) < n {
					row = append(row, fill)
				}
			}
			out = append(out, &List{row})
		}
		return over(out), r.growItems(len(items))
	}), nil
}

func filterSlice(r *run, c call) (Value, error) {
	n, err := c.intArg(0, 0)
	if err != nil {
		return nil, err
	}
	self, fill := c.self, c.arg(1, None{})
	return lazy(func() (func() (Value, bool, error), error) {
		items, err := r.items(self)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, errZeroDiv
		}
		n = max(n, 0)
		if err := r.growItems(n + len(items)); err != nil {
			return nil, err
		}
		var out []Value
		for i, offset := 0, 0; i < n; i++ {
			size := len(items) / n
			if i < len(items)%n {
				size++
			}
			row := slices.Clone(items[offset : offset+size])
			if fill != Value(None{}) && i >= len(items)%n {
				row = append(row, fill)
			}
			out = append(out, &List{row})
			offset += size
		}
		return over(out), nil
	}), nil
}
