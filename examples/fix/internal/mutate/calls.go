package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

func (w *walker) call(n *ast.CallExpr) {
	for _, e := range n.Args {
		w.value(e)
		w.tail(e)
	}
	switch {
	case w.isBuiltin(n.Fun, "len"):
		w.lenCap(n, "cap")
	case w.isBuiltin(n.Fun, "cap"):
		w.lenCap(n, "len")
	case w.isBuiltin(n.Fun, "min"):
		w.replaceNode(Function, n.Fun, "max")
	case w.isBuiltin(n.Fun, "max"):
		w.replaceNode(Function, n.Fun, "min")
	case w.isBuiltin(n.Fun, "make"):
		w.makeSize(n)
	}
	w.swapArguments(n)
}

func (w *walker) lenCap(n *ast.CallExpr, other string) {
	if len(n.Args) != 1 {
		return
	}
	if t := w.info.Types[n.Args[0]].Type; t != nil {
		if _, ok := t.Underlying().(*types.Slice); ok {
			w.replaceNode(LenCap, n.Fun, other)
		}
	}
}

// makeSize confuses the length of a slice with its capacity, and an unbuffered channel with a
// buffered one.
func (w *walker) makeSize(n *ast.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	switch t := n.Args[0].(type) {
	case *ast.ArrayType:
		switch {
		case t.Len != nil:
		case len(n.Args) == 2 && !isZero(n.Args[1]):
			w.replace(MakeSize, n.Args[1].Pos(), n.Args[1].Pos(), "0, ")
		case len(n.Args) == 3 && isZero(n.Args[1]):
			w.replace(MakeSize, n.Args[1].Pos(), n.Args[2].Pos(), "")
		}
	case *ast.ChanType:
		switch {
		case len(n.Args) == 1:
			w.replace(MakeSize, t.End(), t.End(), ", 1")
		case len(n.Args) == 2 && isOne(n.Args[1]):
			w.replace(MakeSize, t.End(), n.Args[1].End(), "")
		}
	}
}

// reversible lists functions of the standard library with two parameters of one type whose order is
// easily confused.
var reversible = map[string][]string{
	"strings":  {"HasPrefix", "HasSuffix", "Contains", "Index", "LastIndex", "Split", "TrimPrefix", "TrimSuffix", "Compare", "Count"},
	"bytes":    {"HasPrefix", "HasSuffix", "Contains", "Index", "LastIndex", "Split", "TrimPrefix", "TrimSuffix", "Compare", "Count"},
	"math":     {"Pow", "Atan2", "Mod"},
	"filepath": {"Rel"},
}

// swapArguments exchanges two arguments if each of them may be passed in place of the other.
func (w *walker) swapArguments(n *ast.CallExpr) {
	if n.Ellipsis.IsValid() || w.isBuiltin(n.Fun, "min") || w.isBuiltin(n.Fun, "max") {
		return
	}
	if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 2 {
		if id, ok := s.X.(*ast.Ident); ok && w.names.declared[id.Name] == 0 && slices.Contains(reversible[id.Name], s.Sel.Name) {
			w.swapText(Arguments, n.Args[0], n.Args[1])
			return
		}
	}
	sig, _ := typeOf(w.info, n.Fun).(*types.Signature)
	if sig == nil {
		if w.isBuiltin(n.Fun, "copy") && len(n.Args) == 2 && w.alike(n.Args[0], n.Args[1]) {
			w.swapText(Arguments, n.Args[0], n.Args[1])
		}
		return
	}
	for i := range n.Args {
		for j := i + 1; j < min(len(n.Args), i+3); j++ {
			p, q := parameter(sig, i), parameter(sig, j)
			if p != nil && q != nil && w.fits(n.Args[i], q) && w.fits(n.Args[j], p) {
				w.swapText(Arguments, n.Args[i], n.Args[j])
			}
		}
	}
}

func typeOf(info *types.Info, e ast.Expr) types.Type {
	t := info.Types[e].Type
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// alike reports whether two expressions have the same known type.
func (w *walker) alike(a, b ast.Expr) bool {
	t, u := w.info.Types[a].Type, w.info.Types[b].Type
	return t != nil && u != nil && types.Identical(t, u)
}

// parameter returns the type of the i-th parameter of a function, or nil if it has none.
func parameter(sig *types.Signature, i int) types.Type {
	n := sig.Params().Len()
	switch {
	case sig.TypeParams() != nil:
		return nil
	case sig.Variadic() && i >= n-1:
		return sig.Params().At(n - 1).Type().(*types.Slice).Elem()
	case i < n:
		return sig.Params().At(i).Type()
	}
	return nil
}

// fits reports whether an expression may be passed as a type. Only values of the same kind are
// swapped by mistake, so if the parameter accepts anything (an empty interface), only an expression
// of exactly that type fits.
func (w *walker) fits(e ast.Expr, t types.Type) bool {
	tv := w.info.Types[e]
	if tv.Type == nil || !tv.IsValue() || !valid(tv.Type) {
		return false
	}
	return types.AssignableTo(tv.Type, t)
}

// deferrable lists methods that end or release something, for which a defer is easily forgotten or
// wrongly added.
var deferrable = []string{"Unlock", "RUnlock", "Close", "Done", "Stop", "Release", "Flush", "Put"}

func (w *walker) isDeferrable(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	s, ok := c.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(deferrable, s.Sel.Name)
}

func (w *walker) undefer(n *ast.DeferStmt) {
	if w.isDeferrable(n.Call) {
		w.replace(Deferred, n.Defer, n.Call.Pos(), "")
	}
}

func (w *walker) addDefer(n *ast.ExprStmt) {
	if w.isDeferrable(n.X) {
		switch w.parent(1).(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			w.replace(Deferred, n.Pos(), n.Pos(), token.DEFER.String()+" ")
		}
	}
}
