// Package jsontree holds a JSON value as a tree that keeps what encoding/json's maps lose: the
// order of members and the exact text of every number and string. It is used to rewrite schemas and
// to repair arguments, where unchanged parts must be written exactly as they were read.
package jsontree

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of JSON values.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the JSON Schema name of the kind.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// Value is one JSON value. The zero Value is invalid; build one with [Parse] or the New functions.
type Value struct {
	Kind    Kind
	Items   []*Value // of an array
	Members []Member // of an object, in source order; repeated keys are kept, and the last one counts
	raw     string   // JSON text of a scalar

	// Written is how a scalar was written before its syntax was repaired, if it was a number in a
	// form that JSON does not have. It is no part of the value.
	Written string
}

// Member is one key of an object with its value.
type Member struct {
	Key   string // decoded
	Value *Value
}

// NewString returns a string value.
func NewString(s string) *Value { return &Value{Kind: String, raw: quote(s)} }

// NewBool returns a boolean value.
func NewBool(b bool) *Value { return &Value{Kind: Bool, raw: strconv.FormatBool(b)} }

// NewNull returns null.
func NewNull() *Value { return &Value{Kind: Null, raw: "null"} }

// NewInt returns a number.
func NewInt(n int64) *Value { return &Value{Kind: Number, raw: strconv.FormatInt(n, 10)} }

// NewArray returns an array of items.
func NewArray(items ...*Value) *Value { return &Value{Kind: Array, Items: items} }

// NewStrings returns an array of strings.
func NewStrings(items ...string) *Value {
	a := NewArray()
	for _, s := range items {
		a.Items = append(a.Items, NewString(s))
	}
	return a
}

// NewObject returns an empty object.
func NewObject() *Value { return &Value{Kind: Object} }

// Raw returns the JSON text of a scalar, as it was read.
func (v *Value) Raw() string { return v.raw }

// Text returns the decoded string, or "" when v is not a string.
func (v *Value) Text() string {
	if v == nil || v.Kind != String {
		return ""
	}
	return unquote(v.raw)
}

// IsString reports whether v is the string s.
func (v *Value) IsString(s string) bool { return v != nil && v.Kind == String && v.Text() == s }

// Bool returns the value of a boolean and whether v is one.
func (v *Value) Bool() (value, ok bool) {
	if v == nil || v.Kind != Bool {
		return false, false
	}
	return v.raw == "true", true
}

// Get returns the value of key, or nil when v is not an object or lacks it.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != Object {
		return nil
	}
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// Set sets the value of key to x: in place if the key exists, else at the end.
func (v *Value) Set(key string, x *Value) {
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			v.Members[i].Value = x
			return
		}
	}
	v.Members = append(v.Members, Member{Key: key, Value: x})
}

// Delete removes every member named key.
func (v *Value) Delete(key string) {
	v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.Key == key })
}

// Clone returns a deep copy.
func (v *Value) Clone() *Value {
	if v == nil {
		return nil
	}
	c := &Value{Kind: v.Kind, raw: v.raw, Written: v.Written}
	if v.Items != nil {
		c.Items = make([]*Value, len(v.Items))
		for i, x := range v.Items {
			c.Items[i] = x.Clone()
		}
	}
	if v.Members != nil {
		c.Members = make([]Member, len(v.Members))
		for i, m := range v.Members {
			c.Members[i] = Member{Key: m.Key, Value: m.Value.Clone()}
		}
	}
	return c
}

// Equal reports whether two values mean the same, whatever the order of their members. Numbers are
// equal only if they are written in the same way.
func (v *Value) Equal(w *Value) bool {
	if v == nil || w == nil {
		return v == w
	}
	if v.Kind != w.Kind || len(v.Items) != len(w.Items) {
		return false
	}
	switch v.Kind {
	case String:
		return v.raw == w.raw || v.Text() == w.Text()
	case Array:
		return slices.EqualFunc(v.Items, w.Items, (*Value).Equal)
	case Object:
		return maps.EqualFunc(v.byKey(), w.byKey(), (*Value).Equal)
	}
	return v.raw == w.raw
}

// byKey returns the members by key; the last of a repeated key wins.
func (v *Value) byKey() map[string]*Value {
	m := make(map[string]*Value, len(v.Members))
	for _, x := range v.Members {
		m[x.Key] = x.Value
	}
	return m
}

// Any returns the value as encoding/json would decode it into an any, numbers as [json.Number].
func (v *Value) Any() any {
	switch v.Kind {
	case Bool:
		return v.raw == "true"
	case Number:
		return json.Number(v.raw)
	case String:
		return v.Text()
	case Array:
		a := make([]any, len(v.Items))
		for i, x := range v.Items {
			a[i] = x.Any()
		}
		return a
	case Object:
		m := make(map[string]any, len(v.Members))
		for _, x := range v.Members {
			m[x.Key] = x.Value.Any()
		}
		return m
	}
	return nil
}

// Append appends the compact JSON text of v to dst.
func (v *Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Array:
		dst = append(dst, '[')
		for i, x := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = x.Append(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendQuoted(dst, m.Key)
			dst = append(dst, ':')
			dst = m.Value.Append(dst)
		}
		return append(dst, '}')
	case Invalid:
		return append(dst, "null"...)
	}
	return append(dst, v.raw...)
}

// JSON returns the compact JSON text of v.
func (v *Value) JSON() json.RawMessage { return v.Append(nil) }

// MarshalJSON implements [json.Marshaler].
func (v *Value) MarshalJSON() ([]byte, error) { return v.JSON(), nil }

var errTrailing = errors.New("text after the value")

// MaxDepth limits the nesting of a value. Text that people and models mean is never near it; walks
// over a value, and paths into it, stay small.
const MaxDepth = 1000

// errDeep means that a value is nested more than MaxDepth levels deep.
var errDeep = fmt.Errorf("the value is nested more than %d levels deep; make it flatter", MaxDepth)

// Parse reads one JSON value, nested at most [MaxDepth] levels deep.
func Parse(data []byte) (*Value, error) {
	if Depth(data) > MaxDepth {
		return nil, errDeep
	}
	if !json.Valid(data) {
		return nil, syntaxError(data)
	}
	p := parser{s: string(data)}
	v := p.value()
	p.space()
	if p.i != len(p.s) {
		return nil, errTrailing
	}
	return v, nil
}

// Depth returns the deepest nesting of brackets in JSON text.
func Depth(data []byte) int {
	deepest, open, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '[' || c == '{':
			open++
			deepest = max(deepest, open)
		case c == ']' || c == '}':
			open--
		}
	}
	return deepest
}

// syntaxError returns encoding/json's error for data, with its position.
func syntaxError(data []byte) error {
	var x any
	err := json.Unmarshal(data, &x)
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("at byte %d: %w", se.Offset, err)
	}
	if err == nil {
		err = errors.New("not valid JSON")
	}
	return err
}
