package mutate

import (
	"go/ast"
	"go/token"
)

// ifFor turns an if into a loop if that does not change the meaning of any statement in it.
func (w *walker) ifFor(n *ast.IfStmt) {
	if n.Init != nil || n.Else != nil || leaves(n.Body) {
		return
	}
	switch w.parent(1).(type) {
	case *ast.IfStmt, *ast.LabeledStmt:
		return // an else if; or there is a label on the statement that would become a loop
	}
	w.replace(IfFor, n.If, n.If+token.Pos(len("if")), "for")
}

// forIf turns a loop that has only a condition into an if.
func (w *walker) forIf(n *ast.ForStmt) {
	if n.Init != nil || n.Post != nil || n.Cond == nil || leaves(n.Body) {
		return
	}
	if _, labeled := w.parent(1).(*ast.LabeledStmt); !labeled {
		w.replace(IfFor, n.For, n.For+token.Pos(len("for")), "if")
	}
}

// leaves reports whether a block contains a break or continue that refers to an enclosing
// statement, or always ends by leaving the block.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return true
	}
	switch last := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		if c, ok := last.X.(*ast.CallExpr); ok {
			if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return true
			}
		}
	}
	found := false
	ast.Inspect(b, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BranchStmt:
			found = found || n.Tok == token.BREAK || n.Tok == token.CONTINUE
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}
