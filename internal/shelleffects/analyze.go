package shelleffects

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Limits that keep an analysis short for any input. A command beyond them is unknown.
const (
	maxLength  = 64 << 10 // bytes of command line
	maxOpeners = 400      // brackets and backquotes, which limits nesting
	maxSteps   = 4000     // simple commands visited, with loops unrolled
	maxWords   = 256      // words that a brace expansion may produce
)

// Options describe where a command would run.
type Options struct {
	Root string // absolute path of the workspace; if empty, no absolute path counts as inside
	Dir  string // working directory, relative to the workspace or absolute; empty is the workspace itself
}

// Command is one simple command found in a command line.
type Command struct {
	Name  string   // the program as it would be looked up; empty if known only at run time
	Args  []string // the words after it; a part known only at run time is shown as "…", a wildcard as "*"
	Flags Flags    // flags that this command adds to the total
	Known bool     // the program is in the table, with these options
	Dirs  []string // directories in which it may run, relative to the workspace
}

// Analysis is the result of [Analyze].
type Analysis struct {
	Effects
	Commands []Command
	// Leading lists directories whose file names the shell may put at the beginning of words of a
	// command that takes them for options if they begin with a dash.
	Leading []string
	Tree    string // the parsed command, indented, one part per line
	Err     error  // why the text cannot be parsed as a command, or nil
}

// ReadOnly reports whether a command may run without asking: see [Effects.ReadOnly].
func ReadOnly(a Analysis) bool { return a.Err == nil && a.Effects.ReadOnly() }

// Analyze determines what cmd would do in a bash (or POSIX sh) started in opts.Dir. It never runs
// anything and touches no file. If the parser panics, the command counts as one that cannot be
// parsed.
func Analyze(cmd string, opts Options) (a Analysis) {
	defer func() {
		if p := recover(); p != nil {
			a = failed(fmt.Errorf("shelleffects: parse command: %v", p))
		}
	}()
	return analyze(cmd, opts)
}

func analyze(cmd string, opts Options) Analysis {
	w := &walker{opts: opts, src: cmd, fx: Effects{Known: true}, steps: maxSteps}
	if err := precheck(cmd); err != nil {
		return failed(err)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(cmd), "")
	if err != nil {
		return failed(fmt.Errorf("shelleffects: parse command: %w", err))
	}
	a := Analysis{Tree: tree(file)}
	st := &state{vars: map[string]string{}, dirs: []string{w.start()}}
	w.stmts(file.Stmts, st)
	if w.fx.Known { // otherwise nothing more can be said
		if why := agree(cmd, file); why != "" {
			w.fx.unknown(why)
		}
	}
	w.fx.finish()
	a.Effects, a.Commands, a.Leading = w.fx, w.commands, w.leading
	if len(a.Commands) == 0 && a.ReadOnly() && len(file.Stmts) == 0 {
		a.unknown("holds no command")
	}
	return a
}

func failed(err error) Analysis {
	return Analysis{Err: err, Effects: Effects{Reasons: []string{err.Error()}}}
}

// start resolves the command's initial working directory.
func (w *walker) start() string {
	dir := filepath.ToSlash(w.opts.Dir)
	if path.IsAbs(dir) {
		if rel, ok := inside(w.opts.Root, dir); ok {
			return rel
		}
		w.fx.flag(Outside, "runs outside the workspace, in "+dir)
		return "."
	}
	dir = path.Clean(dir)
	if escapes(dir) {
		w.fx.flag(Outside, "runs outside the workspace, in "+dir)
		return "."
	}
	return dir
}

// precheck refuses text that a person, the parser and the shell might each read differently.
func precheck(cmd string) error {
	switch {
	case len(cmd) > maxLength:
		return fmt.Errorf("shelleffects: parse command: %d bytes, more than the %d that are looked at", len(cmd), maxLength)
	case !utf8.ValidString(cmd):
		return fmt.Errorf("shelleffects: parse command: not UTF-8")
	}
	openers := 0
	for i, r := range cmd {
		switch {
		case strings.ContainsRune("({[`", r):
			openers++
		case r == '\n' || r == '\t':
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp),
			r != ' ' && unicode.Is(unicode.Zs, r), r == utf8.RuneError:
			return fmt.Errorf("shelleffects: parse command: invisible character %U at byte %d", r, i)
		}
	}
	if openers+strings.Count(cmd, "then")+strings.Count(cmd, "do") > maxOpeners {
		return fmt.Errorf("shelleffects: parse command: nested too deeply")
	}
	return nil
}
