package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token; the kind of an operator is the text of the operator.
type tokenKind string

const (
	tokEOF        tokenKind = "end of template"
	tokData       tokenKind = "template data"
	tokVarBegin   tokenKind = "begin of print statement"
	tokVarEnd     tokenKind = "end of print statement"
	tokBlockBegin tokenKind = "begin of statement block"
	tokBlockEnd   tokenKind = "end of statement block"
	tokName       tokenKind = "name"
	tokString     tokenKind = "string"
	tokInteger    tokenKind = "integer"
	tokFloat      tokenKind = "float"
)

type token struct {
	kind tokenKind
	text string // the name, the data or the contents of the string
	num  Value  // of a number
	line int
}

func (t token) describe() string {
	if t.kind == tokName {
		return t.text
	}
	return string(t.kind)
}

// lexer cuts a template into tokens with trim_blocks and lstrip_blocks on.
type lexer struct {
	src    string
	pos    int
	line   int
	toks   []token
	braces []byte // closing brackets still expected inside a tag
}

// lexFault carries an error through the recursion of the lexer and the parser; Parse recovers it.
type lexFault struct{ err *SyntaxError }

func fail(line int, format string, args ...any) {
	panic(lexFault{&SyntaxError{Line: line, Message: fmt.Sprintf(format, args...)}})
}

func lex(src string) []token {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	l := &lexer{src: strings.TrimSuffix(src, "\n"), line: 1}
	for l.pos < len(l.src) {
		l.root()
	}
	l.emit(token{kind: tokEOF})
	return l.toks
}

func (l *lexer) emit(t token) {
	t.line = l.line
	l.toks = append(l.toks, t)
}

// advance moves over n bytes and counts the lines in them.
func (l *lexer) advance(n int) string {
	s := l.src[l.pos : l.pos+n]
	l.line += strings.Count(s, "\n")
	l.pos += n
	return s
}

func (l *lexer) rest() string { return l.src[l.pos:] }

// root reads data up to the next tag, and then the tag.
func (l *lexer) root() {
	lineStart := l.pos == 0 || l.src[l.pos-1] == '\n'
	at := nextTag(l.rest())
	if at < 0 {
		l.data(l.rest(), 0, false, false)
		return
	}
	data := l.rest()[:at]
	open := l.rest()[at : at+2]
	sign := byte(0)
	if at+2 < len(l.rest()) {
		sign = l.rest()[at+2]
	}
	l.data(data, sign, open != "{{", lineStart)
	if n := rawBegin(l.rest()); n > 0 {
		l.advance(n)
		l.raw()
		return
	}
	n := 2
	if sign == '-' || sign == '+' {
		n = 3
	}
	switch open {
	case "{#":
		l.advance(n)
		l.comment()
	case "{{":
		l.emit(token{kind: tokVarBegin})
		l.advance(n)
		l.tag(tokVarEnd, "}}")
	default:
		l.emit(token{kind: tokBlockBegin})
		l.advance(n)
		l.tag(tokBlockEnd, "%}")
	}
}

// nextTag finds the first opening delimiter in s.
func nextTag(s string) int {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '{')
		if i < 0 || from+i+1 >= len(s) {
			return -1
		}
		if c := s[from+i+1]; c == '{' || c == '%' || c == '#' {
			return from + i
		}
		from += i + 1
	}
}

// data emits the text before a tag, stripped as the tag's sign requires. The parameter lstrip
// reports whether lstrip_blocks applies to the tag.
func (l *lexer) data(s string, sign byte, lstrip, lineStart bool) {
	out := s
	switch {
	case sign == '-':
		out = strings.TrimRightFunc(s, isSpace)
	case sign != '+' && lstrip:
		if i := strings.LastIndexByte(s, '\n') + 1; i > 0 || lineStart {
			if strings.TrimLeftFunc(s[i:], isSpace) == "" {
				out = s[:i]
			}
		}
	}
	if out != "" {
		l.emit(token{kind: tokData, text: out})
	}
	l.advance(len(s))
}

// rawBegin returns the length of a raw tag at the start of s, or 0.
func rawBegin(s string) int {
	t, ok := strings.CutPrefix(s, "{%")
	if !ok {
		return 0
	}
	if t != "" && (t[0] == '-' || t[0] == '+') {
		t = t[1:]
	}
	t, ok = strings.CutPrefix(strings.TrimLeftFunc(t, isSpace), "raw")
	if !ok {
		return 0
	}
	t = strings.TrimLeftFunc(t, isSpace)
	if u, ok := strings.CutPrefix(t, "-%}"); ok {
		return len(s) - len(strings.TrimLeftFunc(u, isSpace))
	}
	if u, ok := strings.CutPrefix(t, "%}"); ok {
		return len(s) - len(u)
	}
	return 0
}

// raw reads up to the endraw tag.
func (l *lexer) raw() {
	lineStart := l.src[l.pos-1] == '\n'
	for from := 0; ; {
		i := strings.Index(l.rest()[from:], "{%")
		if i < 0 {
			fail(l.line, "missing end of raw directive, expected {%% endraw %%}")
		}
		at := from + i
		t := l.rest()[at+2:]
		sign := byte(0)
		if t != "" && (t[0] == '-' || t[0] == '+') {
			sign, t = t[0], t[1:]
		}
		t, ok := strings.CutPrefix(strings.TrimLeftFunc(t, isSpace), "endraw")
		if ok {
			t = strings.TrimLeftFunc(t, isSpace)
			if n := closer(t, "%}", true); n > 0 {
				end := len(l.rest()) - len(t) + n
				l.data(l.rest()[:at], sign, true, lineStart)
				l.advance(end - at)
				return
			}
		}
		from = at + 2
	}
}

