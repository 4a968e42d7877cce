package shelleffects

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A walker walks one command line and collects its effects.
type walker struct {
	opts     Options
	src      string
	leading  []string // see [Analysis]
	posix    bool     // evaluate words as a sh without braces and $' does
	fx       Effects
	commands []Command
	steps    int // remaining budget
}

// state is the shell's state at one point of the script.
type state struct {
	dirs []string          // directories it may be in, relative to the workspace; none if this point is not reached
	vars map[string]string // variables the script set, with their values; [markSplit] for one that may hold anything
	cond int               // depth of branches and loops, in which an assignment may not happen
}

func (st *state) clone() *state {
	return &state{dirs: st.dirs, vars: maps.Clone(st.vars)}
}

// set assigns a variable. If the assignment may not happen, the variable may hold anything
// afterwards.
func (st *state) set(name, value string) {
	if st.cond > 0 {
		value = string(markSplit)
	}
	st.vars[name] = value
}

// outcome holds the directories the shell may be in after a command succeeded, and after it failed.
type outcome struct{ ok, fail []string }

func stay(st *state) outcome { return outcome{st.dirs, st.dirs} }

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// subshell analyses statements whose changes to variables and directory end with them.
func (w *walker) subshell(stmts []*syntax.Stmt, st *state) { w.stmts(stmts, st.clone()) }

// branch analyses statements that may not run.
func (w *walker) branch(stmts []*syntax.Stmt, dirs []string, st *state) outcome {
	st.dirs = dirs
	st.cond++
	out := w.stmts(stmts, st)
	st.cond--
	return out
}

func (w *walker) stmts(stmts []*syntax.Stmt, st *state) outcome {
	out := stay(st)
	for _, s := range stmts {
		out = w.stmt(s, st)
		st.dirs = union(out.ok, out.fail)
	}
	return out
}

func (w *walker) stmt(s *syntax.Stmt, st *state) outcome {
	if w.steps--; w.steps < 0 {
		w.fx.unknown("is too long to follow")
		return stay(st)
	}
	if s.Background || s.Coprocess || s.Disown {
		w.fx.unknown("leaves a command running in the background")
		st = st.clone()
	}
	for _, r := range s.Redirs {
		w.redirect(r, st)
	}
	if s.Cmd == nil {
		return stay(st)
	}
	if redirectsAll(s) {
		return w.perhapsBehind(s, st)
	}
	out := w.command(s.Cmd, st)
	if len(s.Redirs) > 0 && len(out.ok)+len(out.fail) == 0 {
		out = stay(st) // exit does not happen if its redirection fails
	}
	if s.Negated {
		out.ok, out.fail = out.fail, out.ok
	}
	return out
}

func redirectsAll(s *syntax.Stmt) bool {
	return slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.RdrAll || r.Op == syntax.AppAll })
}

// perhapsBehind analyses a statement with &>, which sh reads as a background command. So its
// changes to the shell may or may not last.
func (w *walker) perhapsBehind(s *syntax.Stmt, st *state) outcome {
	for _, r := range s.Redirs {
		if !r.Pos().After(s.Cmd.Pos()) || s.Cmd.End().After(r.Pos()) { // sh would read what follows as a separate command
			w.fx.unknown("redirects with &> before its last word, which sh reads as two commands")
		}
	}
	out := w.command(s.Cmd, st.clone())
	for _, name := range assigned([]*syntax.Stmt{s}) {
		st.vars[name] = string(markSplit)
	}
	dirs := union(union(out.ok, out.fail), st.dirs)
	return outcome{dirs, dirs}
}

func (w *walker) command(c syntax.Command, st *state) outcome {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return w.call(c, st)
	case *syntax.Subshell:
		w.subshell(c.Stmts, st)
		return stay(st)
	case *syntax.Block:
		return w.stmts(c.Stmts, st)
	case *syntax.BinaryCmd:
		return w.binary(c, st)
	case *syntax.IfClause:
		return w.ifClause(c, st)
	case *syntax.WhileClause:
		return w.while(c, st)
	case *syntax.ForClause:
		return w.forClause(c, st)
	case *syntax.CaseClause:
		return w.caseClause(c, st)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return stay(st)
		}
		if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); !ok || len(call.Assigns) > 0 || c.Stmt.Negated {
			w.fx.unknown("measures the time of more than one plain command, which sh runs otherwise")
		}
		return w.stmt(c.Stmt, st)
	case *syntax.TestClause:
		w.testExpr(c.X, st)
		return stay(st)
	}
	w.unfollowed(c, st)
	return stay(st)
}

