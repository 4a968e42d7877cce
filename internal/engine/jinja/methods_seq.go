package jinja

import "slices"

// Methods of dicts, lists and tuples. The field mutate is set for those that modify their value.
var dictMethods, listMethods, tupleMethods table

func init() {
	view := func(kind byte) builtin {
		return builtin{fn: func(_ *run, c call) (Value, error) { return &dictView{c.self.(*Dict), kind}, nil }}
	}
	dictMethods = newTable(map[string]builtin{
		"keys":   view('k'),
		"values": view('v'),
		"items":  view('i'),
		"get":    {params: params("key default="), fn: dictGet},
		"copy": {fn: func(r *run, c call) (Value, error) {
			d := c.self.(*Dict)
			return d.Clone(), r.step(d.Len())
		}},
		"pop":        {params: params("key default="), mutate: true, fn: dictPop},
		"popitem":    {mutate: true, fn: dictPopItem},
		"setdefault": {params: params("key default="), mutate: true, fn: dictSetDefault},
		"update":     {params: params("mapping="), kwargs: true, mutate: true, fn: dictUpdate},
		"clear": {mutate: true, fn: func(_ *run, c call) (Value, error) {
			*c.self.(*Dict) = Dict{}
			return None{}, nil
		}},
	})
	count := builtin{params: params("value"), fn: seqCount}
	index := builtin{params: params("value start= stop="), fn: seqIndex}
	tupleMethods = newTable(map[string]builtin{"count": count, "index": index})
	listMethods = newTable(map[string]builtin{
		"count": count,
		"index": index,
		"copy": {fn: func(r *run, c call) (Value, error) {
			l := c.self.(*List)
			return &List{slices.Clone(l.Items)}, r.growItems(len(l.Items))
		}},
		"append":  {params: params("value"), mutate: true, fn: listAppend},
		"extend":  {params: params("values"), mutate: true, fn: listExtend},
		"insert":  {params: params("index value"), mutate: true, fn: listInsert},
		"pop":     {params: params("index="), mutate: true, fn: listPop},
		"remove":  {params: params("value"), mutate: true, fn: listRemove},
		"reverse": {mutate: true, fn: listReverse},
		"sort":    {params: params("key= reverse="), mutate: true, fn: listSort},
		"clear": {mutate: true, fn: func(_ *run, c call) (Value, error) {
			c.self.(*List).Items = nil
			return None{}, nil
		}},
	})
}

func dictGet(_ *run, c call) (Value, error) {
	v, ok, err := c.self.(*Dict).getItem(c.args[0])
	if err != nil || ok {
		return v, err
	}
	return c.arg(1, None{}), nil
}

func dictPop(_ *run, c call) (Value, error) {
	d := c.self.(*Dict)
	h, err := hashKey(c.args[0])
	if err != nil {
		return nil, err
	}
	if i := d.find(h); i >= 0 {
		v := d.entries[i].value
		d.remove(h)
		return v, nil
	}
	if c.args[1] == nil {
		return nil, &fault{"KeyError", repr(c.args[0])}
	}
	return c.args[1], nil
}

func dictPopItem(_ *run, c call) (Value, error) {
	d := c.self.(*Dict)
	if d.Len() == 0 {
		return nil, &fault{"KeyError", "'popitem(): dictionary is empty'"}
	}
	e := d.entries[d.Len()-1]
	d.remove(e.hash)
	return pair(e.key, e.value), nil
}

func dictSetDefault(_ *run, c call) (Value, error) {
	d := c.self.(*Dict)
	if v, ok, err := d.getItem(c.args[0]); ok || err != nil {
		return v, err
	}
	v := c.arg(1, None{})
	return v, d.setItem(c.args[0], v)
}

func dictUpdate(r *run, c call) (Value, error) {
	d := c.self.(*Dict)
	if err := r.updateDict(d, c.arg(0, None{})); err != nil {
		return nil, err
	}
	for _, k := range c.kw {
		d.Set(k.name, k.v)
	}
	return None{}, nil
}

// seqItems returns the items of a list or a tuple.
func seqItems(v Value) []Value {
	if t, ok := v.(*tuple); ok {
		return t.items
	}
	return v.(*List).Items
}

func seqCount(r *run, c call) (Value, error) {
	n := Int(0)
	for _, x := range seqItems(c.self) {
		eq, err := r.equal(x, c.args[0])
		if err != nil {
			return nil, err
		}
		if eq {
			n++
		}
	}
	return n, r.step(len(seqItems(c.self)))
}

func seqIndex(r *run, c call) (Value, error) {
	items := seqItems(c.self)
	start, _, _, n, err := sliceBounds([3]Value{c.args[1], c.args[2], nil}, len(items))
	if err != nil {
		return nil, err
	}
	for i, x := range items[start : start+n] {
		if eq, err := r.equal(x, c.args[0]); eq || err != nil {
			return Int(start + i), err
		}
	}
	if _, ok := c.self.(*tuple); ok {
		return nil, valueError("tuple.index(x): x not in tuple")
	}
	return nil, valueError("%s is not in list", repr(c.args[0]))
}

func listAppend(r *run, c call) (Value, error) {
	l := c.self.(*List)
	l.Items = append(l.Items, c.args[0])
	return None{}, r.growItems(1)
}

func listExtend(r *run, c call) (Value, error) {
	items, err := r.items(c.args[0])
	if err != nil {
		return nil, err
	}
	l := c.self.(*List)
	l.Items = append(l.Items, items...)
	if err := r.step(len(items)); err != nil {
		return nil, err
	}
	return None{}, r.growItems(len(l.Items))
}

func listInsert(r *run, c call) (Value, error) {
	l := c.self.(*List)
	at, _, _, _, err := sliceBounds([3]Value{c.args[0], nil, nil}, len(l.Items))
	if err != nil {
		return nil, err
	}
	l.Items = slices.Insert(l.Items, at, c.args[1])
	return None{}, r.growItems(len(l.Items))
}

func listPop(_ *run, c call) (Value, error) {
	l := c.self.(*List)
	if len(l.Items) == 0 {
		return nil, &fault{"IndexError", "pop from empty list"}
	}
	i, err := c.intArg(0, -1)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		i += len(l.Items)
	}
	if i < 0 || i >= len(l.Items) {
		return nil, &fault{"IndexError", "pop index out of range"}
	}
	v := l.Items[i]
	l.Items = slices.Delete(l.Items, i, i+1)
	return v, nil
}

func listRemove(r *run, c call) (Value, error) {
	l := c.self.(*List)
	for i, x := range l.Items {
		eq, err := r.equal(x, c.args[0])
		if err != nil {
			return nil, err
		}
		if eq {
			l.Items = slices.Delete(l.Items, i, i+1)
			return None{}, r.step(i)
		}
	}
	return nil, valueError("list.remove(x): x not in list")
}

func listReverse(_ *run, c call) (Value, error) {
	slices.Reverse(c.self.(*List).Items)
	return None{}, nil
}

func listSort(r *run, c call) (Value, error) {
	if c.args[0] != nil && c.args[0] != Value(None{}) {
		return nil, typeError("sort() with a key is not supported: use the sort filter")
	}
	return None{}, sortBy(r, c.self.(*List).Items, func(v Value) Value { return v }, c.boolArg(1, false))
}
