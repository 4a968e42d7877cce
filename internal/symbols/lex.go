package symbols

import "bytes"

// A tokenKind is the byte of a punctuation mark, or one of these.
type tokenKind byte

const (
	tokIdent  tokenKind = 'i'
	tokString tokenKind = 's'
	tokNumber tokenKind = '0'
	tokArrow  tokenKind = 'A' // =>
	tokThin   tokenKind = 'T' // ->
	tokPath   tokenKind = 'P' // ::
	tokOp     tokenKind = 'o' // ==, +=, && and other operators of several bytes
	tokDefine tokenKind = 'd' // the name after #define
)

type lexToken struct {
	from, to uint32
	line     uint32
	kind     tokenKind
	def      bool // the name of a definition
	first    bool // only white space precedes it in its line
}

type comment struct {
	from, to  uint32
	line, end uint32
	alone     bool // nothing precedes it in its line
}

// A lexer cuts a text into tokens. It reuses its memory for the next text.
type lexer struct {
	syn      *syntax
	src      []byte
	pos      int
	line     uint32
	fresh    bool // no token yet in this line
	toks     []lexToken
	comments []comment
	ifs      []condition
	depth    int // of braces, for conditions
	until    int // end of the part to read
	open     int // number of multi-line strings that were never closed
}

func (x *lexer) reset(syn *syntax, src []byte) {
	*x = lexer{syn: syn, src: src, line: 1, fresh: true, until: len(src), toks: x.toks[:0], comments: x.comments[:0], ifs: x.ifs[:0]}
}

const (
	classOther = iota
	classSpace
	classIdent
	classDigit
)

var classes = func() (t [256]byte) {
	for c := range t {
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			t[c] = classSpace
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80:
			t[c] = classIdent
		case c >= '0' && c <= '9':
			t[c] = classDigit
		}
	}
	return t
}()

func (x *lexer) run() {
	for x.pos < x.until {
		c := x.src[x.pos]
		switch classes[c] {
		case classSpace:
			x.pos++
		case classIdent:
			x.ident()
		case classDigit:
			x.number()
		default:
			if c == '\n' {
				x.newline()
			} else {
				x.other(c)
			}
		}
	}
}

func (x *lexer) newline() {
	x.pos++
	x.line++
	x.fresh = true
}

func (x *lexer) emit(kind tokenKind, from, to int) {
	x.toks = append(x.toks, lexToken{from: uint32(from), to: uint32(to), line: x.line, kind: kind, first: x.fresh})
	x.fresh = false
	x.pos = to
}

func (x *lexer) ident() {
	i := x.pos + 1
	for i < x.until && classes[x.src[i]] >= classIdent {
		i++
	}
	if i < x.until && (x.src[i] == '"' || x.src[i] == '\'') && i-x.pos <= 3 && x.syn.prefixed(x.src[x.pos:i], x.src[i:x.until]) {
		from := x.pos
		x.pos = i
		x.rawString(from)
		return
	}
	if x.syn.rust && i+1 < x.until && x.src[i] == '#' && x.rustRaw(i) {
		return
	}
	x.emit(tokIdent, x.pos, i)
}

func (x *lexer) number() {
	i := x.pos + 1
	for i < x.until && (classes[x.src[i]] >= classIdent || x.src[i] == '.' && i+1 < x.until && classes[x.src[i+1]] == classDigit ||
		x.src[i] == '\'' && x.syn.digitQuote && i+1 < x.until && classes[x.src[i+1]] >= classIdent) {
		i++
	}
	x.emit(tokNumber, x.pos, i)
}

func (x *lexer) at(s string) bool {
	return s != "" && x.until-x.pos >= len(s) && string(x.src[x.pos:x.pos+len(s)]) == s
}

func (x *lexer) other(c byte) {
	s := x.syn
	switch {
	case x.comment():
	case c == '"' || c == '\'' || c == '`':
		x.quote(c)
	case c == '/' && s.regex && x.regexStarts():
		x.regex()
	case c == '#' && s.preproc && x.fresh:
		x.directive()
	case c == '<' && s.heredoc && x.heredoc():
	case c == '\\' && x.pos+1 < x.until: // an escape outside of strings, or a continued line
		if x.pos++; x.src[x.pos] == '\n' {
			x.pos++
			x.line++
		} else {
			x.pos++
		}
	default:
		x.punct(c)
	}
}

func (x *lexer) comment() bool {
	s := x.syn
	for _, pair := range s.blockComment {
		if x.at(pair[0]) && (!s.ruby || x.fresh) {
			x.blockComment(pair[0], pair[1])
			return true
		}
	}
	for _, open := range s.lineComment {
		if x.at(open) && !(open == "#" && s.shell && !x.wordStarts()) {
			end := x.until
			if i := bytes.IndexByte(x.src[x.pos:x.until], '\n'); i >= 0 {
				end = x.pos + i
			}
			x.comments = append(x.comments, comment{from: uint32(x.pos), to: uint32(end), line: x.line, end: x.line, alone: x.fresh})
			x.pos = end
			return true
		}
	}
	return false
}

func (x *lexer) wordStarts() bool {
	return x.pos == 0 || classes[x.src[x.pos-1]] == classSpace || bytes.IndexByte([]byte("\n;(&|"), x.src[x.pos-1]) >= 0
}

func (x *lexer) blockComment(open, end string) {
	c := comment{from: uint32(x.pos), line: x.line, alone: x.fresh}
	x.pos += len(open)
	for depth := 1; x.pos < x.until; {
		switch {
		case x.at(end):
			x.pos += len(end)
			depth--
		case x.syn.nested && x.at(open):
			x.pos += len(open)
			depth++
		case x.src[x.pos] == '\n':
			x.pos++
			x.line++
		default:
			x.pos++
		}
		if depth == 0 {
			break
		}
	}
	c.to, c.end = uint32(x.pos), x.line
	x.comments = append(x.comments, c)
}

func (x *lexer) punct(c byte) {
	var next byte
	if x.pos+1 < x.until {
		next = x.src[x.pos+1]
	}
	kind, n := tokenKind(c), 1
	switch {
	case c == '=' && next == '>':
		kind, n = tokArrow, 2
	case c == '-' && next == '>':
		kind, n = tokThin, 2
	case c == ':' && next == ':':
		kind, n = tokPath, 2
	case next == '=' && bytes.IndexByte([]byte("=!<>+-*/%&|^~:?"), c) >= 0:
		kind, n = tokOp, 2
		if x.pos+2 < x.until && x.src[x.pos+2] == '=' {
			n = 3
		}
	case c == next && (c == '&' || c == '|' || c == '+' || c == '-' || c == '?'):
		kind, n = tokOp, 2
	}
	switch c {
	case '{':
		x.depth++
	case '}':
		x.depth--
	}
	x.emit(kind, x.pos, x.pos+n)
}
