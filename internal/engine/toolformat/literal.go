package toolformat

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// literal converts Python literals, or objects with bare keys, to JSON as they arrive. It is a
// state machine over tokens; strings pass through in pieces.
type literal struct {
	quote string // the string marker of the format, or ""
	sep   byte   // between the key and the value of the outermost object
	stack []frame
	str   string // the mark that ends the open string; "" outside a string
	raw   bool   // the string has no escapes
}

// frame is an open object or list.
type frame struct {
	close byte
	list  bool
	n     int  // number of members begun
	value bool // in an object: the key was read, and its separator
	key   bool // the key was read
	full  bool // the value was read
}

// newLiteral returns the machine for the arguments of a call of this format.
func (p *Parser) newLiteral() literal {
	if p.f.Syntax == Python {
		p.delta("{")
		return literal{sep: '=', stack: []frame{{close: ')'}}}
	}
	return literal{quote: p.f.Quote, sep: ':'}
}

// literal reads arguments in the Python or Loose syntax.
func (p *Parser) literal() bool {
	l := &p.call.value
	var b strings.Builder
	n, st := 0, litOn
	for st == litOn {
		var used int
		var out string
		used, out, st = l.next(p.buf[n:], p.more())
		n += used
		b.WriteString(out)
		if used == 0 && st == litWait || n == len(p.buf) && st == litOn {
			break
		}
	}
	p.eat(n)
	p.delta(b.String())
	switch st {
	case litDone:
		p.endCall(None)
		return true
	case litBad:
		return p.broken()
	}
	return false
}

// litState is the outcome of reading a token.
type litState uint8

const (
	litOn   litState = iota // there is more to read
	litWait                 // more text is needed
	litDone                 // the outermost value is complete
	litBad                  // this is not a literal
)

// maxWord is the length of the longest word accepted outside quotes.
const maxWord = 4096

// next reads a token, or a piece of a string, at the front of s.
func (l *literal) next(s string, more bool) (n int, out string, st litState) {
	if l.str != "" {
		return l.inString(s, more)
	}
	n = spaces(s)
	if n == len(s) {
		return n, "", litWait
	}
	s = s[n:]
	used, out, st := l.token(s, more)
	if st == litWait {
		return 0, "", litWait
	}
	return n + used, out, st
}

// token reads a token at the front of s.
func (l *literal) token(s string, more bool) (n int, out string, st litState) {
	if mark, raw, wait := l.opensString(s, more); wait {
		return 0, "", litWait
	} else if mark != "" {
		out, ok := l.item(false)
		if !ok {
			return 0, "", litBad
		}
		l.str, l.raw = mark, raw
		return len(mark), out + `"`, litOn
	}
	switch c := s[0]; c {
	case '{', '[', '(':
		return l.push(c)
	case '}', ']', ')':
		return l.pop(c)
	case ',', ':', '=':
		return l.punct(c)
	}
	return l.bareWord(s, more)
}

// opensString returns the mark that opens a string at the front of s.
func (l *literal) opensString(s string, more bool) (mark string, raw, wait bool) {
	if l.quote != "" {
		if strings.HasPrefix(s, l.quote) {
			return l.quote, true, false
		}
		if more && strings.HasPrefix(l.quote, s) {
			return "", false, true
		}
	}
	c := s[0]
	if c != '"' && c != '\'' {
		return "", false, false
	}
	if triple := strings.Repeat(s[:1], 3); l.quote == "" {
		if strings.HasPrefix(s, triple) {
			return triple, false, false
		}
		if more && strings.HasPrefix(triple, s) {
			return "", false, true
		}
	}
	return s[:1], false, false
}

// top returns the innermost open value.
func (l *literal) top() *frame {
	if len(l.stack) == 0 {
		return nil
	}
	return &l.stack[len(l.stack)-1]
}

// item begins a key or a value and returns the text that precedes it. The parameter wordOnly
// reports whether the item is a bare word, which is the only possible form of an argument's name in
// a call.
func (l *literal) item(wordOnly bool) (string, bool) {
	f := l.top()
	switch {
	case f == nil:
		return "", false
	case f.list, !f.key:
		if f.full {
			return "", false // two values without a comma
		}
		if !f.list && f.close == ')' && !wordOnly {
			return "", false // an argument without a name
		}
		f.n++
		f.full, f.key = f.list, !f.list
		if f.n > 1 {
			return ", ", true
		}
		return "", true
	case f.value && !f.full:
		f.full = true
		return "", true
	}
	return "", false
}

// inKey reports whether a word at this point is a key.
func (l *literal) inKey() bool {
	f := l.top()
	return f != nil && !f.list && !f.key
}

// push opens an object or a list.
func (l *literal) push(c byte) (int, string, litState) {
	const maxDepth = 512
	if len(l.stack) > maxDepth || l.inKey() {
		return 0, "", litBad
	}
	lead := ""
	if len(l.stack) > 0 {
		var ok bool
		if lead, ok = l.item(false); !ok {
			return 0, "", litBad
		}
	}
	switch c {
	case '{':
		l.stack = append(l.stack, frame{close: '}'})
		return 1, lead + "{", litOn
	case '[':
		l.stack = append(l.stack, frame{close: ']', list: true})
	default:
		l.stack = append(l.stack, frame{close: ')', list: true})
	}
	return 1, lead + "[", litOn
}

