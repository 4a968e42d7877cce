package symbols

import "bytes"

// quote reads a string or character. A quote that is not closed in time becomes a separate token,
// as for apostrophes in text between tags.
func (x *lexer) quote(c byte) {
	s := x.syn
	switch {
	case s.triple && x.at(string([]byte{c, c, c})) && c != '`':
		x.triple(c)
	case c == '`' && s.template:
		x.template()
	case c == '`' && s.rawTick:
		x.tick()
	case c == '`' && s.tickIdent:
		x.tickIdent()
	case c == '`':
		x.punct(c)
	case c == '\'' && s.rust:
		x.rustQuote()
	case c == '"' && s.verbatim && x.pos > 0 && x.src[x.pos-1] == '@':
		x.untilMark(x.pos, x.pos+1, []byte{c})
	default:
		x.short(c)
	}
}

// short reads a string that ends on its line, unless the language allows multi-line strings.
func (x *lexer) short(c byte) {
	from, line := x.pos, x.line
	long := x.syn.longStrings && x.open < maxOpen
	for i := x.pos + 1; i < x.until; i++ {
		switch x.src[i] {
		case '\\':
			if i++; i < x.until && x.src[i] == '\n' {
				line++
			}
		case c:
			x.finishString(from, i+1, line)
			return
		case '\n':
			if !long {
				x.punct(c)
				return
			}
			line++
		}
	}
	x.open++
	x.punct(c)
}

// maxOpen limits the number of unclosed multi-line strings that are searched to the end of the
// text. Real files have fewer, and each search takes time proportional to the length of the text.
const maxOpen = 8

// maxRegex limits the length of a regular expression in bytes.
const maxRegex = 500

// finishString adds src[from:to] as one token, which ends in the given line.
func (x *lexer) finishString(from, to int, line uint32) {
	x.emit(tokString, from, min(to, x.until))
	x.line = line
}

func (x *lexer) triple(c byte) {
	from, line := x.pos, x.line
	end := []byte{c, c, c}
	for i := x.pos + 3; i < x.until; i++ {
		switch {
		case x.src[i] == '\\':
			if i++; i < x.until && x.src[i] == '\n' {
				line++
			}
		case x.src[i] == '\n':
			line++
		case x.src[i] == c && bytes.HasPrefix(x.src[i:x.until], end):
			x.finishString(from, i+3, line)
			return
		}
	}
	x.finishString(from, x.until, line)
}

// tick reads a raw string between backquotes.
func (x *lexer) tick() {
	if i := bytes.IndexByte(x.src[x.pos+1:x.until], '`'); i >= 0 {
		to := x.pos + i + 2
		x.finishString(x.pos, to, x.line+uint32(bytes.Count(x.src[x.pos:to], []byte("\n"))))
		return
	}
	x.punct('`')
}

// tickIdent reads a name between backquotes, as in Kotlin and Scala.
func (x *lexer) tickIdent() {
	rest := x.src[x.pos+1 : x.until]
	i := bytes.IndexByte(rest, '`')
	if i <= 0 || bytes.IndexByte(rest[:i], '\n') >= 0 {
		x.punct('`')
		return
	}
	to := x.pos + i + 2
	x.emit(tokIdent, x.pos+1, to-1)
	x.pos = to
}

// template reads a template literal, including nested ones, as one string.
func (x *lexer) template() {
	if x.open >= maxOpen {
		x.punct('`')
		return
	}
	from, line := x.pos, x.line
	var nest []int // for each open ${: the open braces inside
	in := true     // in the text of a template, not in code
	i := x.pos + 1
	for ; i < x.until; i++ {
		switch c := x.src[i]; {
		case c == '\n':
			line++
		case c == '\\':
			if i++; i < x.until && x.src[i] == '\n' {
				line++
			}
		case c == '`' && in && len(nest) == 0:
			x.finishString(from, i+1, line)
			return
		case c == '`' && in: // closes a nested template
			nest[len(nest)-1], in = nest[len(nest)-1]-tickOpen, false
		case c == '`': // opens a template within code
			nest[len(nest)-1], in = nest[len(nest)-1]+tickOpen, true
		case in && c == '$' && i+1 < x.until && x.src[i+1] == '{':
			nest, in = append(nest, 0), false
			i++
		case !in && c == '{':
			nest[len(nest)-1]++
		case !in && c == '}' && nest[len(nest)-1]%tickOpen > 0:
			nest[len(nest)-1]--
		case !in && c == '}':
			nest, in = nest[:len(nest)-1], true
		case !in && (c == '\'' || c == '"'):
			i = x.skipShort(i, c)
		}
	}
	x.open++
	x.punct('`')
}

// tickOpen marks in a brace count that a template is open inside the code of another.
const tickOpen = 1 << 20

// skipShort returns the index of the quote that closes the one at i on its line, or i.
func (x *lexer) skipShort(i int, c byte) int {
	for j := i + 1; j < x.until && x.src[j] != '\n'; j++ {
		switch x.src[j] {
		case '\\':
			j++
		case c:
			return j
		}
	}
	return i
}

