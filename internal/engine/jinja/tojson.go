package jinja

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonWriter writes JSON exactly as Python's json.dumps.
type jsonWriter struct {
	r        *run
	b        []byte
	limit    int
	ascii    bool
	sortKeys bool
	indent   string
	lines    bool // indent was given: one item per line
	itemSep  string
	keySep   string
}

// filterToJSON is Hugging Face's tojson: no HTML escaping, no sorting, and non-ASCII text is kept.
func filterToJSON(r *run, c call) (Value, error) {
	w := jsonWriter{r: r, limit: r.opts.MaxOutput, ascii: c.boolArg(0, false), itemSep: ", ", keySep: ": "}
	switch v := c.arg(1, None{}).(type) {
	case None:
	case Int, Bool:
		n, _ := intValue(v)
		w.lines, w.indent = true, strings.Repeat(" ", int(min(max(n, 0), 1000)))
	case Str:
		w.lines, w.indent = true, string(v)
	default:
		return nil, typeError("tojson() indent must be an integer or a string, not %s", v.typeName())
	}
	if w.lines {
		w.itemSep = ","
	}
	if sep := c.arg(2, None{}); sep != Value(None{}) {
		items, err := r.items(sep)
		if err != nil {
			return nil, err
		}
		if len(items) != 2 {
			return nil, valueError("not enough values to unpack (expected 2, got %d)", len(items))
		}
		w.itemSep, w.keySep = toStr(items[0]), toStr(items[1])
	}
	w.sortKeys = c.boolArg(3, false)
	if err := w.value(c.self, 0); err != nil {
		return nil, err
	}
	return Str(w.b), r.step(len(w.b) / 16)
}

func (w *jsonWriter) value(v Value, depth int) error {
	if depth > maxValueDepth {
		return errValueDepth
	}
	if len(w.b) > w.limit {
		return limitError("JSON text is longer than %d bytes", w.limit)
	}
	switch v := v.(type) {
	case Str:
		w.string(string(v))
	case markup:
		w.string(string(v))
	case *List:
		return w.array(v.Items, depth)
	case *tuple:
		return w.array(v.items, depth)
	case *Dict:
		return w.object(v, depth)
	default:
		s, ok := jsonScalar(v)
		if !ok {
			return typeError("Object of type %s is not JSON serializable", v.typeName())
		}
		w.b = append(w.b, s...)
	}
	return nil
}

// jsonScalar returns the JSON of null, a boolean or a number.
func jsonScalar(v Value) (string, bool) {
	switch v := v.(type) {
	case None:
		return "null", true
	case Bool:
		return strconv.FormatBool(bool(v)), true
	case Int, *bigInt:
		return repr(v), true
	case Float:
		switch f := float64(v); {
		case math.IsNaN(f):
			return "NaN", true
		case math.IsInf(f, 1):
			return "Infinity", true
		case math.IsInf(f, -1):
			return "-Infinity", true
		}
		return repr(v), true
	}
	return "", false
}

// line starts a new line if there is an indent.
func (w *jsonWriter) line(depth int) {
	if !w.lines {
		return
	}
	w.b = append(w.b, '\n')
	for range depth {
		w.b = append(w.b, w.indent...)
	}
}

func (w *jsonWriter) array(items []Value, depth int) error {
	if len(items) == 0 {
		w.b = append(w.b, "[]"...)
		return nil
	}
	w.b = append(w.b, '[')
	for i, x := range items {
		if i > 0 {
			w.b = append(w.b, w.itemSep...)
		}
		w.line(depth + 1)
		if err := w.value(x, depth+1); err != nil {
			return err
		}
	}
	w.line(depth)
	w.b = append(w.b, ']')
	return nil
}

func (w *jsonWriter) object(d *Dict, depth int) error {
	if d.Len() == 0 {
		w.b = append(w.b, "{}"...)
		return nil
	}
	entries := d.entries
	if w.sortKeys {
		entries = slices.Clone(entries)
		if err := sortBy(w.r, entries, func(e entry) Value { return e.key }, false); err != nil {
			return err
		}
	}
	w.b = append(w.b, '{')
	for i, e := range entries {
		if i > 0 {
			w.b = append(w.b, w.itemSep...)
		}
		w.line(depth + 1)
		key, ok := text(e.key)
		if !ok {
			if key, ok = jsonScalar(e.key); !ok {
				return typeError("keys must be str, int, float, bool or None, not %s", e.key.typeName())
			}
		}
		w.string(key)
		w.b = append(w.b, w.keySep...)
		if err := w.value(e.value, depth+1); err != nil {
			return err
		}
	}
	w.line(depth)
	w.b = append(w.b, '}')
	return nil
}

func (w *jsonWriter) string(s string) {
	w.b = append(w.b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && (!w.ascii || c < 0x7f) {
			i++
			continue
		}
		w.b = append(w.b, s[start:i]...)
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			w.escapeRune(r)
		} else {
			w.escapeByte(c)
		}
		i += n
		start = i
	}
	w.b = append(append(w.b, s[start:]...), '"')
}

func (w *jsonWriter) escapeByte(c byte) {
	if i := strings.IndexByte("\"\\\n\r\t\f\b", c); i >= 0 {
		w.b = append(w.b, '\\', `"\nrtfb`[i])
		return
	}
	w.b = fmt.Appendf(w.b, `\u%04x`, c)
}

func (w *jsonWriter) escapeRune(r rune) {
	if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
		w.b = fmt.Appendf(w.b, `\u%04x\u%04x`, r1, r2)
		return
	}
	w.b = fmt.Appendf(w.b, `\u%04x`, r)
}
