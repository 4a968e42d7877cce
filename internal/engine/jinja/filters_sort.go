package jinja

import (
	"strconv"
	"strings"
)

// getter reads an attribute path such as "a.b.0" from a value.
type getter struct {
	parts []Value
	fold  bool  // convert text to lower case, for comparisons that ignore case
	def   Value // replaces a missing value; nil means that there is no replacement
}

func newGetter(attribute Value) getter {
	s, ok := text(attribute)
	if !ok {
		if attribute == Value(None{}) {
			return getter{}
		}
		return getter{parts: []Value{attribute}}
	}
	var g getter
	for _, p := range strings.Split(s, ".") {
		if n, err := strconv.ParseInt(p, 10, 64); err == nil && isDigit(p[0]) {
			g.parts = append(g.parts, Int(n))
		} else {
			g.parts = append(g.parts, Str(p))
		}
	}
	return g
}

func (g getter) get(v Value) (Value, error) {
	for _, p := range g.parts {
		var err error
		if v, err = getItem(v, p); err != nil {
			return nil, err
		}
		if g.def != nil && isUndefined(v) {
			v = g.def
		}
	}
	if s, ok := text(v); ok && g.fold {
		return like(v, strings.ToLower(s)), nil
	}
	return v, nil
}

// keyed pairs an item with the key by which a filter compares it.
type keyed struct{ item, key Value }

func keysOf(r *run, v Value, key func(Value) (Value, error)) ([]keyed, error) {
	items, err := r.items(v)
	if err != nil {
		return nil, err
	}
	out := make([]keyed, len(items))
	for i, x := range items {
		k, err := key(x)
		if err != nil {
			return nil, err
		}
		out[i] = keyed{x, k}
	}
	return out, r.step(len(items) * 4)
}

func itemsOf(ks []keyed) []Value {
	items := make([]Value, len(ks))
	for i, k := range ks {
		items[i] = k.item
	}
	return items
}

func filterSort(r *run, c call) (Value, error) {
	fold := !c.boolArg(1, false)
	var getters []getter
	attribute := c.arg(2, None{})
	if s, ok := text(attribute); ok {
		for _, a := range strings.Split(s, ",") {
			getters = append(getters, newGetter(Str(a)))
		}
	} else {
		getters = append(getters, newGetter(attribute))
	}
	ks, err := keysOf(r, c.self, func(v Value) (Value, error) {
		l := NewList()
		for _, g := range getters {
			g.fold = fold
			k, err := g.get(v)
			if err != nil {
				return nil, err
			}
			l.Items = append(l.Items, k)
		}
		return l, nil
	})
	if err != nil {
		return nil, err
	}
	err = sortBy(r, ks, func(k keyed) Value { return k.key }, c.boolArg(0, false))
	return &List{itemsOf(ks)}, err
}

func filterDictsort(r *run, c call) (Value, error) {
	d, ok := c.self.(*Dict)
	if !ok {
		return nil, noAttribute(c.self, "items")
	}
	by, err := c.strArg(1, "key")
	if err != nil {
		return nil, err
	}
	if by != "key" && by != "value" {
		return nil, &fault{"FilterArgumentError", `You can only sort by either "key" or "value"`}
	}
	g := newGetter(Int(strings.Index("key value", by) / len("key ")))
	g.fold = !c.boolArg(0, false)
	ks, err := keysOf(r, &dictView{d, 'i'}, g.get)
	if err != nil {
		return nil, err
	}
	err = sortBy(r, ks, func(k keyed) Value { return k.key }, c.boolArg(2, false))
	return &List{itemsOf(ks)}, err
}

// noAttribute returns the error for using a missing attribute.
func noAttribute(v Value, name string) error {
	if u, ok := v.(*undefined); ok {
		return u.err()
	}
	return &fault{"AttributeError", quoteRepr(objectName(v)) + " has no attribute " + quoteRepr(name)}
}

func filterGroupby(r *run, c call) (Value, error) {
	g := newGetter(c.args[0])
	g.def, g.fold = c.args[1], !c.boolArg(2, false)
	ks, err := keysOf(r, c.self, g.get)
	if err != nil {
		return nil, err
	}
	if err := sortBy(r, ks, func(k keyed) Value { return k.key }, false); err != nil {
		return nil, err
	}
	g.fold = false
	out := NewList()
	for i := 0; i < len(ks); {
		j := i + 1
		for ; j < len(ks); j++ {
			if eq, err := r.equal(ks[i].key, ks[j].key); err != nil || !eq {
				if err != nil {
					return nil, err
				}
				break
			}
		}
		grouper, err := g.get(ks[i].item)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, &tuple{items: []Value{grouper, &List{itemsOf(ks[i:j])}}, fields: groupFields})
		i = j
	}
	return out, nil
}

var groupFields = []string{"grouper", "list"}

func filterUnique(r *run, c call) (Value, error) {
	self := c.self
	g := newGetter(c.arg(1, None{}))
	g.fold = !c.boolArg(0, false)
	return lazy(func() (func() (Value, bool, error), error) {
		next, err := r.iterate(self)
		seen := map[Value]bool{}
		return keep(r, next, func(v Value) (bool, error) {
			k, err := g.get(v)
			if err != nil {
				return false, err
			}
			h, err := hashKey(k)
			if err != nil || seen[h] {
				return false, err
			}
			seen[h] = true
			return true, nil
		}), err
	}), nil
}

// keep yields the items for which the function ok returns true.
func keep(r *run, next func() (Value, bool, error), ok func(Value) (bool, error)) func() (Value, bool, error) {
	return func() (Value, bool, error) {
		for {
			v, more, err := next()
			if err != nil || !more {
				return nil, false, err
			}
			if err := r.step(1); err != nil {
				return nil, false, err
			}
			if is, err := ok(v); is || err != nil {
				return v, is, err
			}
		}
	}
}

// extreme makes the filters min and max.
func extreme(op operator) builtin {
	return builtin{params: params("case_sensitive= attribute="), fn: func(r *run, c call) (Value, error) {
		g := newGetter(c.arg(1, None{}))
		g.fold = !c.boolArg(0, false)
		ks, err := keysOf(r, c.self, g.get)
		if err != nil {
			return nil, err
		}
		if len(ks) == 0 {
			return &undefined{hint: "No aggregated item, sequence was empty."}, nil
		}
		best := ks[0]
		for _, k := range ks[1:] {
			better, err := r.order(op, k.key, best.key)
			if err != nil {
				return nil, err
			}
			if better {
				best = k
			}
		}
		return best.item, nil
	}}
}
