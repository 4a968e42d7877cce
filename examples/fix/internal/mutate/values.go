package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// value makes the slips of an expression that is used only for its value: an operand of a
// comparison, an argument, a result, the right side of an assignment. The node being visited is its
// parent.
func (w *walker) value(e ast.Expr) {
	w.plusOne(e, false)
	if w.signPlace(w.parent(0)) {
		w.addSign(e)
	}
	w.wrap(e)
	w.negate(e)
}

// plusOne drops the 1 of x + 1 or x - 1, and adds it to other expressions. The parameter sure means
// that the expression is certainly an integer.
func (w *walker) plusOne(e ast.Expr, sure bool) {
	if e == nil || !sure && !w.isInteger(e) {
		return
	}
	switch x := e.(type) {
	case *ast.BasicLit, *ast.FuncLit, *ast.CompositeLit:
		return
	case *ast.BinaryExpr:
		if isOne(x.Y) && (x.Op == token.ADD || x.Op == token.SUB) {
			if !isLiteral(x.X) {
				w.respaced(PlusOne, e, x.X.End(), x.Y.End(), "")
			}
			return
		}
		if x.Op.Precedence() < token.ADD.Precedence() {
			return
		}
	}
	w.respaced(PlusOne, e, e.End(), e.End(), " + 1")
	w.respaced(PlusOne, e, e.End(), e.End(), " - 1")
}

func isOne(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == "1"
}

// isInteger reports whether an expression is known to be an integer.
func (w *walker) isInteger(e ast.Expr) bool {
	if b := w.basic(e); b != nil {
		return b.Info()&types.IsInteger != 0
	}
	if c, ok := e.(*ast.CallExpr); ok && w.info.Types[e].Type == nil {
		return w.isBuiltin(c.Fun, "len") || w.isBuiltin(c.Fun, "cap")
	}
	if b, ok := e.(*ast.BinaryExpr); ok && isOne(b.Y) {
		return w.isInteger(b.X)
	}
	return false
}

// isBuiltin reports whether an expression names a builtin function.
func (w *walker) isBuiltin(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	if !ok || id.Name != name || w.names.declared[name] > 0 {
		return false
	}
	o := w.info.Uses[id]
	_, builtin := o.(*types.Builtin)
	return o == nil || builtin
}

// wrappers lists functions whose parameter and result have the same type, and whose call is easily
// forgotten or superfluous.
var wrappers = map[string][]string{
	"strings": {"ToLower", "ToUpper", "TrimSpace"}, "bytes": {"ToLower", "ToUpper", "TrimSpace"}, "math": {"Abs"},
	"path/filepath": {"Clean", "ToSlash", "FromSlash"}, "path": {"Clean"}, "html": {"EscapeString"},
	"net/url": {"PathEscape", "QueryEscape"}, "unicode": {"ToLower", "ToUpper"},
}

// wrap drops a wrapper around an expression, or adds one.
func (w *walker) wrap(e ast.Expr) {
	t := w.info.Types[e].Type
	if t == nil || e.End()-e.Pos() > 60 {
		return
	}
	if c, ok := e.(*ast.CallExpr); ok {
		if s, ok := c.Fun.(*ast.SelectorExpr); ok && len(c.Args) == 1 && w.isWrapper(s) {
			if types.Identical(w.info.Types[c.Args[0]].Type, t) && wrappable(c.Args[0]) {
				w.respaced(WrappedCall, e, e.Pos(), e.End(), w.text(c.Args[0]))
			}
			return
		}
	}
	if !wrappable(e) || w.info.Types[e].Value != nil {
		return
	}
	for _, p := range w.names.packages {
		for _, name := range wrappers[p.Imported().Path()] {
			f, ok := p.Imported().Scope().Lookup(name).(*types.Func)
			if ok && types.Identical(f.Signature().Params().At(0).Type(), t) && w.named(p, e.Pos()) {
				w.respaced(WrappedCall, e, e.Pos(), e.End(), p.Name()+"."+name+"("+w.text(e)+")")
			}
		}
	}
}

func (w *walker) isWrapper(s *ast.SelectorExpr) bool {
	id, ok := s.X.(*ast.Ident)
	if !ok {
		return false
	}
	p, ok := w.info.Uses[id].(*types.PkgName)
	return ok && slices.Contains(wrappers[p.Imported().Path()], s.Sel.Name)
}

// wrappable reports whether an expression is of a kind that is commonly wrapped: a name, a call, an
// element.
func wrappable(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
		return true
	}
	return false
}

// namedPackages records the imported packages for which wrappers are known.
func (w *walker) namedPackages() {
	scope := w.info.Scopes[w.fn.Type]
	if scope == nil || scope.Parent() == nil {
		return
	}
	file := scope.Parent()
	for _, name := range file.Names() {
		if p, ok := file.Lookup(name).(*types.PkgName); ok && wrappers[p.Imported().Path()] != nil {
			w.names.packages = append(w.names.packages, p)
		}
	}
}

// named reports whether a package's name refers to that package at the position at.
func (w *walker) named(p *types.PkgName, at token.Pos) bool {
	scope := w.scope(at)
	if scope == nil {
		return false
	}
	_, o := scope.LookupParent(p.Name(), at)
	return o == p
}
