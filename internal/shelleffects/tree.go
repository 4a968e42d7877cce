package shelleffects

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const maxTreeDepth = 40

// tree draws the parsed command, one part per line, indented by depth.
func tree(f *syntax.File) string {
	t := &drawer{printer: syntax.NewPrinter(syntax.SingleLine(true))}
	t.stmts(f.Stmts, 0)
	return t.out.String()
}

type drawer struct {
	out     strings.Builder
	printer *syntax.Printer
}

func (t *drawer) line(depth int, format string, args ...any) {
	fmt.Fprintf(&t.out, "%s%s\n", strings.Repeat("  ", depth), fmt.Sprintf(format, args...))
}

func (t *drawer) text(n syntax.Node) string {
	var b strings.Builder
	if n == nil || t.printer.Print(&b, n) != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}

func (t *drawer) stmts(list []*syntax.Stmt, depth int) {
	for _, s := range list {
		t.stmt(s, depth)
	}
}

func (t *drawer) stmt(s *syntax.Stmt, depth int) {
	if depth > maxTreeDepth {
		t.line(depth, "…")
		return
	}
	if s.Negated {
		t.line(depth, "not")
		depth++
	}
	if s.Background {
		t.line(depth, "in the background")
		depth++
	}
	t.command(s.Cmd, depth)
	for _, r := range s.Redirs {
		t.redirect(r, depth+1)
	}
}

func (t *drawer) redirect(r *syntax.Redirect, depth int) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	if r.Hdoc != nil {
		t.line(depth, "redirect %s%s here-document", fd, r.Op)
		t.substitutions(r.Hdoc, depth+1)
		return
	}
	t.line(depth, "redirect %s%s %s", fd, r.Op, t.text(r.Word))
	t.substitutions(r.Word, depth+1)
}

func (t *drawer) command(c syntax.Command, depth int) {
	switch c := c.(type) {
	case nil:
		t.line(depth, "no command")
	case *syntax.CallExpr:
		t.line(depth, "run %s", t.text(c))
		t.substitutions(c, depth+1)
	case *syntax.BinaryCmd:
		t.line(depth, "%s", binaryNames[c.Op])
		t.stmt(c.X, depth+1)
		t.stmt(c.Y, depth+1)
	case *syntax.Subshell:
		t.line(depth, "subshell")
		t.stmts(c.Stmts, depth+1)
	case *syntax.Block:
		t.line(depth, "group")
		t.stmts(c.Stmts, depth+1)
	default:
		t.compound(c, depth)
	}
}

var binaryNames = map[syntax.BinCmdOperator]string{syntax.AndStmt: "and then", syntax.OrStmt: "or else", syntax.Pipe: "pipe", syntax.PipeAll: "pipe with errors"}

func (t *drawer) compound(c syntax.Command, depth int) {
	switch c := c.(type) {
	case *syntax.IfClause:
		t.line(depth, "if")
		t.stmts(c.Cond, depth+1)
		t.line(depth, "then")
		t.stmts(c.Then, depth+1)
		if c.Else != nil {
			t.line(depth, "else")
			t.command(c.Else, depth+1)
		}
	case *syntax.WhileClause:
		t.line(depth, "while")
		t.stmts(c.Cond, depth+1)
		t.line(depth, "do")
		t.stmts(c.Do, depth+1)
	case *syntax.ForClause:
		t.line(depth, "for %s", t.text(c.Loop))
		t.stmts(c.Do, depth+1)
	case *syntax.CaseClause:
		t.line(depth, "case %s", t.text(c.Word))
		for _, i := range c.Items {
			t.line(depth+1, "when")
			t.stmts(i.Stmts, depth+2)
		}
	case *syntax.FuncDecl:
		t.line(depth, "declare a function")
		t.stmt(c.Body, depth+1)
	case *syntax.CoprocClause:
		t.line(depth, "coprocess")
		t.stmt(c.Stmt, depth+1)
	case *syntax.TimeClause:
		t.line(depth, "time")
		if c.Stmt != nil {
			t.stmt(c.Stmt, depth+1)
		}
	default:
		t.line(depth, "%s", t.text(c))
		t.substitutions(c, depth+1)
	}
}

// substitutions draws the commands inside the words of n.
func (t *drawer) substitutions(n syntax.Node, depth int) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			t.line(depth, "substitute the output of")
			t.stmts(n.Stmts, depth+1)
			return false
		case *syntax.ProcSubst:
			t.line(depth, "connect to the process")
			t.stmts(n.Stmts, depth+1)
			return false
		}
		return true
	})
}
