package symbols

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// refList collects references, one for each name, kind and line.
type refList []Ref

// add appends a reference unless it equals one of the last few.
func (l *refList) add(name, kind string, line int) {
	for i := len(*l) - 1; i >= max(0, len(*l)-16) && (*l)[i].Line == line; i-- {
		if (*l)[i].Name == name && (*l)[i].Kind == kind {
			return
		}
	}
	*l = append(*l, Ref{Name: name, Line: line, Kind: kind})
}

func (l refList) sorted() refList {
	byLine := func(a, b Ref) int { return cmp.Compare(a.Line, b.Line) }
	if !slices.IsSortedFunc(l, byLine) {
		slices.SortStableFunc(l, byLine)
	}
	return l
}

// references walks the whole file for calls and uses of types.
func (g *goFile) references(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			g.called(n.Fun)
		case *ast.CompositeLit:
			g.typeUse(n.Type)
		case *ast.Field:
			g.typeUse(n.Type)
		case *ast.ValueSpec:
			g.typeUse(n.Type)
		case *ast.TypeSpec:
			g.typeUse(n.Type)
		case *ast.TypeAssertExpr:
			g.typeUse(n.Type)
		case *ast.TypeSwitchStmt:
			g.typeCases(n)
		}
		return true
	})
	g.refs = g.refs.sorted()
}

func (g *goFile) use(id *ast.Ident, kind string) {
	if id.Name != "_" && types.Universe.Lookup(id.Name) == nil {
		g.refs.add(id.Name, kind, g.line(id.Pos()))
	}
}

func (g *goFile) called(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		g.use(e, Call)
	case *ast.SelectorExpr:
		g.use(e.Sel, Call)
	case *ast.IndexExpr:
		g.called(e.X)
	case *ast.IndexListExpr:
		g.called(e.X)
	case *ast.ArrayType, *ast.ParenExpr, *ast.MapType:
		g.typeUse(e) // a conversion
	}
}

func (g *goFile) typeCases(s *ast.TypeSwitchStmt) {
	for _, c := range s.Body.List {
		if c, ok := c.(*ast.CaseClause); ok {
			for _, e := range c.List {
				g.typeUse(e)
			}
		}
	}
}

// typeUse records the names in a type. Types with fields are left to the walk over the file.
func (g *goFile) typeUse(e ast.Expr) {
	for range maxGoType {
		switch t := e.(type) {
		case *ast.Ident:
			g.use(t, TypeUse)
			return
		case *ast.SelectorExpr:
			g.use(t.Sel, TypeUse)
			return
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.ArrayType:
			e = t.Elt
		case *ast.Ellipsis:
			e = t.Elt
		case *ast.ChanType:
			e = t.Value
		case *ast.UnaryExpr: // ~T in a constraint
			e = t.X
		case *ast.MapType:
			g.typeUse(t.Key)
			e = t.Value
		case *ast.IndexExpr:
			g.typeUse(t.Index)
			e = t.X
		case *ast.IndexListExpr:
			for _, i := range t.Indices {
				g.typeUse(i)
			}
			e = t.X
		case *ast.BinaryExpr:
			if t.Op != token.OR {
				return
			}
			g.typeUse(t.Y)
			e = t.X
		default:
			return
		}
	}
}

// maxGoType limits the nesting of the types that are visited.
const maxGoType = 64
