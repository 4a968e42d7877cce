package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

// wireWriter writes the wire form of events. It keeps the first error.
type wireWriter struct {
	buf   bytes.Buffer
	depth int // of objects in objects
	err   error
}

func (w *wireWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// object writes a struct, with a type tag unless tag is empty.
func (w *wireWriter) object(v reflect.Value, tag string) {
	if w.depth++; w.depth > maxEventDepth {
		w.fail(errDeep)
		return
	}
	defer func() { w.depth-- }()
	w.buf.WriteByte('{')
	first := true
	if tag != "" {
		w.buf.WriteString(`"type":"` + tag + `"`)
		first = false
	}
	w.fields(v, &first)
	w.buf.WriteByte('}')
}

// fields writes the fields of a struct that are not zero.
func (w *wireWriter) fields(v reflect.Value, first *bool) {
	t := v.Type()
	for i := range t.NumField() {
		f, x := t.Field(i), v.Field(i)
		if x.IsZero() {
			continue
		}
		if f.Anonymous {
			w.fields(x, first)
			continue
		}
		name := wireName(f)
		if x.Type() == rawType {
			name, x = rawField(name, x.Bytes())
		}
		if !*first {
			w.buf.WriteByte(',')
		}
		*first = false
		w.buf.WriteString(`"` + name + `":`)
		w.value(x)
	}
}

var (
	rawType      = reflect.TypeFor[json.RawMessage]()
	errorType    = reflect.TypeFor[error]()
	eventIface   = reflect.TypeFor[Event]()
	partIface    = reflect.TypeFor[Part]()
	durationType = reflect.TypeFor[time.Duration]()
)

func (w *wireWriter) value(v reflect.Value) {
	switch v.Type() {
	case rawType:
		w.buf.Write(v.Bytes())
		return
	case durationType:
		w.text(time.Duration(v.Int()).String())
		return
	case errorType, eventIface, partIface:
		w.iface(v)
		return
	}
	switch v.Kind() {
	case reflect.String:
		w.text(v.String())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint32:
		w.json(v.Interface())
	case reflect.Pointer:
		if v.IsNil() {
			w.buf.WriteString("null")
			return
		}
		w.value(v.Elem())
	case reflect.Struct:
		w.object(v, "")
	case reflect.Slice:
		w.slice(v)
	default:
		w.fail(fmt.Errorf("a field of type %s has no wire form", v.Type()))
	}
}

func (w *wireWriter) slice(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		w.json(v.Bytes())
		return
	}
	w.buf.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		w.value(v.Index(i))
	}
	w.buf.WriteByte(']')
}

// iface writes an error, an event or a part.
func (w *wireWriter) iface(v reflect.Value) {
	if v.IsNil() {
		w.buf.WriteString("null")
		return
	}
	switch x := v.Interface().(type) {
	case Event: // also Opaque, as a part: its tag is the same
		data, err := marshalEvent(x, w.depth)
		if err != nil {
			w.fail(err)
		}
		w.buf.Write(data)
	case Part:
		tag := partTag(x)
		if tag == "" {
			w.fail(fmt.Errorf("%T is not a part; parts are values, not pointers", x))
			return
		}
		w.object(v.Elem(), tag)
	case error:
		w.object(reflect.ValueOf(toWireError(x, maxErrorDepth)), "")
	}
}

func (w *wireWriter) text(s string) { w.json(escapeBytes(s)) }

func (w *wireWriter) json(x any) {
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		w.fail(err)
		return
	}
	w.buf.Truncate(w.buf.Len() - 1) // the line feed
}

// rawField returns the name and the value under which a JSON value survives byte for byte, as in
// the log of a session.
func rawField(name string, raw []byte) (string, reflect.Value) {
	value, text, data := splitRaw(raw)
	switch {
	case value != nil:
		return name, reflect.ValueOf(value)
	case data != nil:
		return rawBytesName(name), reflect.ValueOf(data)
	}
	return "raw_" + name, reflect.ValueOf(text)
}

func rawBytesName(name string) string {
	if name == "args" {
		return "data_args"
	}
	return "bytes_" + name
}

// wireName returns the name of a field: that of its JSON tag, or its own in snake case.
func wireName(f reflect.StructField) string {
	if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" && tag != "-" {
		return tag
	}
	var b strings.Builder
	for i, c := range []byte(f.Name) {
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && (f.Name[i-1] >= 'a' || i+1 < len(f.Name) && f.Name[i+1] >= 'a') {
			b.WriteByte('_')
		}
		if upper {
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Bytes of a text that are not UTF-8 are written as characters at the end of the last private-use
// plane: byte b is U+10FF00+b. A character of that range in the text itself is written byte by
// byte, so that every text survives.
const byteRunes, firstByteRune, lastByteRune = 0x10FF00, 0x10FF80, 0x10FFFF

func isByteRune(r rune) bool { return r >= firstByteRune && r <= lastByteRune }

func escapeBytes(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, isByteRune) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if isByteRune(r) || r == utf8.RuneError && n == 1 {
			for _, c := range []byte(s[i : i+n]) {
				b.WriteRune(byteRunes + rune(c))
			}
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func unescapeBytes(s string) string {
	if strings.IndexFunc(s, isByteRune) < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if isByteRune(r) {
			out = append(out, byte(r-byteRunes))
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}
