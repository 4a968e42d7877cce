package mutate

import (
	"go/ast"
	"go/types"
)

func (w *walker) ident(id *ast.Ident) {
	switch p := w.parent(1).(type) {
	case *ast.SelectorExpr:
		if p.Sel == id {
			return // a field or method; see the function selector
		}
	case *ast.KeyValueExpr:
		if p.Key == id && w.lookup(id) == nil {
			return // a field's name
		}
	case *ast.Field, *ast.LabeledStmt, *ast.BranchStmt, *ast.TypeSpec:
		return
	}
	if w.info.Defs[id] != nil {
		return
	}
	switch id.Name {
	case "true":
		w.boolean(id, "false")
		return
	case "false":
		w.boolean(id, "true")
		return
	case "_", "nil", "iota":
		return
	}
	if l := w.lookup(id); l != nil {
		if w.info.Uses[id] != nil || !w.set(id) {
			w.variable(id, l)
			if !w.set(id) {
				w.toField(id, l)
			}
		}
		return
	}
	switch o := w.info.Uses[id].(type) {
	case *types.Const:
		w.constant(id, o)
	case *types.Func:
		w.function(id, o)
	}
}

func (w *walker) boolean(id *ast.Ident, other string) {
	if o := w.info.Uses[id]; o == nil || o.Parent() == types.Universe {
		w.replaceNode(Boolean, id, other)
	}
}

// selector substitutes other fields and methods of the same type, and other members of the same
// package.
func (w *walker) selector(s *ast.SelectorExpr) {
	if sel := w.info.Selections[s]; sel != nil {
		switch sel.Kind() {
		case types.FieldVal:
			w.field(s, sel)
			w.fromField(s, sel)
		case types.MethodVal:
			w.method(s, sel)
		}
		return
	}
	w.familiar(s)
	switch o := w.info.Uses[s.Sel].(type) {
	case *types.Const:
		w.constant(s.Sel, o)
	case *types.Func:
		w.function(s.Sel, o)
	}
}

// field substitutes the other fields of the struct that have the same type.
func (w *walker) field(s *ast.SelectorExpr, sel *types.Selection) {
	if len(sel.Index()) != 1 {
		return // the field belongs to an embedded struct, whose other fields may be hidden
	}
	t := sel.Recv()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	at := sel.Index()[0]
	for i := max(0, at-reach); i < min(st.NumFields(), at+reach+1); i++ {
		f := st.Field(i)
		if i != at && f.Name() != "_" && w.visible(f) && types.Identical(f.Type(), sel.Type()) {
			w.replaceNode(Field, s.Sel, f.Name())
		}
	}
}

func (w *walker) visible(o types.Object) bool { return o.Exported() || w.unqualified(o) }

// method substitutes the methods with the same signature that the type of the receiver declares
// itself.
func (w *walker) method(s *ast.SelectorExpr, sel *types.Selection) {
	if len(sel.Index()) != 1 {
		return
	}
	f, ok := sel.Obj().(*types.Func)
	if !ok {
		return
	}
	var methods []*types.Func
	at := -1
	add := func(m *types.Func) {
		if w.visible(m) && sameSignature(m, f) {
			if m == f {
				at = len(methods)
			}
			methods = append(methods, m)
		}
	}
	t := types.Unalias(sel.Recv())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok && n.NumMethods() > 0 {
		for m := range n.Methods() {
			add(m)
		}
	} else if i, ok := t.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			add(m)
		}
	}
	if at < 0 {
		return
	}
	for i, m := range methods {
		if i != at && abs(i-at) <= 4 {
			w.replaceNode(Method, s.Sel, m.Name())
		}
	}
}

func sameSignature(a, b *types.Func) bool {
	s, t := a.Signature(), b.Signature()
	return s.TypeParams() == nil && t.TypeParams() == nil && types.Identical(s, t)
}
