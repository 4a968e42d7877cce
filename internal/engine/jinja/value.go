package jinja

import (
	"math/big"
	"unicode/utf8"
)

// Value is a value of the template language: one of None, Bool, Int, Float, Str, *List, *Dict or
// one of the kinds that only templates create (tuples, generators, namespaces, functions,
// undefined). The set is sealed.
type Value interface {
	// typeName is the name of the Python type, as error messages show it.
	typeName() string
}

// None is Python's None and JSON's null.
type None struct{}

// Bool is a boolean; it prints as True or False and counts as 1 or 0 in arithmetic.
type Bool bool

// Int is an integer; results that exceed 64 bits become an arbitrary-precision integer.
type Int int64

// Float is a double; it prints as Python's repr does (1.0, 1e+16, inf).
type Float float64

// Str is a text of Unicode code points: length, indexes and slices count code points, not bytes.
type Str string

// List is a Python list.
type List struct{ Items []Value }

// NewList returns a list of the items. It keeps the slice, without a copy.
func NewList(items ...Value) *List { return &List{Items: items} }

// markup is text marked safe by the safe and escape filters; adding plain text to it escapes that
// text, as markupsafe does.
type markup string

// bigInt is an integer outside the range of Int. intOf returns an Int if the value fits.
type bigInt struct{ v *big.Int }

// tuple is a Python tuple. If the field fields is set, the elements are also attributes with these
// names (as for the pairs of groupby).
type tuple struct {
	items  []Value
	fields []string
}

func pair(a, b Value) *tuple { return &tuple{items: []Value{a, b}} }

// undefined is the value of a missing name, attribute or element. It prints as the empty string, is
// false, and iterates as empty. Any other use of it is an error that names the missing thing.
type undefined struct {
	hint string // the whole message, if set
	obj  Value  // the object that lacks name; nil for a variable
	name Value
	kind string // of the error; UndefinedError if empty
}

// message describes what is missing, in Jinja2's wording.
func (u *undefined) message() string {
	switch name, isStr := u.name.(Str); {
	case u.hint != "":
		return u.hint
	case u.obj == nil:
		return repr(u.name) + " is undefined"
	case !isStr:
		return objectName(u.obj) + " has no element " + repr(u.name)
	default:
		return quoteRepr(objectName(u.obj)) + " has no attribute " + quoteRepr(string(name))
	}
}

func (u *undefined) err() error {
	kind := u.kind
	if kind == "" {
		kind = "UndefinedError"
	}
	return &fault{kind: kind, msg: u.message()}
}

// objectName describes a value in messages about missing attributes.
func objectName(v Value) string {
	if _, ok := v.(None); ok {
		return "None"
	}
	return v.typeName() + " object"
}

// namespace is the mutable object whose attributes outlive scopes: {% set ns.x = 1 %}.
type namespace struct{ attrs *Dict }

// rangeValue is Python's lazy range.
type rangeValue struct{ start, stop, step, n int64 }

func (r *rangeValue) at(i int64) Value { return Int(r.start + i*r.step) }

// dictView is the result of a dict's keys, values and items.
type dictView struct {
	d    *Dict
	kind byte // 'k', 'v' or 'i'
}

func (w *dictView) at(i int) Value {
	e := w.d.entries[i]
	switch w.kind {
	case 'k':
		return e.key
	case 'v':
		return e.value
	}
	return pair(e.key, e.value)
}

// generator yields values once; filters such as map and selectattr return one.
type generator struct {
	next func() (Value, bool, error)
	name string // the Python type: generator, list_reverseiterator, …
}

func (None) typeName() string         { return "NoneType" }
func (Bool) typeName() string         { return "bool" }
func (Int) typeName() string          { return "int" }
func (Float) typeName() string        { return "float" }
func (Str) typeName() string          { return "str" }
func (markup) typeName() string       { return "Markup" }
func (*bigInt) typeName() string      { return "int" }
func (*List) typeName() string        { return "list" }
func (*tuple) typeName() string       { return "tuple" }
func (*Dict) typeName() string        { return "dict" }
func (*undefined) typeName() string   { return "Undefined" }
func (*namespace) typeName() string   { return "Namespace" }
func (*rangeValue) typeName() string  { return "range" }
func (g *generator) typeName() string { return g.name }
func (w *dictView) typeName() string {
	switch w.kind {
	case 'k':
		return "dict_keys"
	case 'v':
		return "dict_values"
	}
	return "dict_items"
}

// text returns the string in a Str or markup.
func text(v Value) (string, bool) {
	switch v := v.(type) {
	case Str:
		return string(v), true
	case markup:
		return string(v), true
	}
	return "", false
}

// like returns s as the same kind of text as the value model, so that string methods of safe text
// return safe text.
func like(model Value, s string) Value {
	if _, ok := model.(markup); ok {
		return markup(s)
	}
	return Str(s)
}

// truth is Python's bool(v).
func truth(v Value) bool {
	switch v := v.(type) {
	case Bool:
		return bool(v)
	case None, *undefined:
		return false
	case Str:
		return v != ""
	case Int:
		return v != 0
	case Float:
		return v != 0
	case markup:
		return v != ""
	}
	if n, ok := length(v); ok {
		return n > 0
	}
	return true
}

// length is Python's len(v); the result ok is false if v has no length.
func length(v Value) (int, bool) {
	switch v := v.(type) {
	case Str:
		return runeLen(string(v)), true
	case markup:
		return runeLen(string(v)), true
	case *List:
		return len(v.Items), true
	case *tuple:
		return len(v.items), true
	case *Dict:
		return v.Len(), true
	case *dictView:
		return v.d.Len(), true
	case *rangeValue:
		return int(v.n), true
	case *undefined:
		return 0, true
	case *loopState:
		return len(v.items), true
	}
	return 0, false
}

func runeLen(s string) int {
	if isASCII(s) {
		return len(s)
	}
	return utf8.RuneCountInString(s)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
