package jsontree

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// parser parses text that encoding/json has already accepted, so it does not check the syntax
// again.
type parser struct {
	s string
	i int
}

func (p *parser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) value() *Value {
	p.space()
	switch p.s[p.i] {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return &Value{Kind: String, raw: p.stringText()}
	case 't', 'f':
		return &Value{Kind: Bool, raw: p.word()}
	case 'n':
		return &Value{Kind: Null, raw: p.word()}
	}
	return &Value{Kind: Number, raw: p.word()}
}

func (p *parser) object() *Value {
	v := NewObject()
	p.i++
	for p.space(); p.s[p.i] != '}'; p.space() {
		if p.s[p.i] == ',' {
			p.i++
			p.space()
		}
		key := unquote(p.stringText())
		p.space()
		p.i++ // the colon
		v.Members = append(v.Members, Member{Key: key, Value: p.value()})
	}
	p.i++
	return v
}

func (p *parser) array() *Value {
	v := NewArray()
	p.i++
	for p.space(); p.s[p.i] != ']'; p.space() {
		if p.s[p.i] == ',' {
			p.i++
		}
		v.Items = append(v.Items, p.value())
	}
	p.i++
	return v
}

// stringText returns the string at the cursor with its quotes.
func (p *parser) stringText() string {
	start := p.i
	for p.i++; p.s[p.i] != '"'; p.i++ {
		if p.s[p.i] == '\\' {
			p.i++
		}
	}
	p.i++
	return p.s[start:p.i]
}

func (p *parser) word() string {
	start := p.i
	for p.i < len(p.s) && !strings.ContainsRune(" \t\r\n,]}", rune(p.s[p.i])) {
		p.i++
	}
	return p.s[start:p.i]
}

// unquote decodes a JSON string.
func unquote(raw string) string {
	if body := raw[1 : len(raw)-1]; strings.IndexByte(body, '\\') < 0 && utf8.ValidString(body) {
		return body
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

func quote(s string) string { return string(AppendQuoted(nil, s)) }

const hex = "0123456789abcdef"

// AppendQuoted appends s as a JSON string. Unlike encoding/json it does not escape <, > and &; like
// encoding/json, it replaces invalid UTF-8 and escapes the line separators that JavaScript does not
// accept.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
			dst = append(append(dst, s[start:i]...), runeEscape(r)...)
			i += size
			start = i
			continue
		}
		dst = append(append(dst, s[start:i]...), byteEscape(c)...)
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

func runeEscape(r rune) string {
	switch r {
	case '\u2028':
		return `\u2028`
	case '\u2029':
		return `\u2029`
	}
	return "\ufffd"
}

func byteEscape(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	}
	return string([]byte{'\\', 'u', '0', '0', hex[c>>4], hex[c&15]})
}
