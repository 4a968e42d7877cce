package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

func (w *walker) index(n *ast.IndexExpr) {
	if w.info.Types[n.Index].IsType() {
		return // an instantiation
	}
	w.plusOne(n.Index, false)
	w.wrap(n.Index)
	if !w.indexed(n.X) {
		return
	}
	last := "len(" + w.text(n.X) + ")-1"
	switch {
	case isZero(n.Index):
		w.replaceNode(FirstLast, n.Index, last)
	case w.text(n.Index) == last:
		w.replaceNode(FirstLast, n.Index, "0")
	}
}

// indexed reports whether an expression has a type with a length and ordered elements.
func (w *walker) indexed(e ast.Expr) bool {
	switch e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
	default:
		return false
	}
	switch t := typeOf(w.info, e).(type) {
	case *types.Slice, *types.Array:
		return true
	case *types.Basic:
		return t.Info()&types.IsString != 0
	}
	return false
}

func (w *walker) slice(n *ast.SliceExpr) {
	w.plusOne(n.Low, true)
	w.plusOne(n.High, true)
	w.plusOne(n.Max, true)
	if n.Slice3 {
		return
	}
	inside := func(text string) { w.respaced(SliceBound, n, n.Lbrack+1, n.Rbrack, text) }
	switch {
	case n.Low != nil && n.High == nil:
		inside(":" + w.text(n.Low))
		for _, v := range w.bounds(n.Low) {
			inside(w.text(n.Low) + ":" + v.name)
		}
	case n.Low == nil && n.High != nil:
		inside(w.text(n.High) + ":")
		for _, v := range w.bounds(n.High) {
			inside(v.name + ":" + w.text(n.High))
		}
	case n.Low != nil && n.High != nil:
		if w.isBound(n.High) {
			inside(w.text(n.Low) + ":")
		}
		if w.isBound(n.Low) {
			inside(":" + w.text(n.High))
		}
	}
}

// manyBounds is the smallest number of integer variables in a function at which no missing bound is
// inserted any more.
const manyBounds = 10

// bounds returns the variables that may be inserted as a missing bound next to another bound.
func (w *walker) bounds(other ast.Expr) []*local {
	var vs []*local
	for _, l := range w.names.all {
		if isInt(l) && l.name != w.text(other) && w.inScope(l, other.Pos()) {
			vs = append(vs, l)
		}
	}
	if len(vs) > manyBounds {
		return nil
	}
	return vs
}

func isInt(l *local) bool {
	return l.obj != nil && types.Identical(l.obj.Type(), types.Typ[types.Int])
}

// isBound reports whether an expression is a variable that bounds would return if the bound were
// missing.
func (w *walker) isBound(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	l := w.lookup(id)
	return l != nil && isInt(l) && w.spare(l, id)
}

// tail drops the [1:] or [:len(x)-1] of a slice expression, or adds one to a name.
func (w *walker) tail(e ast.Expr) {
	if s, ok := e.(*ast.SliceExpr); ok {
		if !w.indexed(s.X) || s.Slice3 {
			return
		}
		x := w.text(s.X)
		if inside := string(w.src[w.offset(s.Lbrack)+1 : w.offset(s.Rbrack)]); inside == "1:" || inside == ":len("+x+")-1" {
			w.replaceNode(SliceTail, s, x)
		}
		return
	}
	if _, array := typeOf(w.info, e).(*types.Array); array || !w.indexed(e) || w.info.Types[e].Value != nil {
		return
	}
	x := w.text(e)
	w.replaceNode(SliceTail, e, x+"[1:]")
	w.replaceNode(SliceTail, e, x+"[:len("+x+")-1]")
}

// rangeOver confuses the key with the value of a range, and the slice ranged over with its tail.
func (w *walker) rangeOver(n *ast.RangeStmt) {
	w.tail(n.X)
	k, _ := n.Key.(*ast.Ident)
	v, _ := n.Value.(*ast.Ident)
	if n.Tok != token.DEFINE || k == nil {
		return
	}
	s, ok := typeOf(w.info, n.X).(*types.Slice)
	if !ok || !types.Identical(s.Elem(), types.Typ[types.Int]) {
		return
	}
	switch {
	case v == nil:
		w.replace(RangePair, k.Pos(), k.Pos(), "_, ")
	case k.Name == "_" && v.Name != "_":
		w.replace(RangePair, k.Pos(), v.Pos(), "")
	case v.Name != "_":
		w.swapText(RangePair, k, v)
	}
}
