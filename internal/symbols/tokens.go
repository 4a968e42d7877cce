package symbols

import (
	"bytes"
	"slices"
	"sort"
)

// A reader finds definitions and references of one text by its tokens.
type reader struct {
	lexer
	fam   *family
	defs  []Def
	refs  refList
	names map[string]string
}

// read finds the symbols of a text of this family.
func (f *family) read(name string, src []byte) Result {
	r := &reader{fam: f, names: map[string]string{}}
	out := Result{Parser: "tokens/" + f.name}
	if f.shape == headings {
		out.Defs = markdownHeadings(src)
		return out
	}
	r.reset(f.syntax, src)
	if f.scripts {
		r.runScripts()
	} else {
		r.toks = make([]lexToken, 0, len(src)/4+8)
		r.run()
	}
	switch f.shape {
	case braces:
		b := bracesReader{reader: r, header: f.style == styleC && isHeader(name)}
		b.read()
	case indented:
		r.readIndented()
	case ended:
		r.readEnded()
	case lines:
		r.readLines()
	}
	r.document()
	r.references()
	out.Defs, out.Refs = r.defs, r.refs
	return out
}

func isHeader(name string) bool {
	switch Ending(name) {
	case ".h", ".hh", ".hpp", ".hxx":
		return true
	}
	return false
}

// runScripts reads the code between <script> tags.
func (r *reader) runScripts() {
	src, end := r.src, 0
	for {
		i := bytes.Index(src[end:], []byte("<script"))
		if i < 0 {
			return
		}
		from := bytes.IndexByte(src[end+i:], '>')
		if from < 0 {
			return
		}
		from += end + i + 1
		to := len(src)
		if j := bytes.Index(src[from:], []byte("</script")); j >= 0 {
			to = from + j
		}
		r.line += uint32(bytes.Count(src[r.pos:from], []byte("\n")))
		r.pos, r.until, r.fresh = from, to, true
		r.run()
		r.pos = max(r.pos, to)
		end = to
		if end >= len(src) {
			return
		}
	}
}

func (r *reader) text(t lexToken) []byte { return r.src[t.from:t.to] }

func (r *reader) is(i int, s string) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind == tokIdent && string(r.text(r.toks[i])) == s
}

func (r *reader) kind(i int) tokenKind {
	if i < 0 || i >= len(r.toks) {
		return 0
	}
	return r.toks[i].kind
}

// name returns a text as a string. Equal texts share their bytes.
func (r *reader) name(text []byte) string {
	if s, ok := r.names[string(text)]; ok {
		return s
	}
	s := string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
	r.names[s] = s
	return s
}

// lastLine returns the line of the last byte that is not a newline.
func (r *reader) lastLine() int {
	if len(r.toks) == 0 {
		return 1
	}
	return r.endLine(len(r.toks) - 1)
}

// endLine returns the line where a token ends; a string may have begun several lines earlier.
func (r *reader) endLine(i int) int {
	t := r.toks[i]
	if t.kind != tokString {
		return int(t.line)
	}
	return int(t.line) + bytes.Count(r.text(t), []byte("\n"))
}

// column returns the text of a token's line, from the first non-white-space byte to the token's
// end.
func (r *reader) column(i int) int {
	at := int(r.toks[i].from)
	start := bytes.LastIndexByte(r.src[max(0, at-1000):at], '\n') + 1 + max(0, at-1000)
	col := 0
	for _, c := range r.src[start:at] {
		if c == '\t' {
			col += 8 - col%8
		} else {
			col++
		}
	}
	return col
}

// signature returns the text from one token up to another, without comments.
func (r *reader) signature(from, to int) string {
	if from >= to || from >= len(r.toks) {
		return ""
	}
	a, b := r.toks[from].from, r.toks[min(to, len(r.toks))-1].to
	b = min(b, a+4*maxSignature)
	i := sort.Search(len(r.comments), func(i int) bool { return r.comments[i].from >= a })
	if i >= len(r.comments) || r.comments[i].from >= b {
		return OneLine(r.src[a:b])
	}
	part := bytes.Clone(r.src[a:b])
	for ; i < len(r.comments) && r.comments[i].from < b; i++ {
		c := r.comments[i]
		for j := c.from; j < min(c.to, b); j++ {
			part[j-a] = ' '
		}
	}
	return OneLine(part)
}

