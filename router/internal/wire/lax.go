package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"
)

// The types below decode a field of a server's answer without failing: a value of another type than
// expected is absent, not an error, so that a field which nobody needs cannot void an answer.
// encoding/json still refuses text that is not JSON.

// Unmarshal decodes JSON. A field whose value is of another type than expected counts as absent.
func Unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, odd := errors.AsType[*json.UnmarshalTypeError](err); odd { // the other fields were read
		return nil
	}
	return err
}

// Int is a whole number. It also reads floats and numbers in strings.
type Int struct {
	N   int64
	Set bool // there was a number
}

// UnmarshalJSON reads a number.
func (i *Int) UnmarshalJSON(data []byte) error {
	*i = Int{}
	text := string(bytes.Trim(data, `" `))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		*i = Int{N: n, Set: true}
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < 1<<62 {
		*i = Int{N: int64(f), Set: true}
	}
	return nil
}

// String is a text. Every value that is no string counts as the empty one.
type String string

// UnmarshalJSON reads a string.
func (s *String) UnmarshalJSON(data []byte) error {
	*s = ""
	if len(data) < 2 || data[0] != '"' {
		return nil
	}
	if inner := data[1 : len(data)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		*s = String(inner)
		return nil
	}
	return json.Unmarshal(data, (*string)(s))
}

// Maybe is an object with the fields of T. Every value that is no object counts as absent.
type Maybe[T any] struct {
	V   T
	Set bool
}

// UnmarshalJSON reads an object.
func (o *Maybe[T]) UnmarshalJSON(data []byte) error {
	*o = Maybe[T]{}
	if len(data) > 0 && data[0] == '{' {
		o.Set = json.Unmarshal(data, &o.V) == nil
	}
	return nil
}

// List is a list of objects. A single object counts as a list of one, null elements are left out,
// and every other value counts as an empty list.
type List[T any] []T

// UnmarshalJSON reads a list.
func (l *List[T]) UnmarshalJSON(data []byte) error {
	*l = (*l)[:0]
	switch {
	case len(data) == 0:
	case data[0] == '{':
		var one T
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		*l = append(*l, one)
	case data[0] == '[':
		var raws []json.RawMessage
		if err := json.Unmarshal(data, &raws); err != nil {
			return err
		}
		for _, raw := range raws {
			if len(raw) == 0 || raw[0] != '{' {
				continue
			}
			var one T
			if err := json.Unmarshal(raw, &one); err != nil {
				return err
			}
			*l = append(*l, one)
		}
	}
	return nil
}

// Text returns the string in raw, or raw itself if it is not a string. Null is empty.
func Text(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Quoted returns the string in raw, or "" if it is no string.
func Quoted(raw json.RawMessage) string {
	var s String
	_ = s.UnmarshalJSON(raw) // an invalid one stays empty
	return string(s)
}

// Absent reports whether raw holds nothing: no value, null, false, or an empty text, object or
// list.
func Absent(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "false", `""`, "{}", "[]", "0":
		return true
	}
	return false
}
