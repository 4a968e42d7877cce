package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printer writes values as Python prints them, up to a size and a nesting depth. Values that
// contain themselves, or the same parts many times over, result in an error.
type printer struct {
	b     []byte
	limit int
	err   error
}

// str is Python's str(v), limited to limit bytes.
func str(v Value, limit int) (string, error) {
	switch v := v.(type) {
	case Str:
		return string(v), nil
	case markup:
		return string(v), nil
	case *undefined:
		return "", nil
	}
	p := printer{limit: limit}
	p.repr(v, 0)
	return string(p.b), p.err
}

// messageLimit limits the size of values in error messages.
const messageLimit = 1 << 16

// toStr is like str, for messages, keys and other places where a truncated value does no harm.
func toStr(v Value) string { s, _ := str(v, messageLimit); return s }

// repr is Python's repr(v) for messages.
func repr(v Value) string {
	p := printer{limit: messageLimit}
	p.repr(v, 0)
	return string(p.b)
}

func quoteRepr(s string) string { return string(appendStrRepr(nil, s)) }

func (p *printer) fail(err error) { p.err = err }

func (p *printer) repr(v Value, depth int) {
	if depth > maxValueDepth {
		p.fail(errValueDepth)
	}
	if len(p.b) > p.limit {
		p.fail(limitError("printed value is longer than %d bytes", p.limit))
	}
	if p.err != nil {
		return
	}
	switch v := v.(type) {
	case None:
		p.b = append(p.b, "None"...)
	case Bool:
		if v {
			p.b = append(p.b, "True"...)
		} else {
			p.b = append(p.b, "False"...)
		}
	case Int:
		p.b = strconv.AppendInt(p.b, int64(v), 10)
	case *bigInt:
		p.b = v.v.Append(p.b, 10)
	case Float:
		p.b = appendFloat(p.b, float64(v))
	case Str:
		p.b = appendStrRepr(p.b, string(v))
	case markup:
		p.b = append(p.b, "Markup("...)
		p.b = append(appendStrRepr(p.b, string(v)), ')')
	case *List:
		p.sequence('[', v.Items, ']', depth)
	case *tuple:
		p.tuple(v, depth)
	case *Dict:
		p.dict(v, depth)
	default:
		p.object(v, depth)
	}
}

func (p *printer) sequence(open byte, items []Value, end byte, depth int) {
	p.b = append(p.b, open)
	for i, x := range items {
		if i > 0 {
			p.b = append(p.b, ", "...)
		}
		p.repr(x, depth+1)
		if p.err != nil {
			return
		}
	}
	p.b = append(p.b, end)
}

func (p *printer) tuple(t *tuple, depth int) {
	if len(t.items) == 1 {
		p.b = append(p.b, '(')
		p.repr(t.items[0], depth+1)
		p.b = append(p.b, ",)"...)
		return
	}
	p.sequence('(', t.items, ')', depth)
}

func (p *printer) dict(d *Dict, depth int) {
	p.b = append(p.b, '{')
	for i, e := range d.entries {
		if i > 0 {
			p.b = append(p.b, ", "...)
		}
		p.repr(e.key, depth+1)
		p.b = append(p.b, ": "...)
		p.repr(e.value, depth+1)
		if p.err != nil {
			return
		}
	}
	p.b = append(p.b, '}')
}

// object prints the kinds of values that only templates create.
func (p *printer) object(v Value, depth int) {
	switch v := v.(type) {
	case *undefined:
		p.b = append(p.b, "Undefined"...)
	case *namespace:
		p.b = append(p.b, "<Namespace "...)
		p.repr(v.attrs, depth+1)
		p.b = append(p.b, '>')
	case *rangeValue:
		p.b = fmt.Appendf(p.b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			p.b = fmt.Appendf(p.b, ", %d", v.step)
		}
		p.b = append(p.b, ')')
	case *dictView:
		items := make([]Value, v.d.Len())
		for i := range items {
			items[i] = v.at(i)
		}
		p.b = append(append(p.b, v.typeName()...), '(')
		p.sequence('[', items, ']', depth)
		p.b = append(p.b, ')')
	case fmt.Stringer:
		p.b = append(p.b, v.String()...)
	default:
		p.b = append(append(append(p.b, '<'), v.typeName()...), " object>"...)
	}
}

// appendFloat writes f as Python's repr does: with the fewest digits that identify f, and in
// exponent notation for values below 1e-4 or from 1e16 on.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if strings.IndexByte(string(b[start:]), '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// appendStrRepr quotes s as Python does: in single quotes, unless s contains single but no double
// quotes, and with escapes for unprintable characters.
func appendStrRepr(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b = append(b, quote)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = appendRuneRepr(b, r)
			i += n
			continue
		}
		i++
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c == 0x7f:
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, quote)
}

func appendRuneRepr(b []byte, r rune) []byte {
	switch {
	case unicode.IsPrint(r):
		return utf8.AppendRune(b, r)
	case r <= 0xff:
		return fmt.Appendf(b, `\x%02x`, r)
	case r <= 0xffff:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return fmt.Appendf(b, `\U%08x`, r)
}
