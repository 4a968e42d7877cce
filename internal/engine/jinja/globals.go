package jinja

import (
	"math"
	"slices"
)

// globalTable holds the functions available to every template.
var globalTable table

func init() {
	globalTable = newTable(map[string]builtin{
		"range":           {params: params("start stop= step="), fn: globalRange},
		"dict":            {params: params("mapping="), kwargs: true, fn: globalDict},
		"namespace":       {params: params("mapping="), kwargs: true, fn: globalNamespace},
		"cycler":          {rest: true, fn: globalCycler},
		"joiner":          {params: params("sep="), fn: globalJoiner},
		"raise_exception": {params: params("message"), fn: globalRaise},
		"strftime_now":    {params: params("format"), fn: globalStrftime},
	})
}

// maxRange is the sandbox's limit on the length of a range.
const maxRange = 100_000

func globalRange(_ *run, c call) (Value, error) {
	var n [3]int64
	for i, v := range c.args {
		if v == nil {
			continue
		}
		var ok bool
		if n[i], ok = intValue(v); !ok {
			if u, isUndef := v.(*undefined); isUndef {
				return nil, u.err()
			}
			return nil, typeError("%s object cannot be interpreted as an integer", quoteRepr(v.typeName()))
		}
	}
	start, stop, step := n[0], n[1], n[2]
	if c.args[1] == nil {
		start, stop = 0, n[0]
	}
	if c.args[2] == nil {
		step = 1
	}
	if step == 0 {
		return nil, valueError("range() arg 3 must not be zero")
	}
	count := math.Ceil((float64(stop) - float64(start)) / float64(step))
	if count > maxRange {
		return nil, &fault{"OverflowError", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."}
	}
	return &rangeValue{start, stop, step, int64(max(count, 0))}, nil
}

// dictOf builds a dict from a mapping or pairs, and keyword arguments.
func dictOf(r *run, c call) (*Dict, error) {
	d := NewDict()
	if err := r.updateDict(d, c.arg(0, None{})); err != nil {
		return nil, err
	}
	for _, k := range c.kw {
		d.Set(k.name, k.v)
	}
	return d, nil
}

// updateDict adds a mapping or pairs to d; None adds nothing.
func (r *run) updateDict(d *Dict, from Value) error {
	switch from := from.(type) {
	case None:
		return nil
	case *Dict:
		for _, e := range from.entries {
			d.put(e.hash, e.key, e.value)
		}
		return r.step(from.Len())
	}
	pairs, err := r.items(from)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		kv, err := r.items(p)
		if err != nil {
			return typeError("cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		if len(kv) != 2 {
			return valueError("dictionary update sequence element #%d has length %d; 2 is required", i, len(kv))
		}
		if err := d.setItem(kv[0], kv[1]); err != nil {
			return err
		}
	}
	return r.step(len(pairs))
}

func globalDict(r *run, c call) (Value, error) { return dictOf(r, c) }

func globalNamespace(r *run, c call) (Value, error) {
	d, err := dictOf(r, c)
	return &namespace{d}, err
}

func globalRaise(r *run, c call) (Value, error) {
	msg, err := r.str(c.args[0])
	if err != nil {
		return nil, err
	}
	return nil, &fault{"TemplateError", msg}
}

func globalStrftime(r *run, c call) (Value, error) {
	format, err := c.strArg(0, "")
	if err != nil {
		return nil, err
	}
	return Str(strftime(r.opts.Now, format)), r.grow(len(format))
}

// cycler cycles through its items.
type cycler struct {
	items []Value
	i     int
}

func (*cycler) typeName() string { return "Cycler" }

func globalCycler(_ *run, c call) (Value, error) {
	if len(c.rest) == 0 {
		return nil, &fault{"RuntimeError", "at least one item has to be provided"}
	}
	return &cycler{items: slices.Clone(c.rest)}, nil
}

var cyclerMethods = newTable(map[string]builtin{
	"next": {fn: func(_ *run, c call) (Value, error) {
		x := c.self.(*cycler)
		v := x.items[x.i]
		x.i = (x.i + 1) % len(x.items)
		return v, nil
	}},
	"reset": {fn: func(_ *run, c call) (Value, error) {
		c.self.(*cycler).i = 0
		return None{}, nil
	}},
})

// joiner returns the empty string on the first call, and its separator on all later ones.
type joiner struct {
	sep  Value
	used bool
}

func (*joiner) typeName() string { return "Joiner" }

func globalJoiner(_ *run, c call) (Value, error) {
	return &joiner{sep: c.arg(0, Str(", "))}, nil
}

func (j *joiner) call() Value {
	if !j.used {
		j.used = true
		return Str("")
	}
	return j.sep
}
