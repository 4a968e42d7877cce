package words

import "bytes"

// raw is the kind of a string without escapes, which determines how the string ends.
type raw uint8

const (
	notRaw    raw = iota
	hashes        // Rust: r#"…"#
	bracketed     // C++: R"x(…)x"
	verbatim      // C#: @"…", with "" for a quote
)

// rawAt returns the kind of the raw string that the quote at i opens, judged by the text before the
// quote.
func (x *Lexer) rawAt(i int) raw {
	if i == 0 {
		return notRaw
	}
	switch b := x.src[i-1]; x.lang {
	case Rust:
		for i--; i > 0 && x.src[i] == '#'; {
			i--
		}
		if x.src[i] == 'r' && (i == 0 || classes[x.src[i-1]] == other || x.src[i-1] == 'b' || x.src[i-1] == 'c') {
			return hashes
		}
	case C:
		if b == 'R' {
			return bracketed
		}
	case CSharp:
		if b == '@' || b == '$' && i > 1 && x.src[i-2] == '@' {
			return verbatim
		}
	}
	return notRaw
}

// rawEnd returns the length of the raw string whose quote is at i.
func (x *Lexer) rawEnd(i int) int {
	rest := x.src[i:]
	switch x.rawAt(i) {
	case hashes:
		from := i
		for x.src[from-1] == '#' {
			from--
		}
		return closing(rest, 1, append([]byte{'"'}, x.src[from:i]...))
	case bracketed:
		// The word between the quote and the parenthesis has at most 16 bytes.
		open := bytes.IndexByte(rest[:min(len(rest), 18)], '(')
		if open < 0 {
			return x.stringEnd(rest, '"', false)
		}
		return closing(rest, open, append(append([]byte{')'}, rest[1:open]...), '"'))
	}
	for j := 1; j < len(rest); j++ {
		if rest[j] != '"' {
			continue
		}
		if j+1 == len(rest) || rest[j+1] != '"' {
			return j + 1
		}
		j++
	}
	return len(rest)
}

// closing returns the end of the first occurrence of the parameter end in rest after the parameter
// from, or the length of rest.
func closing(rest []byte, from int, end []byte) int {
	if at := bytes.Index(rest[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(rest)
}

// prefixed reports whether only the letters of a string prefix precede the quote at i: r""" and
// f""".
func (x *Lexer) prefixed(i int) bool {
	n := len(x.tokens)
	if n == 0 || x.d.head != n-1 {
		return false
	}
	t := x.tokens[n-1]
	return t.Len <= 2 && int(t.Start)+int(t.Len) == i
}

// maxTemplates is the maximum nesting depth of JavaScript templates.
const maxTemplates = 16

// templateEnd returns the length of the template at the start of rest, including templates in its
// ${…}, or 0 if it is not closed.
func templateEnd(rest []byte) int {
	var braces [maxTemplates]int // open braces in the code at each depth
	depth, text := 0, true       // text: in the template's text, not in the code within it
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\':
			i++
		case text && c == '`':
			if depth == 0 {
				return i + 1
			}
			text = false
		case text && c == '$' && i+1 < len(rest) && rest[i+1] == '{':
			if depth++; depth == maxTemplates {
				return 0
			}
			braces[depth] = 1
			text = false
			i++
		case text:
		case c == '`':
			text = true
		case c == '{':
			braces[depth]++
		case c == '}':
			if braces[depth]--; braces[depth] == 0 {
				depth--
				text = true
			}
		}
	}
	return 0
}
