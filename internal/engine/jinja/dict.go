package jinja

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Dict is a Python dict: it keeps the order in which keys were first set. Use NewDict or FromJSON;
// the zero value is empty and ready too.
type Dict struct {
	entries []entry
	index   map[Value]int // by hash key; nil while the dict is small enough to scan
}

type entry struct {
	hash  Value // the key, normalised so that Go's == is Python's equality of keys
	key   Value
	value Value
}

// scanLimit is the largest size for which a scan is faster than a map.
const scanLimit = 8

// NewDict returns an empty dict.
func NewDict() *Dict { return &Dict{} }

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.entries) }

// Set sets a string key and returns d for chaining. A key that is already present keeps its place.
func (d *Dict) Set(key string, v Value) *Dict {
	d.put(Str(key), Str(key), v)
	return d
}

// Get returns the value of a string key.
func (d *Dict) Get(key string) (Value, bool) {
	if i := d.find(Str(key)); i >= 0 {
		return d.entries[i].value, true
	}
	return nil, false
}

// Delete removes a string key and reports whether the key was present.
func (d *Dict) Delete(key string) bool { return d.remove(Str(key)) }

// All yields keys and values in order. A key that is not a string is converted to its printed form.
func (d *Dict) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, e := range d.entries {
			if !yield(toStr(e.key), e.value) {
				return
			}
		}
	}
}

// Clone returns a dict with the same keys and the same values (a shallow copy).
func (d *Dict) Clone() *Dict {
	c := &Dict{entries: slices.Clone(d.entries)}
	c.reindex()
	return c
}

// find returns the index of the entry with the hash key h, or -1.
func (d *Dict) find(h Value) int {
	if d.index != nil {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	if s, ok := h.(Str); ok {
		for i := range d.entries {
			if k, ok := d.entries[i].hash.(Str); ok && k == s {
				return i
			}
		}
		return -1
	}
	for i := range d.entries {
		if d.entries[i].hash == h {
			return i
		}
	}
	return -1
}

func (d *Dict) put(h, key, v Value) {
	if i := d.find(h); i >= 0 {
		d.entries[i].value = v
		return
	}
	d.entries = append(d.entries, entry{h, key, v})
	if d.index != nil {
		d.index[h] = len(d.entries) - 1
	} else if len(d.entries) > scanLimit {
		d.reindex()
	}
}

func (d *Dict) remove(h Value) bool {
	i := d.find(h)
	if i < 0 {
		return false
	}
	d.entries = slices.Delete(d.entries, i, i+1)
	d.reindex()
	return true
}

func (d *Dict) reindex() {
	d.index = nil
	if len(d.entries) <= scanLimit {
		return
	}
	d.index = make(map[Value]int, len(d.entries)*2)
	for i, e := range d.entries {
		d.index[e.hash] = i
	}
}

// setItem does d[key] = v for any hashable key.
func (d *Dict) setItem(key, v Value) error {
	h, err := hashKey(key)
	if err != nil {
		return err
	}
	d.put(h, key, v)
	return nil
}

// getItem returns d[key]; the result ok is false if the key is missing.
func (d *Dict) getItem(key Value) (v Value, ok bool, err error) {
	h, err := hashKey(key)
	if err != nil {
		return nil, false, err
	}
	if i := d.find(h); i >= 0 {
		return d.entries[i].value, true, nil
	}
	return nil, false, nil
}

// opaqueKey is the hash key of a value that has no natural comparable form.
type opaqueKey string

func (opaqueKey) typeName() string { return "key" }

// hashKey maps a key to a comparable value such that Go's == is Python's equality: 1, 1.0 and True
// are the same key.
func hashKey(v Value) (Value, error) { return hashKeyDepth(v, 0) }

func hashKeyDepth(v Value, depth int) (Value, error) {
	switch v := v.(type) {
	case Str, Int, None:
		return v, nil
	case markup:
		return Str(v), nil
	case Bool:
		if v {
			return Int(1), nil
		}
		return Int(0), nil
	case Float:
		if i := Int(v); Float(i) == v && v < 1<<62 && v > -1<<62 {
			return i, nil
		}
		return v, nil
	case *bigInt:
		return opaqueKey(v.v.String()), nil
	case *undefined:
		return opaqueKey("undefined"), nil
	case *tuple:
		return tupleKey(v, depth)
	case *List, *Dict, *dictView:
		return nil, typeError("unhashable type: %s", quoteRepr(v.typeName()))
	}
	return v, nil // all other values are pointers, which are equal if they are the same object
}

// maxTupleKey limits the size of tuples as keys, since keys of tuples that contain the same parts
// many times could be exponentially large.
const maxTupleKey = 1 << 14

func tupleKey(t *tuple, depth int) (Value, error) {
	if depth > maxValueDepth {
		return nil, errValueDepth
	}
	var b strings.Builder
	for _, x := range t.items {
		h, err := hashKeyDepth(x, depth+1)
		if err != nil {
			return nil, err
		}
		s := h.typeName() + ":" + repr(h)
		if k, ok := h.(opaqueKey); ok {
			s = string(k)
		}
		b.WriteString(strconv.Itoa(len(s)) + ":" + s)
		if b.Len() > maxTupleKey {
			return nil, limitError("tuple used as a key is larger than %d bytes", maxTupleKey)
		}
	}
	return opaqueKey("(" + b.String()), nil
}
