package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isSpace reports whether Python counts r as white space.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// quoted reads a string literal.
func (l *lexer) quoted(quote byte) {
	s := l.rest()
	end := 1
	for end < len(s) && s[end] != quote {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		fail(l.line, "unexpected character %q: the string has no end", rune(quote))
	}
	value, err := unescape(s[1:end])
	if err != nil {
		fail(l.line, "%s", err)
	}
	l.emit(token{kind: tokString, text: value})
	l.advance(end + 1)
}

// simpleEscapes maps the one-letter escapes to their text.
var simpleEscapes = map[byte]string{
	'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// unescape resolves the escapes of a Python string literal; an unknown escape stays as it is.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		out, n, err := escapeAt(s[i:])
		if err != nil {
			return "", err
		}
		b.WriteString(out)
		i += n
	}
	return b.String(), nil
}

// escapeAt resolves the escape at the start of s and returns its length.
func escapeAt(s string) (string, int, error) {
	c := s[1]
	if out, ok := simpleEscapes[c]; ok {
		return out, 2, nil
	}
	switch width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; {
	case width > 0:
		if len(s) < 2+width {
			return "", 0, fmt.Errorf("truncated \\%c escape in a string", c)
		}
		n, err := strconv.ParseUint(s[2:2+width], 16, 32)
		if err != nil {
			return "", 0, fmt.Errorf("truncated \\%c escape in a string", c)
		}
		if n > unicode.MaxRune {
			return "", 0, fmt.Errorf("illegal Unicode character in a string")
		}
		return string(rune(n)), 2 + width, nil
	case c >= '0' && c <= '7':
		n := 1
		for n < 3 && 1+n < len(s) && s[1+n] >= '0' && s[1+n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(s[1:1+n], 8, 16)
		return string(rune(v)), 1 + n, nil
	case c == 'N':
		return "", 0, fmt.Errorf("\\N escapes are not supported in strings: write the character or its \\u escape")
	case c >= utf8.RuneSelf: // Jinja2 converts the character to an escape before it resolves escapes
		r, n := utf8.DecodeRuneInString(s[1:])
		form := `\x%02x`
		if r > 0xffff {
			form = `\U%08x`
		} else if r > 0xff {
			form = `\u%04x`
		}
		return fmt.Sprintf(form, r), 1 + n, nil
	}
	return s[:2], 2, nil
}
