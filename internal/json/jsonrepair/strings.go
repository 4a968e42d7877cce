package jsonrepair

import (
	"strings"
	"unicode/utf8"
)

// quote is a kind of quotation mark that opens a string.
type quote struct {
	size    int    // bytes of the opening mark
	closers string // the marks that may close it
	plain   bool   // the quotation mark of JSON
}

// quoteAt returns the quote that opens at i.
func quoteAt(s string, i int) (quote, bool) {
	if i >= len(s) {
		return quote{}, false
	}
	switch s[i] {
	case '"':
		return quote{1, `"`, true}, true
	case '\'':
		return quote{1, `'`, false}, true
	case '`':
		return quote{1, "`´", false}, !strings.HasPrefix(s[i:], "```")
	}
	switch c, n := utf8.DecodeRuneInString(s[i:]); c {
	case '«':
		return quote{n, `»`, false}, true
	case '「':
		return quote{n, `」`, false}, true
	case '“', '”', '„', '‟':
		return quote{n, `“”"`, false}, true
	case '‘', '’', '‚', '‛':
		return quote{n, `‘’'`, false}, true
	case '´':
		return quote{n, "´`'", false}, true
	}
	return quote{}, false
}

// closes returns the length of a mark at i that closes a string opened by q, or 0.
func (q quote) closes(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	if q.plain {
		if s[i] == '"' {
			return 1
		}
		return 0
	}
	c, n := utf8.DecodeRuneInString(s[i:])
	if c != utf8.RuneError && strings.ContainsRune(q.closers, c) {
		return n
	}
	return 0
}

// str repairs the string at the cursor, a key or a value.
func (r *repairer) str(q quote, key bool) error {
	if !q.plain {
		r.note(fixQuotes)
	}
	start := r.i + q.size
	mark := r.s[r.i:start]
	if !key && strings.HasPrefix(r.s[start:], mark+mark) {
		return r.tripleQuoted(start+2*len(mark), mark+mark+mark)
	}
	if end, ok := r.openKey(q, start); key && ok {
		r.note(fixMissingQuote) // {"a: 1}
		r.encode(r.s[start:end])
		r.i = end
		return nil
	}
	doubled := false
	if q.closes(r.s, start) > 0 && !r.endsAt(start+len(mark), key) {
		start += len(mark) // ""text"" or ""text"
		doubled = true
	}
	e := ending{r: r, q: q, key: key, doubled: doubled, start: start}
	if err := e.find(); err != nil {
		return err
	}
	switch {
	case key && e.inner == 1 && !doubled && strings.HasSuffix(r.s[start:e.end], mark):
		e.end -= len(mark) // "key"": 1
		e.inner = 0
		r.note(fixDoubledQuotes)
	case doubled && (e.closedTwice || e.inner == 0):
		r.note(fixDoubledQuotes)
	case doubled:
		start -= len(mark) // the text itself starts with a quote
		e.inner++
	}
	if e.inner > 0 {
		r.note(fixInnerQuotes)
	}
	body := r.s[start:e.end]
	if key && strings.Contains(body, "\n") {
		body = strings.Trim(body, " \t\r\n")
		r.note(fixControl)
	}
	r.encode(body)
	r.i = e.next
	return nil
}

// tripleQuoted repairs Python's """text""".
func (r *repairer) tripleQuoted(start int, mark string) error {
	end := strings.Index(r.s[start:], mark)
	if end < 0 {
		return r.truncated("a string")
	}
	end += start
	next := end + len(mark)
	if !r.endsAt(next, false) {
		r.i = end
		return r.fail(Ambiguous, "it is not clear where the string in triple quotes ends")
	}
	r.note(fixQuotes)
	r.encode(r.s[start:end])
	r.i = next
	return nil
}

// endsAt reports whether a string may have ended just before position i.
func (r *repairer) endsAt(i int, key bool) bool {
	i = r.skipBlank(i)
	if r.comma(i) > 0 {
		return !key
	}
	switch r.at(i) {
	case '}', ']', ')':
		return !key
	case ';':
		return !key && i+1 < len(r.s) && (r.keyAt(r.skipBlank(i+1)) || r.top() != '{')
	}
	if r.separator(i) > 0 {
		return key
	}
	return i >= len(r.s)
}

// encode writes raw string content as a JSON string: valid JSON escapes stay, everything else is
// kept as text.
func (r *repairer) encode(raw string) {
	r.out = append(r.out, '"')
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '\\':
			i += r.escape(raw[i:])
		case c == '"':
			r.out = append(r.out, '\\', '"')
			i++
		case c < 0x20:
			r.note(fixControl)
			r.out = appendControl(r.out, c)
			i++
		case c < utf8.RuneSelf:
			r.out = append(r.out, c)
			i++
		default:
			u, n := utf8.DecodeRuneInString(raw[i:])
			if u == utf8.RuneError && n == 1 {
				r.note(fixUTF8)
			}
			r.out = utf8.AppendRune(r.out, u)
			i += n
		}
	}
	r.out = append(r.out, '"')
}

// escape writes the escape that raw starts with, and returns the number of bytes of raw that it
// used.
func (r *repairer) escape(raw string) int {
	if len(raw) == 1 {
		r.note(fixEscape)
		r.out = append(r.out, `\\`...)
		return 1
	}
	switch c := raw[1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.out = append(r.out, '\\', c)
		return 2
	case 'u':
		if len(raw) >= 6 && isHex(raw[2:6]) {
			r.out = append(r.out, raw[:6]...)
			return 6
		}
	case '\'', '`':
		r.note(fixQuotes)
		r.out = append(r.out, c)
		return 2
	case '\n':
		r.note(fixControl)
		r.out = append(r.out, '\\', 'n')
		return 2
	}
	if _, ok := quoteAt(raw, 1); ok { // a smart quote
		r.note(fixQuotes)
		return 1
	}
	r.note(fixEscape)
	r.out = append(r.out, `\\`...)
	return 1
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; !isDigit(s[i]) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
