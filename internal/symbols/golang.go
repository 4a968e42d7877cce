package symbols

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// ofGo reads Go with go/parser. Definitions that go/parser misses because of a syntax error are
// found by the token reader.
func ofGo(src []byte) Result {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution|parser.ParseComments)
	if file == nil {
		return languages[".go"].read("x.go", src)
	}
	g := goFile{src: src, file: fset.File(file.FileStart)}
	if g.file == nil {
		return languages[".go"].read("x.go", src)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				g.spec(d, s)
			}
		}
	}
	g.references(file)
	r := Result{Defs: g.defs, Refs: g.refs, Exact: err == nil, Parser: "go/parser"}
	if err != nil {
		r.addMissing(languages[".go"].read("x.go", src))
	}
	return r
}

// addMissing adds those definitions of the parameter from for whose positions r has no definition.
func (r *Result) addMissing(from Result) {
	own := len(r.Defs)
	for _, d := range from.Defs {
		if !slices.ContainsFunc(r.Defs[:own], func(o Def) bool { return o.StartLine <= d.Line && d.Line <= o.EndLine }) {
			r.Defs = append(r.Defs, d)
		}
	}
	if len(r.Defs) > own {
		slices.SortStableFunc(r.Defs, func(a, b Def) int { return a.StartLine - b.StartLine })
	}
	if len(r.Refs) == 0 {
		r.Refs = from.Refs
	}
}

type goFile struct {
	src  []byte
	file *token.File
	defs []Def
	refs refList
}

func (g *goFile) line(p token.Pos) int {
	if !p.IsValid() {
		return 1
	}
	return g.file.PositionFor(p, false).Line
}

// text returns the source between two positions on one line. If the parser invented a position, it
// returns less.
func (g *goFile) text(from, to token.Pos) string {
	a, b := g.offset(from), g.offset(to)
	if a >= b {
		return ""
	}
	part := g.src[a:b]
	if bytes.Contains(part, []byte("//")) || bytes.Contains(part, []byte("/*")) {
		part = blankGoComments(part)
	}
	return OneLine(part)
}

func (g *goFile) offset(p token.Pos) int {
	if !p.IsValid() {
		return 0
	}
	return min(max(int(p)-g.file.Base(), 0), len(g.src))
}

func (g *goFile) add(d Def, n ast.Node, name *ast.Ident, doc *ast.CommentGroup) {
	d.Name, d.Line, d.Exported = name.Name, g.line(name.Pos()), name.IsExported()
	d.StartLine, d.EndLine = g.line(n.Pos()), g.line(n.End())
	d.EndLine = min(max(d.EndLine, d.Line), g.file.LineCount())
	if doc != nil {
		d.DocLine = g.line(doc.Pos())
	}
	g.defs = append(g.defs, d)
}

func (g *goFile) function(d *ast.FuncDecl) {
	end := d.Type.End()
	out := Def{Kind: Func, Signature: g.text(d.Type.Func, end)}
	if d.Recv != nil && len(d.Recv.List) > 0 {
		out.Kind, out.Container = Method, receiverName(d.Recv.List[0].Type)
	}
	start := *d
	start.Doc = nil
	g.add(out, &start, d.Name, d.Doc)
}

func receiverName(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func (g *goFile) spec(d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		g.typeSpec(d, s)
	case *ast.ValueSpec:
		doc := s.Doc
		if doc == nil && !d.Lparen.IsValid() {
			doc = d.Doc
		}
		for _, n := range s.Names {
			if n.Name == "_" {
				continue
			}
			sig := d.Tok.String() + " " + n.Name
			if s.Type != nil {
				sig += " " + g.text(s.Type.Pos(), s.Type.End())
			}
			g.add(Def{Kind: d.Tok.String(), Signature: sig}, s, n, doc)
		}
	}
}

func (g *goFile) typeSpec(d *ast.GenDecl, s *ast.TypeSpec) {
	var n ast.Node = s
	doc := s.Doc
	if !d.Lparen.IsValid() {
		n = &ast.GenDecl{TokPos: d.TokPos, Specs: []ast.Spec{s}}
		doc = d.Doc
	}
	out := Def{Kind: Type, Signature: "type " + g.text(s.Name.Pos(), s.Type.End())}
	switch t := s.Type.(type) {
	case *ast.StructType:
		out.Kind = Struct
		out.Signature = "type " + g.text(s.Name.Pos(), t.Struct+token.Pos(len("struct")))
	case *ast.InterfaceType:
		out.Kind = Interface
		out.Signature = "type " + g.text(s.Name.Pos(), t.Interface+token.Pos(len("interface")))
	}
	g.add(out, n, s.Name, doc)
	if t, ok := s.Type.(*ast.InterfaceType); ok && t.Methods != nil {
		for _, m := range t.Methods.List {
			for _, id := range m.Names {
				sig := g.text(id.Pos(), m.Type.End())
				g.add(Def{Kind: Method, Container: s.Name.Name, Signature: sig, Depth: 1}, m, id, m.Doc)
			}
		}
	}
}

// blankGoComments returns the text without its comments. It is only used for signatures, which have
// few comments.
func blankGoComments(src []byte) []byte {
	var x lexer
	x.reset(languages[".go"].syntax, src)
	x.run()
	out := bytes.Clone(src)
	for _, c := range x.comments {
		for i := c.from; i < c.to; i++ {
			out[i] = ' '
		}
	}
	return out
}
