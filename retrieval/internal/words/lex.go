package words

import "bytes"

// A Kind is the context in which a word occurs.
type Kind uint8

// The kinds of contexts.
const (
	Code Kind = iota
	Comment
	String
	Definition // the name of something defined here
)

// A Token is a word of a text: an identifier, a word of prose or a number.
type Token struct {
	Start uint32 // byte offset
	Len   uint16
	Kind  Kind
}

// A line holds the data of a line for the chunker.
type line struct {
	start   uint32 // byte offset
	token   uint32 // the first token at or after it
	indent  uint16
	blank   bool
	comment bool   // only a comment, or a decorator: it belongs to the following lines
	depth   uint16 // open brackets at its start
	def     int32  // the token of the definition that begins here, if a chunk may begin with it, or -1
}

// A Lexer reads texts. It reuses its buffers for the next text, so each goroutine needs a separate
// Lexer.
type Lexer struct {
	src    []byte
	syn    *syntax
	lang   Lang
	tokens []Token
	lines  []line
	chunks []Chunk
	loose  bool // a JavaScript template was not closed
	d      definer
}

// Read reads a text. The result is valid until the next call.
func (x *Lexer) Read(l Lang, src []byte) Text {
	x.src, x.lang, x.syn = src, l, &syntaxes[l]
	x.tokens, x.lines, x.chunks = x.tokens[:0], x.lines[:0], x.chunks[:0]
	x.loose = false
	x.d.reset(x)
	if l == Prose {
		x.prose()
	} else {
		x.code()
	}
	x.cut()
	return Text{Lang: l, Tokens: x.tokens, Chunks: x.chunks, Lines: len(x.lines)}
}

// A Text is the result of one reading.
type Text struct {
	Lang   Lang
	Tokens []Token
	Chunks []Chunk // in order, without gaps
	Lines  int
}

// beginLine records a line that begins at i.
func (x *Lexer) beginLine(i int, inside Kind) {
	n := len(x.src)
	j, indent := i, 0
	for j < n && (x.src[j] == ' ' || x.src[j] == '\t') {
		if x.src[j] == '\t' {
			indent += 4
		} else {
			indent++
		}
		j++
	}
	blank := j == n || x.src[j] == '\n' || x.src[j] == '\r'
	x.lines = append(x.lines, line{
		start: uint32(i), token: uint32(len(x.tokens)), indent: uint16(min(indent, 1<<15)), blank: blank,
		comment: !blank && (inside == Comment || x.leadsOn(j)), depth: uint16(min(x.d.depth(), 1<<15)), def: -1,
	})
	x.d.newLine(indent, blank, inside != Code)
}

// leadsOn reports whether the line whose first visible byte is at j belongs to the following line:
// a comment, a decorator, an attribute.
func (x *Lexer) leadsOn(j int) bool {
	rest := x.src[j:]
	switch {
	case x.syn.line != "" && bytes.HasPrefix(rest, []byte(x.syn.line)), x.syn.open != "" && bytes.HasPrefix(rest, []byte(x.syn.open)):
		return true
	case rest[0] == '@':
		return true
	case rest[0] == '#' && (x.lang == Rust || x.lang == PHP):
		return true
	case rest[0] == '[' && x.lang == CSharp:
		return true
	}
	return false
}

// word adds the word that begins at i and returns its end.
func (x *Lexer) word(i int, k Kind) int {
	j := i + 1
	for j < len(x.src) && classes[x.src[j]] != other {
		j++
	}
	x.tokens = append(x.tokens, Token{uint32(i), uint16(min(j-i, 1<<15)), k})
	return j
}

// words adds the words of src[i:end], and the lines that begin there.
func (x *Lexer) words(i, end int, k Kind) int {
	for i < end {
		c := x.src[i]
		switch {
		case classes[c] != other:
			i = x.word(i, k)
		case c == '\n':
			if i++; i < len(x.src) {
				x.beginLine(i, k)
			}
		default:
			i++
		}
	}
	return i
}

// prose reads a text for people: all of it counts as comment, except its headings.
func (x *Lexer) prose() {
	first := bom(x.src)
	x.beginLine(first, Code)
	fenced := false
	for i := first; i < len(x.src); {
		end := len(x.src)
		if n := bytes.IndexByte(x.src[i:], '\n'); n >= 0 {
			end = i + n
		}
		k := Comment
		switch text := x.src[i:end]; {
		case hasPrefix(text, "```") || hasPrefix(text, "~~~"):
			fenced = !fenced
		case !fenced && heading(text):
			k = Definition
		}
		from := len(x.tokens)
		x.words(i, end, k)
		if k == Definition && len(x.tokens) > from {
			x.lines[len(x.lines)-1].def = int32(from)
		}
		if i = end; i < len(x.src) {
			i++
			if i < len(x.src) {
				x.beginLine(i, Code)
			}
		}
	}
}

// heading reports whether a line begins with one to six # and a space.
func heading(line []byte) bool {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	return n > 0 && n <= 6 && n < len(line) && (line[n] == ' ' || line[n] == '\t')
}

// code reads a program in one pass. Every byte is examined only once; the ends of comments and
// strings are found with fast searches.
func (x *Lexer) code() {
	src := x.src
	first := bom(src)
	x.beginLine(first, Code)
	for i := first; i < len(src); {
		c := src[i]
		switch cl := classes[c]; {
		case cl == digit:
			i = x.word(i, Code)
			x.d.other('0')
		case cl != other:
			start := i
			i = x.word(i, Code)
			x.d.word(len(x.tokens)-1, src[start:i])
		case c == '\n':
			i++
			if i < len(src) {
				x.beginLine(i, Code)
			}
		case c == ' ' || c == '\t' || c == '\r':
			i++
		default:
			if end, k := x.region(i, c); end > i {
				i = x.words(i, end, k)
				if k == String {
					x.d.other('"')
				}
				continue
			}
			if c == '\\' {
				i = x.backslash(i)
				continue
			}
			x.d.other(c)
			i++
		}
	}
}

