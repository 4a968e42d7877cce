package mutate

import (
	"go/ast"
	"go/types"
	"slices"
)

// manyFields is the smallest number of fields of one type in the receiver at which fields are not
// confused with variables any more.
const manyFields = 6

// receiverFields returns the receiver's fields of a type. It returns nil if there are too many, or
// if there is no receiver.
func (w *walker) receiverFields(t types.Type) []*types.Var {
	self := w.receiver()
	if self == nil {
		return nil
	}
	p, ok := self.Type().Underlying().(*types.Pointer)
	u := self.Type().Underlying()
	if ok {
		u = p.Elem().Underlying()
	}
	st, ok := u.(*types.Struct)
	if !ok {
		return nil
	}
	var fields []*types.Var
	for f := range st.Fields() {
		if f.Name() != "_" && !f.Embedded() && types.Identical(f.Type(), t) {
			fields = append(fields, f)
		}
	}
	if len(fields) > manyFields {
		return nil
	}
	return fields
}

// receiver returns the function's receiver, if it has a name.
func (w *walker) receiver() *types.Var {
	if w.fn.Recv == nil || len(w.fn.Recv.List) != 1 || len(w.fn.Recv.List[0].Names) != 1 {
		return nil
	}
	v, _ := w.info.Defs[w.fn.Recv.List[0].Names[0]].(*types.Var)
	if v == nil || v.Name() == "_" {
		return nil
	}
	return v
}

// toField substitutes fields of the receiver for a variable.
func (w *walker) toField(id *ast.Ident, l *local) {
	self := w.receiver()
	if self == nil || l.obj == nil || l.obj == self || w.names.outer[l.obj] > 0 || !w.spare(l, id) {
		return
	}
	fields := w.receiverFields(l.obj.Type())
	if len(fields) == 0 || !w.inScope(w.names.locals[self], id.Pos()) {
		return
	}
	for _, f := range fields {
		w.replaceNode(ReceiverField, id, self.Name()+"."+f.Name())
	}
}

// fromField substitutes variables for a field of the receiver.
func (w *walker) fromField(s *ast.SelectorExpr, sel *types.Selection) {
	id, ok := s.X.(*ast.Ident)
	self := w.receiver()
	if !ok || self == nil || w.set(s) || w.info.Uses[id] != self || len(sel.Index()) != 1 || len(w.receiverFields(sel.Type())) == 0 {
		return
	}
	for _, l := range w.names.all {
		if l.obj != nil && l.obj != self && w.names.outer[l.obj] == 0 && types.Identical(l.obj.Type(), sel.Type()) && w.inScope(l, s.Pos()) {
			w.replaceNode(ReceiverField, s, l.name)
		}
	}
}

// set reports whether the node being visited is assigned to.
func (w *walker) set(e ast.Expr) bool {
	switch p := w.parent(1).(type) {
	case *ast.AssignStmt:
		return slices.Contains(p.Lhs, e)
	case *ast.IncDecStmt:
		return true
	}
	return false
}
