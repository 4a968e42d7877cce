package jinja

import "unicode/utf8"

// method finds a method of a value, or nil.
func method(obj Value, name string) *builtin {
	switch obj.(type) {
	case *Dict:
		return dictMethods[name]
	case Str, markup:
		return strMethods[name]
	case *List:
		return listMethods[name]
	case *tuple:
		return tupleMethods[name]
	case Int, Bool, *bigInt:
		return intMethods[name]
	case Float:
		return floatMethods[name]
	case *cycler:
		return cyclerMethods[name]
	}
	return nil
}

// getAttr returns obj.name: an attribute, or else an item, or else undefined.
func getAttr(obj Value, name string, key Value) (Value, error) {
	if v := attribute(obj, name); v != nil {
		return v, nil
	}
	switch o := obj.(type) {
	case *Dict:
		if i := o.find(key); i >= 0 {
			return o.entries[i].value, nil
		}
	case *undefined:
		return nil, o.err()
	}
	return &undefined{obj: obj, name: key}, nil
}

// attribute is Python's getattr; it returns nil if there is no such attribute.
func attribute(obj Value, name string) Value {
	if m := method(obj, name); m != nil {
		return &boundMethod{obj, m}
	}
	switch o := obj.(type) {
	case *namespace:
		if v, ok := o.attrs.Get(name); ok {
			return v
		}
	case *loopState:
		return o.attr(name)
	case *macro:
		return o.attr(name)
	case Int, Float, *bigInt:
		if name == "real" {
			return o
		}
	case *cycler:
		if name == "current" {
			return o.items[o.i]
		}
	case *tuple:
		for i, f := range o.fields {
			if f == name {
				return o.items[i]
			}
		}
	}
	return nil
}

// getItem returns obj[index]: an item, or else an attribute, or else undefined.
func getItem(obj, index Value) (Value, error) {
	switch o := obj.(type) {
	case *Dict:
		if v, ok, err := o.getItem(index); ok && err == nil {
			return v, nil
		}
	case *undefined:
		return nil, o.err()
	default:
		if v := element(obj, index); v != nil {
			return v, nil
		}
	}
	if name, ok := text(index); ok {
		if v := attribute(obj, name); v != nil {
			return v, nil
		}
	}
	return &undefined{obj: obj, name: index}, nil
}

// element returns an element of a sequence, or nil if there is none.
func element(obj, index Value) Value {
	i, ok := intValue(index)
	if !ok {
		return nil
	}
	switch o := obj.(type) {
	case *List:
		return pick(o.Items, i)
	case *tuple:
		return pick(o.items, i)
	case *rangeValue:
		if i < 0 {
			i += o.n
		}
		if i >= 0 && i < o.n {
			return o.at(i)
		}
	case Str, markup:
		s, _ := text(obj)
		if c := runeAt(s, i); c != "" {
			return like(obj, c)
		}
	}
	return nil
}

func pick(items []Value, i int64) Value {
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return nil
	}
	return items[i]
}

// runeAt returns the i-th code point of s, or "" if there is none.
func runeAt(s string, i int64) string {
	n := int64(runeLen(s))
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return ""
	}
	if int64(len(s)) == n {
		return s[i : i+1]
	}
	for ; i > 0; i-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

// slice returns obj[from:to:step].
func (r *run) slice(obj Value, bounds [3]Value) (Value, error) {
	if u, ok := obj.(*undefined); ok {
		return nil, u.err()
	}
	n, ok := length(obj)
	switch obj.(type) {
	case *Dict:
		return nil, typeError("unhashable type: 'slice'")
	case *dictView, *loopState:
		ok = false
	}
	if !ok {
		return nil, typeError("%s object is not subscriptable", quoteRepr(obj.typeName()))
	}
	start, stop, step, count, err := sliceBounds(bounds, n)
	if err != nil {
		return nil, err
	}
	switch o := obj.(type) {
	case *List:
		items, err := r.sliceItems(o.Items, start, step, count)
		return &List{items}, err
	case *tuple:
		items, err := r.sliceItems(o.items, start, step, count)
		return &tuple{items: items}, err
	case *rangeValue:
		from, by := o.start+int64(start)*o.step, o.step*int64(step)
		return &rangeValue{from, o.start + int64(stop)*o.step, by, int64(count)}, nil
	}
	s, _ := text(obj)
	if err := r.step(len(s) / 16); err != nil {
		return nil, err
	}
	return like(obj, sliceText(s, n, start, step, count)), nil
}

func (r *run) sliceItems(items []Value, start, step, count int) ([]Value, error) {
	if err := r.growItems(count); err != nil {
		return nil, err
	}
	out := make([]Value, count)
	for i := range out {
		out[i] = items[start+i*step]
	}
	return out, nil
}

func sliceText(s string, n, start, step, count int) string {
	if len(s) == n && step == 1 {
		return s[start : start+count]
	}
	if len(s) == n {
		out := make([]byte, count)
		for i := range out {
			out[i] = s[start+i*step]
		}
		return string(out)
	}
	runes := []rune(s)
	out := make([]rune, count)
	for i := range out {
		out[i] = runes[start+i*step]
	}
	return string(out)
}

// sliceBounds resolves the bounds of a slice of n items to a first and a last index, a step and a
// number of items.
func sliceBounds(bounds [3]Value, n int) (start, stop, step, count int, err error) {
	var given [3]*int64
	for i, b := range bounds {
		if b == nil || b == Value(None{}) {
			continue
		}
		v, ok := intValue(b)
		if u, isUndef := b.(*undefined); isUndef {
			return 0, 0, 0, 0, u.err()
		}
		if !ok {
			return 0, 0, 0, 0, typeError("slice indices must be integers or None or have an __index__ method")
		}
		given[i] = &v
	}
	step = 1
	if given[2] != nil {
		if *given[2] == 0 {
			return 0, 0, 0, 0, valueError("slice step cannot be zero")
		}
		step = int(min(max(*given[2], -int64(n)-1), int64(n)+1))
	}
	lo, hi := 0, n
	if step < 0 {
		lo, hi = -1, n-1
	}
	clamp := func(p *int64, def int) int {
		if p == nil {
			return def
		}
		i := *p
		if i < 0 {
			i += int64(n)
		}
		return int(min(max(i, int64(lo)), int64(hi)))
	}
	if step > 0 {
		start, stop = clamp(given[0], lo), clamp(given[1], hi)
		count = max(0, (stop-start+step-1)/step)
	} else {
		start, stop = clamp(given[0], hi), clamp(given[1], lo)
		count = max(0, (start-stop-step-1)/-step)
	}
	return start, stop, step, count, nil
}