// closer returns the length of the tag end at the start of s, including its sign and the white
// space it removes, or 0.
func closer(s, end string, block bool) int {
	if u, ok := strings.CutPrefix(s, "-"+end); ok {
		return len(s) - len(strings.TrimLeftFunc(u, isSpace))
	}
	if block && strings.HasPrefix(s, "+"+end) {
		return 1 + len(end)
	}
	if !strings.HasPrefix(s, end) {
		return 0
	}
	n := len(end)
	if block && n < len(s) && s[n] == '\n' {
		n++ // trim_blocks
	}
	return n
}

func (l *lexer) comment() {
	i := strings.Index(l.rest(), "#}")
	if i < 0 {
		fail(l.line, "missing end of comment tag, expected #}")
	}
	if i > 0 && (l.rest()[i-1] == '-' || l.rest()[i-1] == '+') {
		i--
	}
	l.advance(i + closer(l.rest()[i:], "#}", true))
}

// tag reads the tokens of a tag up to its end.
func (l *lexer) tag(kind tokenKind, end string) {
	for l.pos < len(l.src) {
		if len(l.braces) == 0 {
			if n := closer(l.rest(), end, kind == tokBlockEnd); n > 0 {
				l.emit(token{kind: kind})
				l.advance(n)
				return
			}
		}
		l.inner()
	}
	if len(l.braces) > 0 {
		fail(l.line, "unexpected end of template, expected %q", l.braces[len(l.braces)-1])
	}
	// The parser reports that the end is missing.
}

// inner reads one token inside a tag.
func (l *lexer) inner() {
	s := l.rest()
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case isSpace(r):
		l.advance(size)
	case r >= '0' && r <= '9':
		l.number()
	case isNameRune(r):
		l.name()
	case r == '\'' || r == '"':
		l.quoted(byte(r))
	default:
		l.operator()
	}
}

func isNameRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || (r > 127 && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nl, unicode.Pc))
}

func (l *lexer) name() {
	s := l.rest()
	n := strings.IndexFunc(s, func(r rune) bool { return !isNameRune(r) })
	if n < 0 {
		n = len(s)
	}
	l.emit(token{kind: tokName, text: s[:n]})
	l.advance(n)
}

// operators lists the operators by length, longest first.
var operators = [...]string{"**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

func (l *lexer) operator() {
	for _, op := range operators {
		if !strings.HasPrefix(l.rest(), op) {
			continue
		}
		l.balance(op)
		l.emit(token{kind: tokenKind(op)})
		l.advance(len(op))
		return
	}
	r, _ := utf8.DecodeRuneInString(l.rest())
	fail(l.line, "unexpected character %q", r)
}

// balance tracks brackets, so that }} inside a dict does not end the tag.
func (l *lexer) balance(op string) {
	switch op {
	case "(":
		l.braces = append(l.braces, ')')
	case "[":
		l.braces = append(l.braces, ']')
	case "{":
		l.braces = append(l.braces, '}')
	case ")", "]", "}":
		if len(l.braces) == 0 {
			fail(l.line, "unexpected '%s'", op)
		}
		want := l.braces[len(l.braces)-1]
		if want != op[0] {
			fail(l.line, "unexpected '%s', expected '%c'", op, want)
		}
		l.braces = l.braces[:len(l.braces)-1]
	}
}

// digits returns the length of a run of digits with single underscores between them.
func digits(s string, ok func(c byte) bool) int {
	n := 0
	for n < len(s) && (ok(s[n]) || s[n] == '_' && n > 0 && n+1 < len(s) && ok(s[n+1])) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) number() {
	s := l.rest()
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	if n := floatLen(s); n > 0 && !afterDot {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(s[:n], "_", ""), 64)
		l.emit(token{kind: tokFloat, num: Float(f)})
		l.advance(n)
		return
	}
	n := intLen(s)
	if n > 1<<12 {
		fail(l.line, "integer literal has too many digits")
	}
	b, _ := new(big.Int).SetString(strings.ReplaceAll(s[:n], "_", ""), 0)
	l.emit(token{kind: tokInteger, num: intOf(b), text: s[:n]})
	l.advance(n)
}

// floatLen returns the length of a float literal at the start of s, or 0.
func floatLen(s string) int {
	n := digits(s, isDigit)
	frac := 0
	if n < len(s) && s[n] == '.' {
		if d := digits(s[n+1:], isDigit); d > 0 {
			frac = 1 + d
		}
	}
	exp := 0
	if e := s[n+frac:]; e != "" && (e[0] == 'e' || e[0] == 'E') {
		i := 1
		if i < len(e) && (e[i] == '+' || e[i] == '-') {
			i++
		}
		if d := digits(e[i:], isDigit); d > 0 {
			exp = i + d
		}
	}
	if frac+exp == 0 {
		return 0
	}
	return n + frac + exp
}

func intLen(s string) int {
	if s[0] != '0' {
		return digits(s, isDigit)
	}
	if len(s) > 2 {
		ok := map[byte]func(byte) bool{
			'x': func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' },
			'o': func(c byte) bool { return c >= '0' && c <= '7' },
			'b': func(c byte) bool { return c == '0' || c == '1' },
		}[s[1]|0x20]
		if ok != nil {
			from := 2
			if s[2] == '_' {
				from = 3
			}
			if n := digits(s[from:], ok); n > 0 {
				return from + n
			}
		}
	}
	return digits(s, func(c byte) bool { return c == '0' })
}
