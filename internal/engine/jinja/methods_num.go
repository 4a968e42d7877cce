package jinja

import "math"

// Methods of numbers.
var intMethods = newTable(map[string]builtin{
	"bit_length": {fn: func(_ *run, c call) (Value, error) {
		b, _ := bigOf(c.self)
		return Int(b.BitLen()), nil
	}},
	"conjugate": {fn: func(_ *run, c call) (Value, error) { return c.self, nil }},
})

var floatMethods = newTable(map[string]builtin{
	"is_integer": {fn: func(_ *run, c call) (Value, error) {
		f := float64(c.self.(Float))
		return Bool(f == math.Floor(f) && !math.IsInf(f, 0)), nil
	}},
	"conjugate": {fn: func(_ *run, c call) (Value, error) { return c.self, nil }},
})
