package mutate

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"
)

// respaced records the mutant in which the source from pos to end is replaced by text, and the
// whole expression around it is spaced as by gofmt: n-1 in an index, n - 1 alone. The expression e,
// which is the node being visited or a child of it, contains the change.
func (w *walker) respaced(kind string, e ast.Expr, pos, end token.Pos, text string) {
	root, deep := w.root(e)
	if root == nil || root.End()-root.Pos() > 300 {
		return
	}
	old := w.text(root)
	changed := string(w.src[w.offset(root.Pos()):w.offset(pos)]) + text + string(w.src[w.offset(end):w.offset(root.End())])
	formatted, ok := format(changed, deep)
	if !ok {
		return
	}
	if strings.Contains(old, "/*") || strings.Contains(old, "//") && !strings.Contains(formatted, "//") || !w.wasFormatted(root, old, deep) {
		formatted = changed // keep the author's spacing, and comments
	}
	w.replaceNode(kind, root, formatted)
}

// wasFormatted reports whether an expression is spaced as by gofmt, so that the changed expression
// should be too.
func (w *walker) wasFormatted(root ast.Expr, old string, deep bool) bool {
	if w.formatted == nil {
		w.formatted = map[ast.Expr]bool{}
	}
	same, known := w.formatted[root]
	if !known {
		f, ok := format(old, deep)
		same = ok && f == old
		w.formatted[root] = same
	}
	return same
}

// root returns the outermost expression around e that is on one line, and whether gofmt prints it
// more tightly because of its surroundings. It returns nil if e itself spans several lines.
func (w *walker) root(e ast.Expr) (ast.Expr, bool) {
	if !w.oneLine(e.Pos(), e.End()) {
		return nil, false
	}
	at := len(w.stack) - 1
	if at >= 0 && w.stack[at] == e {
		at--
	}
	for ; at >= 0; at-- {
		outer, ok := w.stack[at].(ast.Expr)
		if !ok || !w.oneLine(outer.Pos(), outer.End()) || selfContained(outer) {
			return e, deepIn(w.stack[at], e)
		}
		e = outer
	}
	return e, false
}

// selfContained reports whether gofmt spaces the parts of an expression independently of its
// surroundings, or the expression cannot stand alone.
func selfContained(e ast.Expr) bool {
	switch e.(type) {
	case *ast.KeyValueExpr, *ast.FuncLit, *ast.CompositeLit:
		return true
	}
	return false
}

func deepIn(parent ast.Node, e ast.Expr) bool {
	switch p := parent.(type) {
	case *ast.CallExpr:
		return len(p.Args) > 1
	case *ast.BinaryExpr, *ast.IndexExpr, *ast.SliceExpr:
		return true
	case *ast.AssignStmt:
		return len(p.Lhs) > 1 && len(p.Rhs) > 1
	}
	return false
}

// format spaces an expression as gofmt does, either alone or, if deep is true, as one of several
// arguments.
func format(expr string, deep bool) (string, bool) {
	const prefix = "f(x, "
	if deep {
		expr = prefix + expr + ")"
	}
	e, err := parser.ParseExprFrom(token.NewFileSet(), "", expr, parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	var b bytes.Buffer
	config := printer.Config{Mode: printer.RawFormat}
	if err := config.Fprint(&b, token.NewFileSet(), e); err != nil {
		return "", false
	}
	s := b.String()
	if deep {
		s = strings.TrimSuffix(strings.TrimPrefix(s, prefix), ")")
	}
	return s, !strings.Contains(s, "\n")
}