// rustQuote distinguishes a character from a lifetime.
func (x *lexer) rustQuote() {
	rest := x.src[x.pos+1 : x.until]
	end := -1
	if len(rest) > 1 && rest[0] == '\\' {
		if end = bytes.IndexByte(rest[2:min(len(rest), 14)], '\''); end >= 0 {
			end += 2
		}
	} else if end = bytes.IndexByte(rest[:min(len(rest), 6)], '\''); end == 0 || end > 1 && rest[0] < 0x80 || bytes.IndexByte(rest[:max(end, 0)], '\n') >= 0 {
		end = -1
	}
	if end < 0 {
		x.punct('\'')
		return
	}
	x.emit(tokString, x.pos, x.pos+end+2)
}

// rustRaw reads r#"..."# and similar strings; the first # is at i.
func (x *lexer) rustRaw(i int) bool {
	word := string(x.src[x.pos:i])
	if word != "r" && word != "br" && word != "cr" {
		return false
	}
	n := 0
	for i+n < x.until && x.src[i+n] == '#' {
		n++
	}
	if i+n >= x.until || x.src[i+n] != '"' {
		return false
	}
	end := append([]byte{'"'}, x.src[i:i+n]...)
	x.untilMark(x.pos, i+n+1, end)
	return true
}

// untilMark reads everything up to the mark as a string.
func (x *lexer) untilMark(from, start int, mark []byte) {
	to := x.until
	if j := bytes.Index(x.src[start:x.until], mark); j >= 0 {
		to = start + j + len(mark)
	}
	x.finishString(from, to, x.line+uint32(bytes.Count(x.src[from:to], []byte("\n"))))
}

// rawString reads a string that prefixed found: R"x(...)x" of C++, @"..." and $@"..." of C#, r"..."
// of Rust and Dart.
func (x *lexer) rawString(from int) {
	start := x.pos + 1
	if x.syn.cpp {
		open := bytes.IndexByte(x.src[start:min(x.until, start+17)], '(')
		if open < 0 {
			x.punct('"')
			return
		}
		x.untilMark(from, start+open+1, append(append([]byte{')'}, x.src[start:start+open]...), '"'))
		return
	}
	x.untilMark(from, start, []byte{x.src[x.pos]})
}

// prefixed reports whether a word right before a quote makes it a string without escapes.
func (s *syntax) prefixed(word, rest []byte) bool {
	switch {
	case s.cpp:
		return rest[0] == '"' && word[len(word)-1] == 'R'
	case s.rust:
		return rest[0] == '"' && (string(word) == "r" || string(word) == "br" || string(word) == "cr")
	}
	return false
}

// regexStarts reports whether a slash begins a regular expression rather than being a division,
// judged by the token before it.
func (x *lexer) regexStarts() bool {
	if x.pos+1 >= x.until || x.src[x.pos+1] == ' ' && x.syn.ruby {
		return false
	}
	if len(x.toks) == 0 {
		return true
	}
	switch t := x.toks[len(x.toks)-1]; t.kind {
	case tokIdent:
		switch string(x.src[t.from:t.to]) {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield", "if", "and", "or", "not", "when", "unless", "while":
			return true
		}
		return x.syn.ruby && int(t.to) < x.pos
	case tokNumber, tokString, ')', ']', '}':
		return false
	case '<': // </tag>
		return x.syn.ruby
	}
	return true
}

func (x *lexer) regex() {
	class := false
	for i := x.pos + 1; i < min(x.until, x.pos+maxRegex) && x.src[i] != '\n'; i++ {
		switch x.src[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				x.emit(tokString, x.pos, i+1)
				return
			}
		}
	}
	x.punct('/')
}

// heredoc reads <<MARK up to the line that consists of the mark. It reports false if no such string
// begins here.
func (x *lexer) heredoc() bool {
	i := x.pos
	if !x.at("<<") || x.open >= maxOpen {
		return false
	}
	i += 2
	for i < x.until && bytes.IndexByte([]byte("<-~"), x.src[i]) >= 0 {
		i++
	}
	quoted := i < x.until && (x.src[i] == '\'' || x.src[i] == '"')
	if quoted {
		i++
	}
	from := i
	for i < x.until && classes[x.src[i]] >= classIdent {
		i++
	}
	if i == from || classes[x.src[from]] == classDigit || x.syn.ruby && !quoted && (x.src[from] < 'A' || x.src[from] > 'Z') {
		return false
	}
	mark := x.src[from:i]
	line := x.line
	for at := bytes.IndexByte(x.src[i:x.until], '\n'); at >= 0; {
		i += at + 1
		line++
		end := x.until
		if at = bytes.IndexByte(x.src[i:x.until], '\n'); at >= 0 {
			end = i + at
		}
		if bytes.Equal(bytes.TrimRight(bytes.TrimSpace(x.src[i:end]), ";,)"), mark) {
			x.finishString(x.pos, end, line)
			return true
		}
	}
	x.open++
	return false
}