// pop closes the innermost value.
func (l *literal) pop(c byte) (int, string, litState) {
	f := l.top()
	if f == nil || f.close != c || f.key && !f.full {
		return 0, "", litBad
	}
	out := "}"
	if f.list {
		out = "]"
	}
	l.stack = l.stack[:len(l.stack)-1]
	if len(l.stack) == 0 {
		return 1, out, litDone
	}
	return 1, out, litOn
}

// punct reads a comma or the separator between a key and its value.
func (l *literal) punct(c byte) (int, string, litState) {
	f := l.top()
	if f == nil {
		return 0, "", litBad
	}
	if c == ',' {
		if !f.full {
			return 0, "", litBad
		}
		f.full, f.key, f.value = false, false, false
		return 1, "", litOn
	}
	sep := byte(':')
	if len(l.stack) == 1 {
		sep = l.sep
	}
	if f.list || !f.key || f.value || c != sep {
		return 0, "", litBad
	}
	f.value = true
	return 1, ": ", litOn
}

// bareWord reads a key, a number or a name such as True.
func (l *literal) bareWord(s string, more bool) (int, string, litState) {
	ends := ",:=()[]{}\"' \t\r\n"
	if l.quote != "" { // bare strings may contain spaces
		if ends = ",}]\n"; l.inKey() {
			ends = ":,}]\n"
		}
	}
	end := strings.IndexAny(s, ends)
	if end < 0 {
		end = len(s)
		if more && end <= maxWord {
			return 0, "", litWait
		}
	}
	if end == 0 || end > maxWord {
		return 0, "", litBad
	}
	if end == len(s) { // cut off
		return 0, "", litWait
	}
	key := l.inKey()
	lead, ok := l.item(true)
	if !ok {
		return 0, "", litBad
	}
	text := strings.TrimSpace(s[:end])
	if !key {
		if w, ok := word(text); ok {
			return end, lead + w, litOn
		}
	}
	return end, lead + quote(text), litOn
}

// word returns a Python number or constant as JSON.
func word(s string) (string, bool) {
	switch s {
	case "True", "true":
		return "true", true
	case "False", "false":
		return "false", true
	case "None", "null", "none":
		return "null", true
	}
	if s == "" || strings.IndexByte("+-.0123456789", s[0]) < 0 {
		return "", false
	}
	if json.Valid([]byte(s)) {
		return s, true
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if b, err := json.Marshal(f); err == nil {
			return string(b), true
		}
	}
	return "", false
}

// inString reads a piece of a string.
func (l *literal) inString(s string, more bool) (n int, out string, st litState) {
	stops := l.str[:1]
	if !l.raw {
		stops += `\`
	}
	i := strings.IndexAny(s, stops)
	if i < 0 {
		if i = len(s); more {
			i = whole(s)
		}
		return i, escape(s[:i]), litWait
	}
	if i > 0 {
		return i, escape(s[:i]), litOn
	}
	if s[0] == '\\' && !l.raw {
		return unescape(s, more)
	}
	switch {
	case strings.HasPrefix(s, l.str):
		n = len(l.str)
		l.str = ""
		return n, `"`, litOn
	case more && strings.HasPrefix(l.str, s):
		return 0, "", litWait
	}
	return 1, escape(s[:1]), litOn
}

// unescape reads an escape of a Python or JSON string at the front of s.
func unescape(s string, more bool) (n int, out string, st litState) {
	if len(s) < 2 {
		if more {
			return 0, "", litWait
		}
		return len(s), "", litWait
	}
	size := 0
	switch c := s[1]; c {
	case 'n', 't', 'r', 'b', 'f', '"', '\\', '/':
		return 2, s[:2], litOn
	case '\'':
		return 2, "'", litOn
	case '\n':
		return 2, "", litOn
	case '0':
		return 2, `\u0000`, litOn
	case 'x':
		size = 2
	case 'u':
		size = 4
	case 'U':
		size = 8
	default:
		return 1, `\\`, litOn
	}
	if len(s) < 2+size && more {
		return 0, "", litWait
	}
	if len(s) >= 2+size {
		if r, err := strconv.ParseUint(s[2:2+size], 16, 32); err == nil {
			if size == 4 { // the halves of a surrogate pair stay together
				return 6, s[:6], litOn
			}
			if r <= utf8.MaxRune {
				return 2 + size, escape(string(rune(r))), litOn
			}
		}
	}
	return 1, `\\`, litOn
}

// pythonValue returns a Python object or list as JSON.
func pythonValue(s string) (string, bool) {
	l := literal{sep: ':'}
	var b strings.Builder
	for {
		n, out, st := l.next(s, false)
		b.WriteString(out)
		s = s[n:]
		switch st {
		case litDone:
			return b.String(), strings.TrimSpace(s) == "" && json.Valid([]byte(b.String()))
		case litBad, litWait:
			return "", false
		}
	}
}
