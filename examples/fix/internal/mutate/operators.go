package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// An operatorSwap is a kind of slip that confuses two operators, in both directions.
type operatorSwap struct {
	kind string
	a, b token.Token
}

var operatorSwaps = []operatorSwap{
	{Boundary, token.LSS, token.LEQ}, {Boundary, token.GTR, token.GEQ},
	{Direction, token.LSS, token.GTR}, {Direction, token.LEQ, token.GEQ},
	{Comparison, token.LSS, token.GEQ}, {Comparison, token.GTR, token.LEQ}, {Comparison, token.EQL, token.NEQ},
	{EqualOrder, token.EQL, token.LEQ}, {EqualOrder, token.EQL, token.GEQ}, {EqualOrder, token.EQL, token.LSS}, {EqualOrder, token.EQL, token.GTR},
	{EqualOrder, token.NEQ, token.LSS}, {EqualOrder, token.NEQ, token.GTR}, {EqualOrder, token.NEQ, token.GEQ}, {EqualOrder, token.NEQ, token.LEQ},
	{Logic, token.LAND, token.LOR},
	{Sum, token.ADD, token.SUB},
	{Arithmetic, token.MUL, token.QUO}, {Arithmetic, token.QUO, token.REM}, {Arithmetic, token.MUL, token.REM},
	{Arithmetic, token.ADD, token.MUL}, {Arithmetic, token.SUB, token.QUO},
	{Bits, token.AND, token.OR}, {Bits, token.OR, token.XOR}, {Bits, token.AND, token.XOR}, {Bits, token.AND, token.AND_NOT},
	{Shift, token.SHL, token.SHR},
}

var assignSwaps = []operatorSwap{
	{AssignOperator, token.ADD_ASSIGN, token.SUB_ASSIGN}, {AssignOperator, token.MUL_ASSIGN, token.QUO_ASSIGN},
	{AssignOperator, token.OR_ASSIGN, token.AND_ASSIGN}, {AssignOperator, token.OR_ASSIGN, token.XOR_ASSIGN},
	{AssignOperator, token.AND_ASSIGN, token.XOR_ASSIGN}, {AssignOperator, token.AND_ASSIGN, token.AND_NOT_ASSIGN},
	{AssignOperator, token.OR_ASSIGN, token.AND_NOT_ASSIGN}, {AssignOperator, token.SHL_ASSIGN, token.SHR_ASSIGN},
	{AssignPlain, token.ADD_ASSIGN, token.ASSIGN}, {AssignPlain, token.SUB_ASSIGN, token.ASSIGN}, {AssignPlain, token.OR_ASSIGN, token.ASSIGN},
}

// other returns the operator that a swap substitutes for op.
func (s operatorSwap) other(op token.Token) (token.Token, bool) {
	switch op {
	case s.a:
		return s.b, true
	case s.b:
		return s.a, true
	}
	return 0, false
}

func (w *walker) binary(n *ast.BinaryExpr) {
	for _, s := range operatorSwaps {
		if op, ok := s.other(n.Op); ok && w.operatorFits(n, op) {
			end := n.OpPos + token.Pos(len(n.Op.String()))
			if op.Precedence() == n.Op.Precedence() {
				w.replace(s.kind, n.OpPos, end, op.String())
			} else {
				w.respaced(s.kind, n, n.OpPos, end, op.String())
			}
		}
	}
	if n.Op.Precedence() == 3 {
		w.value(n.X)
		w.value(n.Y)
	}
}

// operatorFits reports whether the operands of n allow op: strings can be added but not subtracted,
// pointers can be equal but not ordered.
func (w *walker) operatorFits(n *ast.BinaryExpr, op token.Token) bool {
	if op == token.MUL && endsInFunc(n.X) {
		return false // func() * x is a function type with a pointer for its result
	}
	if w.info.Types[n].Value != nil {
		return false // a change in a constant expression is more likely to fail to compile than to be a bug
	}
	switch op {
	case token.LAND, token.LOR:
		return true
	case token.EQL, token.NEQ:
		return true // ordered types can also be compared for equality
	}
	basic := w.operandType(n)
	if basic == nil { // the type is unknown, so allow only operators that strings, floats and pointers allow too
		return op.Precedence() == n.Op.Precedence() && n.Op != token.EQL && n.Op != token.NEQ && n.Op != token.ADD &&
			op != token.REM && !isString(n.X) && !isString(n.Y)
	}
	switch op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if isZero(n.X) || isZero(n.Y) {
			// An unsigned number is never below zero: the compiler accepts the comparison, but no
			// reader would.
			if basic.Info()&types.IsUnsigned != 0 && (op == token.LSS || op == token.GEQ) {
				return false
			}
		}
		return basic.Info()&types.IsOrdered != 0
	case token.ADD:
		return basic.Info()&(types.IsNumeric|types.IsString) != 0
	case token.SUB, token.MUL, token.QUO:
		return basic.Info()&types.IsNumeric != 0
	default:
		return basic.Info()&types.IsInteger != 0
	}
}

