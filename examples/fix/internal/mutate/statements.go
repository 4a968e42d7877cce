package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

func (w *walker) assign(n *ast.AssignStmt) {
	if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
		for _, e := range n.Rhs {
			w.value(e)
			w.tail(e)
		}
		w.define(n)
	}
	for _, s := range assignSwaps {
		if op, ok := s.other(n.Tok); ok && w.assignFits(n, op) {
			w.replace(s.kind, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), op.String())
		}
	}
}

// assignFits reports whether the sides of an assignment allow op.
func (w *walker) assignFits(n *ast.AssignStmt, op token.Token) bool {
	if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
		return false
	}
	if op == token.ASSIGN || n.Tok == token.ASSIGN {
		// Both sides must have the same type: durations cannot be added to counters, and functions
		// cannot be added at all. Nothing can be added to a blank identifier.
		if b, ok := n.Lhs[0].(*ast.Ident); ok && b.Name == "_" || !w.alike(n.Lhs[0], n.Rhs[0]) {
			return false
		}
	}
	basic := w.basic(n.Lhs[0])
	if basic == nil {
		return n.Tok != token.ADD_ASSIGN && n.Tok != token.ASSIGN && op != token.ASSIGN && n.Tok != token.QUO_ASSIGN && n.Tok != token.MUL_ASSIGN
	}
	switch op {
	case token.ASSIGN:
		return true
	case token.ADD_ASSIGN:
		return basic.Info()&(types.IsNumeric|types.IsString) != 0
	case token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN:
		return basic.Info()&types.IsNumeric != 0
	}
	return basic.Info()&types.IsInteger != 0
}

// define confuses := with =, so that a variable is hidden by a new one of the same name, or set
// although a new one was meant.
func (w *walker) define(n *ast.AssignStmt) {
	scope := w.scope(n.Pos())
	if scope == nil || scope.Parent() == nil {
		return
	}
	fresh := 0
	for _, e := range n.Lhs {
		id, ok := e.(*ast.Ident)
		if !ok {
			return
		}
		if id.Name == "_" {
			continue
		}
		var mine types.Object
		if n.Tok == token.DEFINE {
			if mine = w.info.Defs[id]; mine == nil {
				continue // this := assigns to an existing variable
			}
			_, outer := scope.Parent().LookupParent(id.Name, n.Pos())
			if v, ok := outer.(*types.Var); !ok || !types.Identical(v.Type(), mine.Type()) {
				return
			}
		} else {
			mine = w.info.Uses[id]
			v, ok := mine.(*types.Var)
			if !ok || v.Parent() == scope || !w.readAfter(id, n, scope) {
				return
			}
		}
		fresh++
	}
	if fresh == 0 {
		return
	}
	if n.Tok == token.DEFINE {
		w.replace(Define, n.TokPos, n.TokPos+2, "=")
	} else if w.exactTypes(n) {
		w.replace(Define, n.TokPos, n.TokPos+1, ":=")
	}
}

// exactTypes reports whether := would declare the variables with their existing types.
func (w *walker) exactTypes(n *ast.AssignStmt) bool {
	if len(n.Lhs) != len(n.Rhs) {
		t, ok := w.info.Types[n.Rhs[0]].Type.(*types.Tuple)
		if !ok || t.Len() != len(n.Lhs) {
			return false
		}
		for i, e := range n.Lhs {
			if id := e.(*ast.Ident); id.Name != "_" && !types.Identical(w.info.Uses[id].Type(), t.At(i).Type()) {
				return false
			}
		}
		return true
	}
	for i, e := range n.Lhs {
		id := e.(*ast.Ident)
		tv := w.info.Types[n.Rhs[i]]
		if id.Name != "_" && (tv.Type == nil || tv.Value != nil || !types.Identical(w.info.Uses[id].Type(), tv.Type)) {
			return false
		}
	}
	return true
}

// readAfter reports whether the variable that id names is read after an assignment, in its scope or
// in the rest of an if or for that begins with the assignment.
func (w *walker) readAfter(id *ast.Ident, n *ast.AssignStmt, scope *types.Scope) bool {
	o := w.info.Uses[id]
	read := false
	ast.Inspect(w.fn.Body, func(m ast.Node) bool {
		if use, ok := m.(*ast.Ident); ok && use.Pos() >= n.End() && use.Pos() < scope.End() && w.info.Uses[use] == o && !w.names.written[use] {
			read = true
		}
		return !read
	})
	return read
}

// branch confuses break with continue, where both are allowed.
func (w *walker) branch(n *ast.BranchStmt) {
	other := ""
	switch n.Tok {
	case token.BREAK:
		other = "continue"
	case token.CONTINUE:
		other = "break"
	default:
		return
	}
	if w.insideLoop(n) {
		w.replace(Branch, n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), other)
	}
}

func (w *walker) insideLoop(n *ast.BranchStmt) bool {
	for i := len(w.stack) - 1; i >= 0; i-- {
		switch w.stack[i].(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if n.Label == nil {
				return true
			}
			if l, ok := w.parentLabel(i); ok && l == n.Label.Name {
				return true
			}
		case *ast.FuncLit:
			return false
		}
	}
	return false
}

func (w *walker) parentLabel(i int) (string, bool) {
	if i == 0 {
		return "", false
	}
	l, ok := w.stack[i-1].(*ast.LabeledStmt)
	if !ok {
		return "", false
	}
	return l.Label.Name, true
}
