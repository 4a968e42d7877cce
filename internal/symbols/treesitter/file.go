//go:build cgo && !luthier_nosymbols

package treesitter

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	sitter "github.com/smacker/go-tree-sitter"

	"github.com/luthier-dev/luthier/internal/symbols"
)

// A file collects what a query finds in one file.
type file struct {
	lang   *language
	src    []byte
	starts []int // of each line
	found  []found
	wraps  []span
	errors []span
	refs   []ref
	broken bool
	names  map[string]string
}

type span struct{ from, to int }

type found struct {
	span
	kind  string
	local bool
	name  span
	head  int // start of its body, or its end
}

type ref struct {
	span
	kind string
}

// match handles one match. It only gets the positions of nodes, because each access to a node is a
// C call.
func (f *file) match(m *sitter.QueryMatch) {
	var d found
	for _, c := range m.Captures {
		s := span{int(c.Node.StartByte()), int(c.Node.EndByte())}
		if s.from > s.to || s.to > len(f.src) {
			return
		}
		switch is := f.lang.captures[c.Index]; is.role {
		case roleDef:
			d.span, d.kind, d.local = s, is.kind, is.local
		case roleName:
			d.name = s
		case roleBody:
			d.head = s.from
		case roleWrap:
			f.wraps = append(f.wraps, s)
		case roleScope:
			f.found = append(f.found, found{span: s})
		case roleRef:
			f.refs = append(f.refs, ref{s, is.kind})
		case roleError:
			f.errors = append(f.errors, s)
		}
	}
	if d.kind != "" && d.name.to > d.name.from {
		if d.head == 0 {
			d.head = d.to
		}
		f.found = append(f.found, d)
	}
}

// line returns the line of a byte, from 1.
func (f *file) line(at int) int { return sort.SearchInts(f.starts, at+1) }

func (f *file) name(text []byte) string {
	if s, ok := f.names[string(text)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(text), "\uFFFD")
	f.names[s] = s
	return s
}

func (f *file) result() symbols.Result {
	f.names = map[string]string{}
	f.starts = []int{0}
	for i := 0; ; {
		n := bytes.IndexByte(f.src[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		f.starts = append(f.starts, i)
	}
	r := symbols.Result{Exact: !f.broken, Parser: "tree-sitter/" + f.lang.name}
	f.definitions(&r)
	names := map[int]bool{}
	for _, d := range f.found {
		names[d.name.from] = true
	}
	slices.SortFunc(f.refs, func(a, b ref) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.kind, b.kind)) })
	line, at := 1, 0 // of the first reference on this line in r.Refs
	for _, x := range f.refs {
		if names[x.from] {
			continue
		}
		for line < len(f.starts) && f.starts[line] <= x.from {
			line++
			at = len(r.Refs)
		}
		ref := symbols.Ref{Name: f.name(f.src[x.from:x.to]), Line: line, Kind: x.kind}
		if !slices.Contains(r.Refs[max(at, len(r.Refs)-32):], ref) {
			r.Refs = append(r.Refs, ref)
		}
	}
	return r
}

// definitions converts the definitions found to symbols, nested as in the source.
func (f *file) definitions(r *symbols.Result) {
	slices.SortFunc(f.wraps, byBegin)
	slices.SortStableFunc(f.found, func(a, b found) int { return byBegin(a.span, b.span) })
	var open []int         // indexes into r.Defs
	var ends, scopes []int // ends of the open definitions
	last := map[int]int{}  // definition by the start of its name
	for _, x := range f.found {
		if at, ok := last[x.name.from]; ok && x.kind != "" { // two patterns matched this name: const x = 1 is less specific than const x = () => {}
			if r.Defs[at].Kind == symbols.Const {
				r.Defs[at].Kind, r.Defs[at].Signature = x.kind, f.signature(x.from, x.head)
			}
			continue
		}
		for len(open) > 0 && ends[len(ends)-1] <= x.from {
			open, ends = open[:len(open)-1], ends[:len(ends)-1]
		}
		for len(scopes) > 0 && scopes[len(scopes)-1] <= x.from {
			scopes = scopes[:len(scopes)-1]
		}
		if x.kind == "" {
			scopes = append(scopes, x.to)
			continue
		}
		if x.local && len(scopes) > 0 {
			continue
		}
		d, ok := f.definition(x, r.Defs, open)
		if !ok {
			continue
		}
		last[x.name.from] = len(r.Defs)
		if d.Kind == symbols.Func || d.Kind == symbols.Method {
			scopes = append(scopes, x.to)
		}
		open, ends = append(open, len(r.Defs)), append(ends, x.to)
		r.Defs = append(r.Defs, d)
	}
}

func byBegin(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) }