func endsInFunc(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BinaryExpr:
		return endsInFunc(x.Y)
	case *ast.UnaryExpr:
		return endsInFunc(x.X)
	case *ast.StarExpr:
		return endsInFunc(x.X)
	case *ast.FuncType, *ast.ChanType, *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// operandType returns the basic type under both operands, or nil if it is not basic or not known.
// For a shift, it is the type of the shifted operand.
func (w *walker) operandType(n *ast.BinaryExpr) *types.Basic {
	x := w.basic(n.X)
	if x == nil || x.Kind() == types.UntypedNil || x.Info()&types.IsUntyped != 0 {
		if y := w.basic(n.Y); y != nil && n.Op != token.SHL && n.Op != token.SHR {
			return y
		}
	}
	return x
}

// basic returns the basic type under an expression's type, or nil.
func (w *walker) basic(e ast.Expr) *types.Basic {
	t := w.info.Types[e].Type
	if t == nil {
		if id, ok := e.(*ast.Ident); ok {
			if o := w.info.Uses[id]; o != nil {
				t = o.Type()
			}
		}
	}
	if t == nil {
		return nil
	}
	b, _ := t.Underlying().(*types.Basic)
	if b != nil && b.Kind() == types.Invalid {
		return nil
	}
	return b
}

func isString(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

func isZero(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == "0"
}

// swapOperands exchanges the operands of operators for which the order matters. Chains (a - b - c)
// are left unchanged, since a second swap would not restore them.
func (w *walker) swapOperands(n *ast.BinaryExpr) {
	switch n.Op {
	case token.SUB, token.QUO, token.REM:
	default:
		return
	}
	if isLiteral(n.X) || isLiteral(n.Y) {
		return // nobody writes 1 - n by mistake instead of n - 1
	}
	for _, e := range []ast.Expr{n.X, n.Y} {
		if b, ok := e.(*ast.BinaryExpr); ok && b.Op.Precedence() <= n.Op.Precedence() {
			return
		}
	}
	if p, ok := w.parent(1).(*ast.BinaryExpr); ok && p.Op.Precedence() == n.Op.Precedence() {
		return
	}
	w.swapText(Operands, n.X, n.Y)
}

func isLiteral(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok
}

// swapText exchanges two nodes on one line, the first before the second.
func (w *walker) swapText(kind string, a, b ast.Node) {
	if !w.oneLine(a.Pos(), b.End()) || w.text(a) == w.text(b) {
		return
	}
	between := string(w.src[w.offset(a.End()):w.offset(b.Pos())])
	w.replace(kind, a.Pos(), b.End(), w.text(b)+between+w.text(a))
}

func (w *walker) incDec(n *ast.IncDecStmt) {
	op := "--"
	if n.Tok == token.DEC {
		op = "++"
	}
	w.replace(Increment, n.TokPos, n.TokPos+2, op)
}

// sign drops the minus of -x. The reverse is addSign.
func (w *walker) sign(n *ast.UnaryExpr) {
	if n.Op != token.SUB || !w.signPlace(w.parent(1)) || !isLiteral(n.X) && w.info.Types[n.X].Value != nil {
		return
	}
	if _, nested := n.X.(*ast.BinaryExpr); !nested {
		w.replace(Sign, n.OpPos, n.X.Pos(), "")
	}
}

// addSign puts a minus before an operand.
func (w *walker) addSign(e ast.Expr) {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind != token.INT && x.Kind != token.FLOAT || isZero(x) {
			return
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.ParenExpr:
		if w.info.Types[e].Value != nil {
			return
		}
	default:
		return
	}
	if b := w.basic(e); b != nil && b.Info()&types.IsNumeric != 0 && b.Info()&types.IsUnsigned == 0 {
		w.replace(Sign, e.Pos(), e.Pos(), "-")
	}
}

// signPlace reports whether the operands directly below n may lose or gain a minus.
func (w *walker) signPlace(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ReturnStmt, *ast.AssignStmt:
		return true
	case *ast.BinaryExpr:
		return n.Op.Precedence() == 3
	}
	return false
}
