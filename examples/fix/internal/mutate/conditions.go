package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// manyConditions is the smallest number of different conditions in one function at which no missing
// condition is inserted any more.
const manyConditions = 8

// countCondition records a condition that is not made of other conditions.
func (w *walker) countCondition(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		return
	}
	if e.End()-e.Pos() > 40 || !w.oneLine(e.Pos(), e.End()) {
		return
	}
	text := w.text(e)
	if w.names.conditionCount[text]++; w.names.conditionCount[text] == 1 {
		w.names.conditions = append(w.names.conditions, e)
	}
}

// condition makes the slips that apply to the whole condition of a statement.
func (w *walker) condition(e ast.Expr) {
	if e != nil {
		w.negateCondition(e)
		w.addOperand(e, 0)
	}
}

// caseConditions treats the cases of a switch without a tag as conditions.
func (w *walker) caseConditions(n *ast.CaseClause) {
	if s, ok := w.parent(2).(*ast.SwitchStmt); ok && s.Tag == nil {
		for _, e := range n.List {
			w.condition(e)
		}
	}
}

// negateCondition drops the ! of a condition, or adds one. Comparisons are excluded, since their
// operator is replaced with the opposite one instead.
func (w *walker) negateCondition(e ast.Expr) {
	switch x := e.(type) {
	case *ast.UnaryExpr:
		if x.Op != token.NOT {
			return
		}
		if p, ok := x.X.(*ast.ParenExpr); ok && isLogic(p.X) {
			w.replaceNode(Negation, x, w.text(p.X))
			return
		}
		if negatable(x.X) {
			w.replaceNode(Negation, x, w.text(x.X))
		}
	case *ast.BinaryExpr:
		if isLogic(x) && !w.insideLogic() {
			w.replaceNode(Negation, x, "!("+w.text(x)+")")
		}
	default:
		if negatable(e) {
			w.replaceNode(Negation, e, "!"+w.text(e))
		}
	}
}

// insideLogic reports whether the node being visited is itself an && or ||.
func (w *walker) insideLogic() bool {
	b, ok := w.parent(0).(*ast.BinaryExpr)
	return ok && isLogic(b)
}

func isLogic(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

// negatable reports whether an expression can follow ! without parentheses.
func negatable(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name != "true" && x.Name != "false"
	case *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr, *ast.ParenExpr:
		return true
	}
	return false
}

// negate negates a value that is known to be a boolean.
func (w *walker) negate(e ast.Expr) {
	if b := w.basic(e); b != nil && b.Info()&types.IsBoolean != 0 {
		w.negateCondition(e)
	}
}

// logicOperands makes the slips of the operands of && and ||: an operand that is negated, missing
// or superfluous.
func (w *walker) logicOperands(n *ast.BinaryExpr) {
	if !isLogic(n) {
		return
	}
	for _, e := range []ast.Expr{n.X, n.Y} {
		if !isLogic(e) {
			w.negateCondition(e)
			w.addOperand(e, n.Op.Precedence())
		}
	}
	// An operand may be dropped only if the same condition occurs elsewhere in the function, so
	// that a repair can find it there.
	if w.dispensable(n.Y) {
		w.replaceNode(Condition, n, w.text(n.X))
	}
	if w.dispensable(n.X) {
		w.replaceNode(Condition, n, w.text(n.Y))
	}
}

func (w *walker) dispensable(e ast.Expr) bool {
	return len(w.names.conditions) <= manyConditions && w.names.conditionCount[w.text(e)] > 1 && w.meaningful(e, e.Pos())
}

// addOperand combines a condition with the other conditions in the function. The parameter outer is
// the precedence of the && or || around it.
func (w *walker) addOperand(e ast.Expr, outer int) {
	if len(w.names.conditions) > manyConditions || !w.oneLine(e.Pos(), e.End()) {
		return
	}
	text := w.text(e)
	for _, c := range w.names.conditions {
		other := w.text(c)
		if other == text || !w.meaningful(c, e.Pos()) {
			continue
		}
		for _, op := range []token.Token{token.LAND, token.LOR} {
			if b, ok := e.(*ast.BinaryExpr); op.Precedence() < outer || ok && b.Op == token.LOR && op == token.LAND {
				continue
			}
			w.replaceNode(Condition, e, text+" "+op.String()+" "+other)
			w.replaceNode(Condition, e, other+" "+op.String()+" "+text)
		}
	}
}

// meaningful reports whether every variable name in a condition refers to the same variable at the
// position at as at the condition's own position.
func (w *walker) meaningful(e ast.Expr, at token.Pos) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			ok = false
		case *ast.Ident:
			if l := w.lookup(n); l != nil {
				ok = w.inScope(l, at)
			} else if w.info.Uses[n] == nil && w.names.declared[n.Name] > 0 {
				ok = false
			}
		}
		return ok
	})
	return ok
}
