package shelleffects

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A call is one simple command with its words evaluated.
type call struct {
	w        *walker
	st       *state
	name     string
	args     []string
	external bool // run by another program, so shell builtins do not affect this shell
}

// call analyses a simple command: assignments, then the program.
func (w *walker) call(c *syntax.CallExpr, st *state) outcome {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			w.assign(a, st)
		}
		return stay(st)
	}
	for _, a := range c.Assigns {
		w.prefixAssign(a, st)
	}
	if readTwice(c.Args) {
		n := len(w.commands)
		w.posix = true
		w.words(c.Args, st.clone())
		w.posix = false
		w.commands = w.commands[:n]
	}
	return w.words(c.Args, st)
}

// words analyses a program with its arguments.
func (w *walker) words(args []*syntax.Word, st *state) outcome {
	words := w.expand(args, st)
	w.testWords(args, words)
	cmd := &call{w: w, st: st, name: words[0], args: words[1:]}
	if !literal(args[0]) || !static(words[0]) {
		cmd.name = ""
	}
	return w.run(cmd)
}

// literal reports whether a word's value does not depend on what the script did before.
func literal(x *syntax.Word) bool {
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n.(type) {
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// run analyses one program with its arguments and records it.
func (w *walker) run(c *call) outcome {
	if w.steps--; w.steps < 0 {
		w.fx.unknown("is too long to follow")
		return stay(c.st)
	}
	before := w.fx
	w.fx.Flags, w.fx.Known = 0, true
	i := len(w.commands)
	args := make([]string, len(c.args))
	for j, a := range c.args {
		args[j] = show(a)
	}
	w.commands = append(w.commands, Command{Name: c.name, Args: args, Dirs: slices.Clone(c.st.dirs)})
	out := c.follow()
	w.commands[i].Flags, w.commands[i].Known = w.fx.Flags, w.fx.Known
	w.fx.Flags |= before.Flags
	w.fx.Known = w.fx.Known && before.Known
	return out
}

func (c *call) follow() outcome {
	w := c.w
	for _, a := range c.args { // a wildcard lists its directory, whatever the program does with the names
		if strings.ContainsRune(a, markGlob) && !strings.ContainsAny(a, string([]rune{markAny, markSplit})) {
			w.readName(a, c.st)
		}
	}
	if dir, base := path.Split(c.name); dir == "/bin/" || dir == "/usr/bin/" {
		c.name, c.external = base, true
	}
	if c.name == "" {
		w.fx.unknown("runs a program whose name only running it shows")
		w.fx.Flags |= Executes
		return stay(c.st)
	}
	if b := builtinOf(c.name); b != nil && !c.external {
		return b(c)
	}
	if s := specialOf(c.name); s != nil {
		return s(c)
	}
	if r, args := lookup(c.name, c.args); r != nil {
		c.apply(r, args)
		return stay(c.st)
	}
	c.refuse()
	return stay(c.st)
}

// refuse reports a program that is not in the table, with a reason that says what is known about
// it.
func (c *call) refuse() {
	w, name := c.w, path.Base(c.name)
	switch {
	case c.name == "":
		w.fx.unknown("runs an empty command")
	case strings.Contains(c.name, "/"):
		w.fx.unknown("runs the file " + c.name)
		w.fx.Flags |= Executes
	case killers[name]:
		w.fx.unknown(name + " signals processes")
		w.fx.Flags |= Kills
	case networkers[name]:
		w.fx.unknown(name + " reaches the network")
		w.fx.Flags |= Network
	case deleters[name]:
		w.fx.unknown(name + " removes data")
		w.fx.Flags |= Deletes
	default:
		w.fx.unknown(name + " is not a program whose effects are known")
		w.fx.Flags |= Executes
	}
	c.wrapped()
}

// wrapped looks for a command among the words of a command that is not understood, so that `sudo rm
// x` also reports a deletion. It only adds to an effect set that is unknown already.
func (c *call) wrapped() {
	for i, a := range c.args {
		name := path.Base(a)
		if killers[name] || networkers[name] || deleters[name] || mutates(name) {
			inner := *c
			inner.name, inner.args, inner.external = name, c.args[i+1:], true
			inner.w.run(&inner)
			return
		}
	}
}

var plainVar = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// plainName reports whether assigning the variable changes nothing except the variable. Upper-case
// names count as environment variables, which control programs (PATH, IFS, LD_PRELOAD, GIT_DIR),
// except for a few that scripts use.
func plainName(name string) bool {
	switch name {
	case "path", "fpath", "cdpath", "manpath", "module_path", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "_", "histchars":
		return false
	case "FILE", "FILES", "DIR", "NAME", "F", "D", "N", "I", "X":
		return true
	}
	return plainVar.MatchString(name)
}

// assign analyses a stand-alone x=value.
func (w *walker) assign(a *syntax.Assign, st *state) {
	value := w.eval(a.Value, st)
	switch {
	case a.Name == nil || a.Array != nil || a.Index != nil || a.Naked:
		w.fx.unknown("assigns an array")
		return
	case !plainName(a.Name.Value):
		w.fx.unknown("sets the variable " + a.Name.Value + ", which may change what programs do")
	case a.Append:
		w.fx.unknown("appends to a variable, which sh reads as the name of a program")
		value = string(markAny)
	case strings.ContainsRune(value, markSplit) || dollarQuoted(a.Value):
		value = string(markAny)
	case strings.ContainsRune(value, markGlob): // expanded only where the variable is used without quotes
		value = string(markAny)
	}
	st.set(a.Name.Value, value)
}

// plainLocale matches the locales whose encoding is ASCII or UTF-8. In others, a byte of a
// character may be a quote or a backslash to the program.
var plainLocale = regexp.MustCompile(`(?i)^(?:|C|POSIX|en_[a-z]+|[a-z]+(?:_[a-z]+)?\.utf-?8)$`)

var plainValue = regexp.MustCompile(`^[A-Za-z0-9_.:+-]*$`)

// harmlessFor reports whether a program may be run with name=value in its environment.
func harmlessFor(name, value string) bool {
	switch name {
	case "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LANG", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
		"FORCE_COLOR", "COLUMNS", "LINES", "TZ", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "CI":
		return plainValue.MatchString(value) && (name[0] != 'L' || name == "LINES" || plainLocale.MatchString(value))
	case "GOTOOLCHAIN":
		return value == "local"
	case "TERM":
		return value == "dumb" || value == "xterm" || value == "xterm-256color" || value == "vt100"
	case "PAGER", "GIT_PAGER", "MANPAGER":
		return value == "cat" || value == ""
	}
	return false
}

func (w *walker) prefixAssign(a *syntax.Assign, st *state) {
	value := w.eval(a.Value, st)
	if a.Name == nil || a.Array != nil || a.Index != nil || a.Append || a.Naked {
		w.fx.unknown("assigns an array")
		return
	}
	w.setFor(a.Name.Value, value)
}

// setFor records that a program is run with name=value in its environment.
func (w *walker) setFor(name, value string) {
	if !harmlessFor(name, value) {
		w.fx.unknown("sets " + name + " for a program, which may change what it does")
	}
}

// redirect analyses one redirection.
func (w *walker) redirect(r *syntax.Redirect, st *state) {
	if r.N != nil && !number.MatchString(r.N.Value) {
		w.fx.unknown("opens a file into a variable")
	}
	if r.Hdoc != nil {
		w.parts(r.Hdoc.Parts, true, st)
		return
	}
	word := w.parts(r.Word.Parts, false, st)
	if dollarQuoted(r.Word) {
		w.fx.unknown("redirects to a name that sh reads otherwise")
	}
	switch r.Op {
	case syntax.WordHdoc:
	case syntax.RdrIn:
		w.readFile(word, st)
	case syntax.DplIn, syntax.DplOut:
		if !fileDescriptor.MatchString(word) {
			w.write(word, st, "writes", 0)
		}
	case syntax.Hdoc, syntax.DashHdoc: // an empty here-document
	default:
		w.write(word, st, "writes", 0)
	}
}

var fileDescriptor = regexp.MustCompile(`^([0-9]{1,3}-?|-)$`)

// testExpr analyses [[ ... ]].
func (w *walker) testExpr(x syntax.TestExpr, st *state) {
	switch x := x.(type) {
	case *syntax.Word:
		w.eval(x, st)
		if !plainForSh(x) {
			w.fx.unknown("holds a test that sh would read as commands")
		}
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar || x.Op == syntax.TsParen {
			w.fx.unknown("holds a test that may run commands")
		}
		w.testExpr(x.X, st)
	case *syntax.BinaryTest:
		w.binaryTest(x, st)
	default:
		w.fx.unknown("holds a test that sh would read as commands")
	}
}

func (w *walker) binaryTest(x *syntax.BinaryTest, st *state) {
	switch x.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{x.X, x.Y} { // both sides are evaluated as arithmetic
			if word, ok := side.(*syntax.Word); !ok || !number.MatchString(word.Lit()) {
				w.fx.unknown("computes with variables, which may run commands")
			}
		}
	case syntax.AndTest, syntax.OrTest, syntax.TsBefore, syntax.TsAfter:
		w.fx.unknown("holds a test that sh would read as commands")
	}
	w.testExpr(x.X, st)
	w.testExpr(x.Y, st)
}

// plainForSh reports whether a sh without [[ ]] would also read the word as a plain word.
func plainForSh(x *syntax.Word) bool {
	return !slices.ContainsFunc(x.Parts, func(p syntax.WordPart) bool {
		l, ok := p.(*syntax.Lit)
		return ok && strings.ContainsAny(l.Value, "|&;()<>")
	})
}
