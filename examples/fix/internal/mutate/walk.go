package mutate

import "go/ast"

// visit makes the slips that are possible at a node.
func (w *walker) visit(n ast.Node) bool {
	if n == nil {
		w.stack = w.stack[:len(w.stack)-1]
		return true
	}
	w.stack = append(w.stack, n)
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
		w.swapOperands(n)
		w.logicOperands(n)
	case *ast.UnaryExpr:
		w.sign(n)
	case *ast.BasicLit:
		w.literal(n)
	case *ast.Ident:
		w.ident(n)
	case *ast.SelectorExpr:
		w.selector(n)
	case *ast.CallExpr:
		w.call(n)
	case *ast.IndexExpr:
		w.index(n)
	case *ast.SliceExpr:
		w.slice(n)
	default:
		w.statement(n)
	}
	return true
}

func (w *walker) statement(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		w.assign(n)
	case *ast.IncDecStmt:
		w.incDec(n)
	case *ast.BranchStmt:
		w.branch(n)
	case *ast.ReturnStmt:
		w.results(n)
	case *ast.IfStmt:
		w.condition(n.Cond)
		w.guarded(n)
		w.ifFor(n)
	case *ast.ForStmt:
		w.condition(n.Cond)
		w.forIf(n)
	case *ast.RangeStmt:
		w.rangeOver(n)
	case *ast.CaseClause:
		w.caseConditions(n)
	case *ast.DeferStmt:
		w.undefer(n)
	case *ast.ExprStmt:
		w.addDefer(n)
	}
}