// bom returns the length of the byte order mark at the start of a text.
func bom(src []byte) int {
	if hasPrefix(src, "\uFEFF") {
		return len("\uFEFF")
	}
	return 0
}

// backslash handles a backslash outside of strings. It returns the position after the quote, sign
// or line break that it escapes.
func (x *Lexer) backslash(i int) int {
	i++
	if i+1 < len(x.src) && x.src[i] == '\r' && x.src[i+1] == '\n' {
		i++
	}
	switch {
	case i == len(x.src):
	case x.src[i] == '\n':
		i++
		x.d.continued = true
		if i < len(x.src) {
			x.beginLine(i, Code)
		}
	case classes[x.src[i]] != other: // App\Models, \x -> x
		x.d.other('\\')
	default:
		i++
	}
	return i
}

// region returns the end of the comment or string that begins at i, or i.
func (x *Lexer) region(i int, c byte) (int, Kind) {
	syn, rest := x.syn, x.src[i:]
	switch {
	case syn.open != "" && c == syn.open[0] && hasPrefix(rest, syn.open):
		return i + x.blockEnd(rest), Comment
	case syn.line != "" && c == syn.line[0] && hasPrefix(rest, syn.line) && !x.noComment(i),
		syn.line2 != "" && c == syn.line2[0] && !x.noComment2(i, c):
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			return i + end, Comment
		}
		return len(x.src), Comment
	case syn.triple && (c == '"' || c == '\'') && len(rest) > 2 && rest[1] == c && rest[2] == c:
		k := String
		if x.lang == Python && (!x.d.lineStarted || x.prefixed(i)) {
			k = Comment // a docstring
		}
		if end := bytes.Index(rest[3:], rest[:3]); end >= 0 {
			return i + 3 + end + 3, k
		}
		return len(x.src), k
	case c == '"' && x.rawAt(i) != notRaw:
		return i + x.rawEnd(i), String
	case indexByte(syn.raw, c):
		return i + x.stringEnd(rest, c, true), String
	case indexByte(syn.quotes, c):
		return i + x.stringEnd(rest, c, false), String
	case syn.chars && c == '\'':
		// 'a' is a character, 'a a lifetime.
		if len(rest) > 2 && rest[1] == '\\' {
			return i + x.stringEnd(rest, c, false), String
		}
		if len(rest) > 2 && rest[2] == '\'' {
			return i + 3, String
		}
	case syn.regexSlash && c == '/' && x.d.operandExpected():
		if end := regexEnd(rest); end > 0 {
			return i + end, String
		}
	}
	return i, Code
}

// noComment reports whether a comment sign does not begin a comment: $# and ${x#y} of shells, C#
// directives.
func (x *Lexer) noComment(i int) bool {
	return x.syn.line == "#" && x.lang == Shell && i > 0 && x.src[i-1] != ' ' && x.src[i-1] != '\n' && x.src[i-1] != '\t'
}

// noComment2 is like noComment for the language's second comment sign: a ; within a line of data,
// and % as used in Elixir.
func (x *Lexer) noComment2(i int, c byte) bool {
	switch x.lang {
	case Data:
		return x.d.lineStarted
	case Elixir:
		return i+1 < len(x.src) && (x.src[i+1] == '{' || classes[x.src[i+1]] != other)
	}
	return false
}

func (x *Lexer) blockEnd(rest []byte) int {
	from := len(x.syn.open)
	if !x.syn.nested {
		if end := bytes.Index(rest[from:], []byte(x.syn.shut)); end >= 0 {
			return from + end + len(x.syn.shut)
		}
		return len(rest)
	}
	depth := 1
	for i := from; i < len(rest)-1; i++ {
		switch {
		case hasPrefix(rest[i:], x.syn.shut):
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		case hasPrefix(rest[i:], x.syn.open):
			i++
			depth++
		}
	}
	return len(rest)
}

// stringEnd returns the end of the string at the start of rest. A string that is not closed on its
// line ends with the line, unless many is true, which allows it to span lines.
func (x *Lexer) stringEnd(rest []byte, quote byte, many bool) int {
	if quote == '`' && x.lang == JavaScript && !x.loose {
		if end := templateEnd(rest); end > 0 {
			return end
		}
		x.loose = true // so that the end of a template that is never closed is searched for only once
	}
	raw := quote == '`' && x.lang == Go
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case quote:
			return i + 1
		case '\\':
			if !raw {
				i++
			}
		case '\n':
			if !many {
				return i
			}
		}
	}
	return len(rest)
}

// regexEnd returns the end of a regular expression literal on one line, or 0.
func regexEnd(rest []byte) int {
	set := false
	for i := 1; i < len(rest) && i < 500; i++ {
		switch rest[i] {
		case '\\':
			i++
		case '[':
			set = true
		case ']':
			set = false
		case '\n':
			return 0
		case '/':
			if !set {
				return i + 1
			}
		}
	}
	return 0
}

func hasPrefix(b []byte, p string) bool { return len(b) >= len(p) && string(b[:len(p)]) == p }

func indexByte(s string, c byte) bool {
	for i := range len(s) {
		if s[i] == c {
			return true
		}
	}
	return false
}

// Of returns the token's bytes in the text it was read from.
func (t Token) Of(text []byte) []byte { return text[t.Start : t.Start+uint32(t.Len)] }