// document finds the comment right above each definition.
func (r *reader) document() {
	for i := range r.defs {
		d := &r.defs[i]
		c := sort.Search(len(r.comments), func(c int) bool { return int(r.comments[c].end) >= d.StartLine }) - 1
		next := d.StartLine
		for ; c >= 0 && r.comments[c].alone && int(r.comments[c].end) == next-1; c-- {
			next = int(r.comments[c].line)
			d.DocLine = next
		}
	}
}

// references finds calls and uses of types in the tokens.
func (r *reader) references() {
	typed := r.fam.shape == braces && r.fam.style != styleC || r.fam.shape == indented
	for i, t := range r.toks {
		if t.kind != tokIdent || t.def {
			continue
		}
		text := r.text(t)
		switch next := r.kind(i + 1); {
		case next == '(' && !r.fam.isControl(text), r.fam.style == styleRust && r.rustCall(i):
			r.refs.add(r.name(text), Call, int(t.line))
		case typed && looksLikeType(text):
			r.refs.add(r.name(text), TypeUse, int(t.line))
		case r.fam.style == styleC && r.cType(i):
			r.refs.add(r.name(text), TypeUse, int(t.line))
		case r.fam.shape == indented && i > 0 && r.kind(i-1) == '@' && r.toks[i-1].first && next != '.':
			r.refs.add(r.name(text), Call, int(t.line))
		}
	}
	r.refs = r.refs.sorted()
}

// rustCall reports whether a name is a call of a macro, name!(...), or a call of the form
// name::<T>(...).
func (r *reader) rustCall(i int) bool {
	switch r.kind(i + 1) {
	case '!':
		k := r.kind(i + 2)
		return (k == '(' || k == '[' || k == '{') && !r.is(i, "macro_rules")
	case tokPath:
		return r.kind(i+2) == '<'
	}
	return false
}

// looksLikeType distinguishes UserName from user_name and USER_NAME.
func looksLikeType(name []byte) bool {
	if len(name) < 2 || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	return slices.ContainsFunc(name[1:], func(c byte) bool { return c >= 'a' && c <= 'z' })
}

// cType recognises a type in C by the tokens after it: a name, or stars and a name, at a position
// where a declaration may begin.
func (r *reader) cType(i int) bool {
	text := r.text(r.toks[i])
	if r.fam.isControl(text) || cPlain[string(text)] {
		return false
	}
	if r.is(i-1, "struct") || r.is(i-1, "union") || r.is(i-1, "enum") || r.is(i-1, "class") {
		return true
	}
	j := i + 1
	switch r.kind(j) {
	case tokIdent:
		return !r.toks[j].first && !r.fam.isControl(r.text(r.toks[j]))
	case '*', '&':
		for r.kind(j) == '*' || r.kind(j) == '&' || r.is(j, "const") {
			j++
		}
		switch r.kind(i - 1) {
		case '(', ',', ';', '{', '}', 0:
			return r.kind(j) == tokIdent || r.kind(j) == ')' || r.kind(j) == ','
		}
		return r.is(i-1, "const") || r.is(i-1, "static") || r.is(i-1, "sizeof")
	}
	return false
}

// cPlain are words that precede a type, or types that nobody looks up.
var cPlain = map[string]bool{
	"const": true, "extern": true, "inline": true, "register": true, "auto": true, "goto": true, "typename": true, "public": true,
	"private": true, "protected": true, "virtual": true, "friend": true, "template": true, "mutable": true, "restrict": true, "signed": true,
	"namespace": true, "size_t": true, "break": true, "continue": true, "typedef": true, "_Bool": true,
}
