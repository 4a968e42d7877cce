package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// manyVariables is the smallest number of variables in an if statement at which no missing guard is
// inserted any more.
const manyVariables = 6

// A guard is a condition on one variable that may be missing or superfluous before or after another
// condition.
type guard struct {
	text string
	op   token.Token
}

// guards returns the conditions on a variable that are common in code.
func guards(l *local) []guard {
	if l.obj == nil {
		return nil
	}
	x := l.name
	switch t := l.obj.Type().Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Signature, *types.Chan:
		return []guard{{x + " != nil", token.LAND}, {x + " == nil", token.LOR}, {x + " == nil", token.LAND}}
	case *types.Slice, *types.Map:
		return []guard{{"len(" + x + ") > 0", token.LAND}, {"len(" + x + ") == 0", token.LOR}, {x + " != nil", token.LAND}, {x + " == nil", token.LOR}}
	case *types.Basic:
		switch {
		case t.Info()&types.IsBoolean != 0:
			return []guard{{x, token.LAND}, {"!" + x, token.LAND}, {x, token.LOR}, {"!" + x, token.LOR}}
		case t.Info()&types.IsString != 0:
			return []guard{{x + ` != ""`, token.LAND}, {x + ` == ""`, token.LOR}, {"len(" + x + ") > 0", token.LAND}, {"len(" + x + ") == 0", token.LOR}}
		case t.Info()&types.IsInteger != 0:
			return []guard{{x + " > 0", token.LAND}, {x + " != 0", token.LAND}, {x + " == 0", token.LOR}, {x + " < 0", token.LOR}}
		}
	}
	return nil
}

// guarded adds guards for the variables of an if statement at both ends of its condition, and drops
// existing ones there.
func (w *walker) guarded(n *ast.IfStmt) {
	vars := w.mentioned(n)
	if len(vars) > manyVariables || !w.oneLine(n.Cond.Pos(), n.Cond.End()) {
		return
	}
	text := w.text(n.Cond)
	for _, v := range vars {
		for _, g := range guards(v.local) {
			if b, ok := n.Cond.(*ast.BinaryExpr); ok && b.Op.Precedence() < g.op.Precedence() {
				continue // a || b would need parentheses
			}
			w.replaceNode(Guard, n.Cond, g.text+" "+g.op.String()+" "+text)
			w.replaceNode(Guard, n.Cond, text+" "+g.op.String()+" "+g.text)
			w.unguard(n, v, g, text)
		}
	}
}

// unguard drops a guard from an end of a condition if its variable is used elsewhere in the
// statement.
func (w *walker) unguard(n *ast.IfStmt, v mention, g guard, text string) {
	if v.times < 2 {
		return
	}
	for b, ok := n.Cond.(*ast.BinaryExpr); ok && b.Op == g.op; b, ok = b.X.(*ast.BinaryExpr) {
		if x, logic := b.X.(*ast.BinaryExpr); (!logic || x.Op != g.op) && w.text(b.X) == g.text {
			w.replace(Guard, b.X.Pos(), b.Y.Pos(), "")
		}
	}
	if b, ok := n.Cond.(*ast.BinaryExpr); ok && b.Op == g.op && w.text(b.Y) == g.text {
		w.replace(Guard, b.X.End(), b.Y.End(), "")
	}
}

// A mention is a variable and the number of times that a statement names it.
type mention struct {
	*local
	times int
}

// mentioned returns the variables that are in scope at an if statement's condition and occur in it
// or its body.
func (w *walker) mentioned(n *ast.IfStmt) []mention {
	var vars []mention
	at := map[*local]int{}
	count := func(m ast.Node) bool {
		id, ok := m.(*ast.Ident)
		if !ok {
			return true
		}
		l := w.lookup(id)
		if l == nil || l.obj == nil || w.names.outer[l.obj] > 0 {
			return true
		}
		if i, known := at[l]; known {
			vars[i].times++
		} else if w.inScope(l, n.Cond.Pos()) {
			at[l] = len(vars)
			vars = append(vars, mention{l, 1})
		}
		return true
	}
	ast.Inspect(n.Cond, count)
	ast.Inspect(n.Body, count)
	return vars
}
