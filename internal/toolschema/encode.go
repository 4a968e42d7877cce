package toolschema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// Encode returns v as compact JSON that a [Decoder] of its type reads back. It works like
// encoding/json without HTML escapes, except that a [time.Duration] is written as text such as
// "1m30s", as the schema of its type asks for. A type with a JSON form of its own keeps it.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if v == nil || !mayHoldDuration(reflect.TypeOf(v), map[reflect.Type]bool{}) {
		return text, nil
	}
	tree, err := jsontree.Parse(text)
	if err != nil {
		return nil, err
	}
	s := speller{fields: map[reflect.Type][]field{}}
	s.spell(reflect.ValueOf(v), tree)
	if !s.changed {
		return text, nil
	}
	return tree.JSON(), nil
}

// mayHoldDuration reports whether a value of t may hold a duration that encoding/json writes as a
// number.
func mayHoldDuration(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == durationType || t.Kind() == reflect.Interface {
		return true
	}
	if seen[t] || isLeaf(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return mayHoldDuration(t.Elem(), seen)
	case reflect.Struct:
		for _, f := range jsonFields(t) {
			if mayHoldDuration(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// speller writes the durations of a value as text in the JSON of that value.
type speller struct {
	fields  map[reflect.Type][]field
	changed bool
}

func (s *speller) spell(v reflect.Value, tree *jsontree.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() || isLeaf(v.Type()) {
			return
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid() || tree == nil:
	case v.Type() == durationType:
		if tree.Kind == jsontree.Number {
			*tree, s.changed = *jsontree.NewString(time.Duration(v.Int()).String()), true
		}
	case isLeaf(v.Type()):
	case v.Kind() == reflect.Struct:
		s.object(v, tree)
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for i, item := range tree.Items {
			if i < v.Len() {
				s.spell(v.Index(i), item)
			}
		}
	case v.Kind() == reflect.Map:
		for it := v.MapRange(); it.Next(); {
			s.spell(it.Value(), tree.Get(mapKey(it.Key())))
		}
	}
}

func (s *speller) object(v reflect.Value, tree *jsontree.Value) {
	fields, ok := s.fields[v.Type()]
	if !ok {
		fields = jsonFields(v.Type())
		s.fields[v.Type()] = fields
	}
	for _, f := range fields {
		member := tree.Get(f.key)
		if member == nil {
			continue
		}
		if x, err := v.FieldByIndexErr(f.depthPath); err == nil {
			s.spell(x, member)
		}
	}
}

// mapKey returns the name under which encoding/json writes a key.
func mapKey(k reflect.Value) string {
	if k.Kind() == reflect.String {
		return k.String()
	}
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		text, _ := m.MarshalText()
		return string(text)
	}
	return fmt.Sprint(k.Interface())
}
