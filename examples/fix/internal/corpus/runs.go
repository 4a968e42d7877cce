package corpus

import (
	"go/ast"
	"go/token"
	"math/rand/v2"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
)

// A region is a body of statements that may or may not run: of a function, a branch, a loop or a
// case. Each span that is directly in a region is one block of the cover tool.
type region struct {
	parts  []part
	chance float64 // probability that it is entered when the code around it runs
	leaves bool    // it ends in a return, a panic, or a jump
}

// part is a span of lines, or a nested region.
type part struct {
	first, last int
	inner       *region
}

// regions describes a function's body. Lines are counted from 1 at the function's first line.
func regions(fset *token.FileSet, fn *ast.FuncDecl) *region {
	c := cutter{fset: fset, base: fset.PositionFor(fn.Pos(), false).Line - 1}
	return c.body(fn.Body.Lbrace, fn.Body.End(), fn.Body.List, true, 1)
}

type cutter struct {
	fset *token.FileSet
	base int
}

func (c cutter) line(p token.Pos) int { return c.fset.PositionFor(p, false).Line - c.base }

// body splits a list of statements at control-flow statements, as the cover tool does. A body
// without such a statement is a single block that extends to its closing brace. Otherwise a block
// begins at a statement and ends at the next control-flow statement, or at the last statement.
func (c cutter) body(start, end token.Pos, list []ast.Stmt, toBrace bool, chance float64) *region {
	r := &region{chance: chance}
	from, open := c.line(start), true
	for i, s := range list {
		if !open {
			from, open = c.line(s.Pos()), true
		}
		stops, inner, steers := c.statement(s)
		toBrace = toBrace && !steers
		if steers || i == len(list)-1 && !toBrace {
			r.parts = append(r.parts, part{first: from, last: c.line(stops)})
			open = false
		}
		for _, in := range inner {
			r.parts = append(r.parts, part{inner: in})
		}
	}
	if open {
		r.parts = append(r.parts, part{first: from, last: c.line(end)})
	}
	if n := len(list); n > 0 {
		switch last := list[n-1].(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			r.leaves = true
		case *ast.ExprStmt:
			r.leaves = isPanic(last)
		}
	}
	return r
}

func isPanic(s *ast.ExprStmt) bool {
	call, ok := s.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "panic"
}

// statement returns the end of the block in which a statement is, the regions nested in the
// statement, and whether it is a control-flow statement, at which the block ends.
func (c cutter) statement(s ast.Stmt) (stops token.Pos, inner []*region, steers bool) {
	switch s := s.(type) {
	case *ast.IfStmt:
		inner = append(inner, c.block(s.Body, 0.6))
		switch e := s.Else.(type) {
		case *ast.BlockStmt:
			inner = append(inner, c.block(e, 0.5))
		case *ast.IfStmt:
			inner = append(inner, c.body(e.Pos(), e.End(), []ast.Stmt{e}, false, 0.5))
		}
		return s.Body.Lbrace, inner, true
	case *ast.ForStmt:
		return s.Body.Lbrace, []*region{c.block(s.Body, 0.92)}, true
	case *ast.RangeStmt:
		return s.Body.Lbrace, []*region{c.block(s.Body, 0.92)}, true
	case *ast.SwitchStmt:
		return s.Body.Lbrace, c.clauses(s.Body), true
	case *ast.TypeSwitchStmt:
		return s.Body.Lbrace, c.clauses(s.Body), true
	case *ast.SelectStmt:
		return s.Body.Lbrace, c.clauses(s.Body), true
	case *ast.BlockStmt:
		return s.Lbrace, []*region{c.block(s, 1)}, true
	case *ast.LabeledStmt:
		stops, inner, _ = c.statement(s.Stmt)
		return stops, inner, true
	case *ast.BranchStmt:
		return s.End(), nil, true
	}
	stops = s.End()
	ast.Inspect(s, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok {
			if inner == nil {
				stops = f.Body.Lbrace
			}
			inner = append(inner, c.block(f.Body, 0.85))
			return false
		}
		return true
	})
	e, ok := s.(*ast.ExprStmt)
	return stops, inner, len(inner) > 0 || ok && isPanic(e)
}

func (c cutter) block(b *ast.BlockStmt, chance float64) *region {
	return c.body(b.Lbrace, b.End(), b.List, true, chance)
}

func (c cutter) clauses(b *ast.BlockStmt) []*region {
	var out []*region
	for _, s := range b.List {
		switch s := s.(type) {
		case *ast.CaseClause:
			out = append(out, c.clause(s.Colon, s.End(), s.Body))
		case *ast.CommClause:
			out = append(out, c.clause(s.Colon, s.End(), s.Body))
		}
	}
	return out
}

func (c cutter) clause(colon, end token.Pos, list []ast.Stmt) *region {
	return c.body(colon, end, list, false, 0.45)
}

// has reports whether the region contains a line.
func (r *region) has(line int) bool {
	for _, p := range r.parts {
		if p.inner != nil && p.inner.has(line) || p.inner == nil && p.first <= line && line <= p.last {
			return true
		}
	}
	return false
}

// run simulates tests of the function and marks in ran the lines that they run. The tests always
// reach the lines of must, if there are any. With a scale above 1, branches are more likely to run,
// and with a scale below 1 less likely.
func (r *region) run(rng *rand.Rand, scale float64, ran []bool, must []int) {
	for i, p := range r.parts {
		if p.inner == nil {
			for l := p.first; l <= min(p.last, len(ran)); l++ {
				ran[l-1] = true
			}
			continue
		}
		needed := false
		for _, l := range must {
			needed = needed || p.inner.has(l)
		}
		if !needed && rng.Float64() > p.inner.chance*scale {
			continue
		}
		p.inner.run(rng, scale, ran, must)
		// If the function is called several times, the code in the branch and the code after it
		// both run; a single call runs only one of them.
		if p.inner.leaves && !r.needs(i+1, must) && rng.Float64() < 0.15 {
			return
		}
	}
}

// needs reports whether a part with an index of at least from contains a line of must.
func (r *region) needs(from int, must []int) bool {
	rest := region{parts: r.parts[from:]}
	for _, l := range must {
		if rest.has(l) {
			return true
		}
	}
	return false
}

// marks draws marks for a function of n lines, like those after a test run in which the failing
// tests run the lines of must.
func (r *region) marks(rng *rand.Rand, n int, must []int) []repair.Mark {
	fails, passes := make([]bool, n), make([]bool, n)
	r.run(rng, 1, fails, must)
	for _, l := range must {
		fails[l-1] = true
	}
	switch x := rng.Float64(); {
	case x < 0.5: // no passing test runs the function
	case x < 0.8: // every failing line is also run by a passing test
		copy(passes, fails)
	default:
		r.run(rng, 0.5+rng.Float64(), passes, nil)
	}
	marks := make([]repair.Mark, n)
	for i := range marks {
		switch {
		case !fails[i]:
		case passes[i]:
			marks[i] = repair.Run
		default:
			marks[i] = repair.Suspect
		}
	}
	return marks
}