func (f *file) definition(x found, defs []symbols.Def, open []int) (symbols.Def, bool) {
	d := symbols.Def{Kind: x.kind, Signature: f.signature(x.from, x.head), Depth: len(open)}
	var outer *symbols.Def
	if len(open) > 0 {
		outer = &defs[open[len(open)-1]]
		d.Container = outer.FullName()
		if len(d.Container) > 240 {
			d.Container = outer.Container
		}
		if d.Kind == symbols.Func && symbols.IsType(outer.Kind) {
			d.Kind = symbols.Method
		}
	}
	start := x.from
	exported := false
	i := sort.Search(len(f.wraps), func(i int) bool { return f.wraps[i].from > x.from })
	for n := 0; i > 0 && n < 3; n++ {
		i--
		if w := f.wraps[i]; w.to >= x.to && w.to <= x.to+1 {
			start = w.from
			exported = strings.HasPrefix(string(f.src[w.from:min(w.to, w.from+6)]), "export")
		}
	}
	if start < x.from && exported {
		d.Signature = f.signature(start, x.head)
	}
	f.named(&d, f.src[x.name.from:x.name.to])
	if d.Name == "" {
		return d, false
	}
	d.StartLine, d.Line = f.line(start), f.line(x.name.from)
	d.EndLine = max(d.Line, f.line(max(x.to-1, x.from)))
	f.comments(&d)
	d.Exported = symbols.Exported(f.lang.name, d, outer)
	return d, true
}

// named sets the name and the container that precedes it: A::b<T> in C++ and Rust, A.B in others.
func (f *file) named(d *symbols.Def, text []byte) {
	if f.lang.name == "rust" && d.Kind == symbols.Impl || f.lang.name == "cpp" && !bytes.HasPrefix(text, []byte("operator")) {
		if i := bytes.IndexAny(text, "<("); i > 0 && !bytes.Contains(text, []byte("operator")) {
			text = text[:i]
		}
		text = bytes.TrimLeft(text, "&*[( ")
		if f.lang.name == "rust" {
			text = rustType(text)
		}
	}
	if quoted := len(text) > 0 && (text[0] == '"' || text[0] == '\''); quoted {
		d.Name = f.name(bytes.Trim(text, "\"'"))
		return
	}
	text = bytes.Trim(text, "#] ")
	if i := bytes.IndexByte(text, '['); i > 0 && f.lang.name == "python" {
		text = text[:i] // type Alias[T]
	}
	for _, sep := range []string{"::", "."} {
		if i := bytes.LastIndex(text, []byte(sep)); i >= 0 && len(text) < 240 {
			before := strings.ReplaceAll(string(text[:i]), "::", ".")
			if text = text[i+len(sep):]; f.lang.name == "cpp" {
				d.Container = before
				if d.Kind == symbols.Func {
					d.Kind = symbols.Method
				}
			}
		}
	}
	if len(text) > 240 || bytes.ContainsAny(text, "\n") {
		text = nil
	}
	d.Name = f.name(text)
}

// signature returns the beginning of a definition, up to its body.
func (f *file) signature(from, to int) string {
	s := symbols.OneLine(f.src[from:max(from, to)])
	if f.lang.name == "python" {
		return s
	}
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(s, " {;"), "="), " ")
}

// comments finds the lines right above a definition that are its attributes or comments on it.
func (f *file) comments(d *symbols.Def) {
	line := d.StartLine - 1
	for ; line >= 1; line-- {
		text := f.text(line)
		attribute := len(text) > 1 && text[0] == '#' && text[1] == '[' || len(text) > 1 && text[0] == '@' && f.lang.name != "python" && !bytes.HasPrefix(text, []byte("@interface"))
		if !attribute || f.lang.name == "java" {
			break
		}
		d.StartLine = line
	}
	for ; line >= 1; line-- {
		text := f.text(line)
		if len(text) == 0 || !(bytes.HasPrefix(text, []byte("//")) || text[0] == '*' || bytes.HasPrefix(text, []byte("/*")) || bytes.HasSuffix(text, []byte("*/")) || text[0] == '#' && (f.lang.name == "python" || f.lang.name == "ruby")) {
			break
		}
		d.DocLine = line
	}
}

func (f *file) text(line int) []byte {
	end := len(f.src)
	if line < len(f.starts) {
		end = f.starts[line]
	}
	return bytes.TrimSpace(f.src[f.starts[line-1]:end])
}

// rustType returns the name of a type without lifetimes. If there are several bounds, it returns
// the first.
func rustType(text []byte) []byte {
	for {
		trimmed := text
		if len(text) > 0 && text[0] == '\'' {
			trimmed = text[afterSpace(text):]
		}
		for _, word := range []string{"mut ", "dyn ", "const "} {
			trimmed = bytes.TrimPrefix(trimmed, []byte(word))
		}
		if len(trimmed) == len(text) {
			break
		}
		text = trimmed
	}
	if i := bytes.IndexAny(text, " +,;)"); i > 0 {
		text = text[:i]
	}
	return text
}

func afterSpace(text []byte) int {
	if i := bytes.IndexByte(text, ' '); i >= 0 {
		return i + 1
	}
	return len(text)
}