// unfollowed refuses a construct, and still analyses the commands inside it for the explanation.
func (w *walker) unfollowed(c syntax.Command, st *state) {
	switch c := c.(type) {
	case *syntax.FuncDecl:
		w.fx.unknown("declares a function, which may stand for any command")
		w.subshell([]*syntax.Stmt{c.Body}, st)
	case *syntax.CoprocClause:
		w.fx.unknown("starts a coprocess")
		w.subshell([]*syntax.Stmt{c.Stmt}, st)
	case *syntax.DeclClause:
		w.fx.unknown("declares variables")
		if len(c.Args) == 0 || c.Args[0].Naked && c.Args[0].Name == nil {
			w.fx.flag(Secret, "shows all variables")
		}
	default:
		w.fx.unknown("computes, which may assign variables and run commands")
	}
}

func (w *walker) binary(c *syntax.BinaryCmd, st *state) outcome {
	switch c.Op {
	case syntax.AndStmt:
		x := w.stmt(c.X, st)
		y := w.branch([]*syntax.Stmt{c.Y}, x.ok, st)
		return outcome{y.ok, union(x.fail, y.fail)}
	case syntax.OrStmt:
		x := w.stmt(c.X, st)
		y := w.branch([]*syntax.Stmt{c.Y}, x.fail, st)
		return outcome{union(x.ok, y.ok), y.fail}
	}
	w.subshell([]*syntax.Stmt{c.X}, st)
	w.subshell([]*syntax.Stmt{c.Y}, st)
	return stay(st)
}

func (w *walker) ifClause(c *syntax.IfClause, st *state) outcome {
	var cond outcome
	if len(c.Cond) > 0 {
		cond = w.stmts(c.Cond, st)
	} else { // a plain else
		cond = outcome{ok: st.dirs}
	}
	then := w.branch(c.Then, cond.ok, st)
	dirs := union(then.ok, then.fail)
	if c.Else != nil {
		st.dirs = cond.fail
		st.cond++
		other := w.ifClause(c.Else, st)
		st.cond--
		dirs = union(dirs, union(other.ok, other.fail))
	} else {
		dirs = union(dirs, cond.fail)
	}
	return outcome{dirs, dirs}
}

func (w *walker) while(c *syntax.WhileClause, st *state) outcome {
	w.loop(st, append(slices.Clone(c.Cond), c.Do...), "", func() {
		w.stmts(c.Cond, st)
		w.stmts(c.Do, st)
	})
	return stay(st)
}

// loop analyses the body of a loop once for all passes: the variables it assigns may hold anything,
// and a pass must end in the directory where it began.
func (w *walker) loop(st *state, body []*syntax.Stmt, own string, follow func()) {
	dirs := st.dirs
	for _, name := range assigned(body) {
		if name == own {
			w.fx.unknown("assigns the variable of its own loop")
		}
		st.vars[name] = string(markSplit)
	}
	st.cond++
	follow()
	st.cond--
	if !slices.Equal(dirs, st.dirs) {
		w.fx.unknown("changes directory in a loop")
	}
	st.dirs = dirs
}

// assigned lists the variables that statements may set.
func assigned(stmts []*syntax.Stmt) []string {
	var names []string
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil {
					names = append(names, n.Name.Value)
				}
			case *syntax.WordIter:
				names = append(names, n.Name.Value)
			case *syntax.CallExpr: // read and similar commands take names as words
				for _, a := range n.Args {
					if l := a.Lit(); syntax.ValidName(l) {
						names = append(names, l)
					}
				}
			}
			return true
		})
	}
	return names
}

// forClause unrolls a loop over words, limited by the budget of steps.
func (w *walker) forClause(c *syntax.ForClause, st *state) outcome {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || !plainName(iter.Name.Value) {
		w.fx.unknown("loops in an unusual way")
		w.subshell(c.Do, st)
		return stay(st)
	}
	items := w.expand(iter.Items, st)
	if readTwice(iter.Items) {
		w.posix = true
		items = append(items, w.expand(iter.Items, st)...)
		w.posix = false
	}
	if !iter.InPos.IsValid() {
		items = []string{string(markSplit)} // the positional parameters
	}
	for _, item := range items {
		if strings.ContainsRune(item, markGlob) {
			w.leading = union(w.leading, st.dirs)
			w.readName(item, st)
		}
	}
	for _, item := range items {
		if w.steps < 0 {
			break
		}
		w.loop(st, c.Do, iter.Name.Value, func() {
			st.vars[iter.Name.Value] = oneOf(item)
			w.stmts(c.Do, st)
		})
	}
	st.vars[iter.Name.Value] = string(markSplit)
	return stay(st)
}

// oneOf returns the value of a loop variable that takes each of the words that item stands for.
func oneOf(item string) string {
	if strings.ContainsRune(item, markSplit) {
		return string(markAny)
	}
	return item
}

func (w *walker) caseClause(c *syntax.CaseClause, st *state) outcome {
	w.eval(c.Word, st)
	start := st.dirs
	dirs := start
	for _, item := range c.Items {
		if item.Op != syntax.Break {
			w.fx.unknown("has a case that falls through")
		}
		for _, p := range item.Patterns {
			w.eval(p, st)
		}
		out := w.branch(item.Stmts, start, st)
		dirs = union(dirs, union(out.ok, out.fail))
	}
	return outcome{dirs, dirs}
}
