package mutate

import (
	"go/ast"
	"go/types"
)

// results makes the slips of a return: nil instead of an error or the reverse, a zero value instead
// of a variable or the reverse, and swapped results.
func (w *walker) results(n *ast.ReturnStmt) {
	for _, e := range n.Results {
		w.value(e)
		w.tail(e)
	}
	for i := 1; i < len(n.Results); i++ {
		if a, b := n.Results[i-1], n.Results[i]; w.alike(a, b) && w.info.Types[a].Value == nil && w.info.Types[b].Value == nil {
			w.swapText(ReturnedSwapped, a, b)
		}
	}
	want := w.resultTypes()
	if len(want) != len(n.Results) {
		return
	}
	for i, e := range n.Results {
		if id, ok := e.(*ast.Ident); ok {
			w.result(id, want[i])
		} else if l, ok := e.(*ast.BasicLit); ok && want[i] != nil && (l.Value == "0" || l.Value == `""`) {
			w.fromZero(l, want[i], ReturnedZero)
		}
	}
}

// resultTypes returns the result types of the innermost function around the return. Unknown types
// are nil.
func (w *walker) resultTypes() []types.Type {
	list := w.fn.Type.Results
	for i := len(w.stack) - 1; i >= 0; i-- {
		if f, ok := w.stack[i].(*ast.FuncLit); ok {
			list = f.Type.Results
			break
		}
	}
	var ts []types.Type
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		t := w.info.Types[f.Type].Type
		if t == nil && w.text(f.Type) == "error" {
			t = types.Universe.Lookup("error").Type()
		}
		for range max(1, len(f.Names)) {
			ts = append(ts, t)
		}
	}
	return ts
}

// result replaces a returned variable by the zero value of its type, or the reverse.
func (w *walker) result(id *ast.Ident, want types.Type) {
	if want == nil {
		return
	}
	kind := ReturnedZero
	if isError(want) {
		kind = ReturnedError
	}
	if id.Name == "nil" || id.Name == "false" {
		w.fromZero(id, want, kind)
		return
	}
	l := w.lookup(id)
	zero := zeroOf(want)
	if l == nil || w.names.outer[l.obj] > 0 || zero == "" || !w.spare(l, id) || !w.offered(l, want) {
		return
	}
	w.replaceNode(kind, id, zero)
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// offered reports whether a variable is among those that fromZero substitutes for a zero value.
func (w *walker) offered(l *local, want types.Type) bool {
	if l.obj == nil {
		return isError(want) && l.name == "err"
	}
	return types.Identical(l.obj.Type(), want)
}

// fromZero substitutes variables of the wanted type for its zero value.
func (w *walker) fromZero(e ast.Expr, want types.Type, kind string) {
	if zeroOf(want) != w.text(e) {
		return
	}
	for _, l := range w.names.all {
		if w.names.outer[l.obj] == 0 && w.offered(l, want) && w.inScope(l, e.Pos()) {
			w.replaceNode(kind, e, l.name)
		}
	}
}

// zeroOf returns the spelling of a type's zero value in a return, or "" if it has no short form.
func zeroOf(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return "nil"
	case *types.Interface:
		if _, ok := t.(*types.TypeParam); !ok {
			return "nil"
		}
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsNumeric != 0:
			return "0"
		case u.Info()&types.IsString != 0:
			return `""`
		}
	}
	return ""
}
