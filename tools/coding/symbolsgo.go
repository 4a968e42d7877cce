package coding

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"
)

// goSymbols are the top-level declarations of a Go file, with the methods of interfaces.
func goSymbols(text string) ([]symbol, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	g := goOutline{fset: fset}
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
	return g.out, nil
}

type goOutline struct {
	fset *token.FileSet
	out  []symbol
}

func (g *goOutline) add(n ast.Node, kind, name, sig string, depth int) {
	g.out = append(g.out, symbol{
		kind: kind, name: name, sig: sig, depth: depth,
		line: g.fset.Position(n.Pos()).Line, end: g.fset.Position(n.End()).Line,
	})
}

func (g *goOutline) function(d *ast.FuncDecl) {
	bare := *d
	bare.Body, bare.Doc = nil, nil
	kind, name := "func", d.Name.Name
	if d.Recv != nil && len(d.Recv.List) > 0 {
		kind, name = "method", receiverName(d.Recv.List[0].Type)+"."+name
	}
	g.add(d, kind, name, g.source(&bare), 0)
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.ParenExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func (g *goOutline) spec(d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		g.typeSpec(d, s)
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.Name != "_" {
				sig := d.Tok.String() + " " + n.Name
				if s.Type != nil {
					sig += " " + g.source(s.Type)
				}
				g.add(s, d.Tok.String(), n.Name, sig, 0)
			}
		}
	}
}

func (g *goOutline) typeSpec(d *ast.GenDecl, s *ast.TypeSpec) {
	name := s.Name.Name
	var n ast.Node = s
	if !d.Lparen.IsValid() {
		n = d
	}
	sig := "type " + name
	if s.TypeParams != nil {
		sig += g.typeParams(s.TypeParams)
	}
	if s.Assign.IsValid() {
		sig += " ="
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		g.add(n, "type", name, sig+" struct", 0)
	case *ast.InterfaceType:
		g.add(n, "type", name, sig+" interface", 0)
		for _, m := range t.Methods.List {
			for _, id := range m.Names {
				g.add(m, "method", name+"."+id.Name, id.Name+strings.TrimPrefix(g.source(m.Type), "func"), 1)
			}
		}
	default:
		g.add(n, "type", name, sig+" "+g.source(s.Type), 0)
	}
}

func (g *goOutline) typeParams(list *ast.FieldList) string {
	var parts []string
	for _, f := range list.List {
		var names []string
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
		parts = append(parts, strings.Join(names, ", ")+" "+g.source(f.Type))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// source prints a node on one line.
func (g *goOutline) source(n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, g.fset, n); err != nil {
		return "..."
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
