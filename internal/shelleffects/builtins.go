package shelleffects

import (
	"path"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtinOf returns the analysis function of a command that acts on the shell itself. It applies
// only if the shell runs the command directly.
func builtinOf(name string) func(*call) outcome {
	switch name {
	case "cd":
		return cd
	case "exit":
		return exit
	case "read":
		return read
	case "builtin":
		return builtin
	case "type":
		return typeOf
	case "break", "continue", "return", "wait", "times":
		return numbered
	case "set", "export", "declare", "typeset", "local", "readonly", "compgen", "history", "fc", "alias":
		return variables
	}
	return nil
}

// specialOf returns the analysis function of a program that a row of the table cannot describe.
func specialOf(name string) func(*call) outcome {
	switch name {
	case "git":
		return git
	case "find":
		return find
	case "sed", "gsed":
		return sed
	case "awk", "gawk", "mawk", "nawk":
		return awk
	case "jq":
		return jq
	case "test", "[":
		return test
	case "command":
		return command
	case "env":
		return env
	case "printenv":
		return printenv
	case "timeout", "gtimeout":
		return wrapper("-fv", "-k", "-s")
	case "nice":
		return wrapper("", "-n")
	case "time":
		return wrapper("-p")
	}
	return nil
}

// checkOf returns an additional check for a row of the table, or nil.
func checkOf(program string) func(*call, *parsed) {
	switch program {
	case "printf":
		return checkPrintf
	case "date":
		return checkDate
	case "ps":
		return checkPs
	case "ln":
		return checkLn
	case "git config", "git config get":
		return checkGitConfig
	case "git reflog", "git reflog show":
		return checkReflog
	case "strings":
		return checkStrings
	}
	return nil
}

// numbered analyses the builtins that take a number. Options of wait, and words that some versions
// evaluate as arithmetic, may run commands.
func numbered(c *call) outcome {
	for _, a := range c.args {
		if !number.MatchString(a) {
			c.w.fx.unknown(c.name + " gets a word that is not a number: " + show(a))
		}
	}
	return stay(c.st)
}

// variables analyses the commands that show or change the shell's variables.
func variables(c *call) outcome {
	c.w.fx.unknown(c.name + " shows or changes the shell's variables")
	c.w.fx.Flags |= Secret
	return stay(c.st)
}

// maxDirs limits the directories in which a command may run. They double with each cd that may
// fail.
const maxDirs = 64

// cd changes the shell's directory. Whether it succeeds is not known, so a command that does not
// depend on that may run in either directory.
func cd(c *call) outcome {
	w, st := c.w, c.st
	args := c.args
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-P" || args[0] == "--") {
		args = args[1:]
	}
	if len(args) != 1 || !static(args[0]) || args[0] == "" || args[0][0] == '-' {
		w.fx.unknown("changes to a directory that only running it shows")
		return stay(st)
	}
	w.readName(args[0], st)
	var to []string
	for _, dir := range st.dirs {
		next := path.Join(dir, args[0])
		if path.IsAbs(args[0]) {
			next, _ = inside(w.opts.Root, args[0])
		}
		if next != "" && !escapes(next) {
			to = union(to, []string{next})
		}
	}
	if len(to) > maxDirs {
		w.fx.unknown("changes the directory so often that it may be in too many")
		return stay(st)
	}
	return outcome{ok: to, fail: st.dirs}
}

func exit(c *call) outcome {
	if len(c.args) == 0 || len(c.args) == 1 && number.MatchString(c.args[0]) {
		return outcome{}
	}
	for _, a := range c.args {
		if static(a) && !number.MatchString(a) {
			c.w.fx.unknown("exit gets a word that is not a number: " + a)
		}
	}
	return stay(c.st)
}

// read sets variables from standard input.
func read(c *call) outcome {
	args := c.args
	for len(args) > 0 && (args[0] == "-r" || args[0] == "-s" || args[0] == "-rs") {
		args = args[1:]
	}
	for _, a := range args {
		if !plainName(a) && a != "_" || !syntax.ValidName(a) {
			c.w.fx.unknown("read has an option or variable whose effects are not known: " + show(a))
		}
		c.st.vars[a] = string(markAny)
	}
	c.st.vars["REPLY"] = string(markAny)
	return stay(c.st)
}

// inner analyses words as a command that another program runs.
func (c *call) inner(words []string, external bool) outcome {
	if len(words) == 0 {
		c.w.fx.unknown(c.name + " has no command")
		return stay(c.st)
	}
	in := &call{w: c.w, st: c.st, name: words[0], args: words[1:], external: external || c.external}
	if !static(words[0]) || words[0] == "" {
		in.name = ""
	}
	return c.w.run(in)
}

func builtin(c *call) outcome { return c.inner(c.args, false) }

// command analyses the command builtin, which runs a program bypassing functions and aliases, or
// prints its location.
func command(c *call) outcome {
	if len(c.args) > 0 && (c.args[0] == "-v" || c.args[0] == "-V") {
		return typeOf(c)
	}
	if c.external {
		c.w.fx.unknown("command is not a program")
	}
	return c.inner(c.args, false)
}

// typeOf analyses type and command -v, which print what a name stands for.
func typeOf(c *call) outcome {
	for _, a := range c.args {
		if !static(a) || strings.HasPrefix(a, "-") && strings.Trim(a, "-vVtapP") != "" {
			c.w.fx.unknown(c.name + " has an option whose effects are not known: " + show(a))
		}
	}
	return stay(c.st)
}

// env analyses a program run with changed variables. Without a program, env prints them all.
func env(c *call) outcome {
	args := c.args
	for len(args) > 0 && strings.Contains(args[0], "=") && args[0][0] != '-' {
		name, value, _ := strings.Cut(args[0], "=")
		c.w.setFor(name, value)
		args = args[1:]
	}
	if len(args) == 0 {
		c.w.fx.flag(Secret, "env shows all variables")
		return stay(c.st)
	}
	if strings.HasPrefix(args[0], "-") || startsOpen(args[0]) {
		c.w.fx.unknown("env has an option whose effects are not known: " + show(args[0]))
		c.wrapped()
		return stay(c.st)
	}
	return c.inner(args, true)
}

func printenv(c *call) outcome {
	if len(c.args) == 0 {
		c.w.fx.flag(Secret, "printenv shows all variables")
	}
	for _, a := range c.args {
		if !safeEnv[a] {
			c.w.fx.flag(Secret, "shows the environment variable "+show(a))
		}
	}
	return stay(c.st)
}

var duration = regexp.MustCompile(`^[0-9.]+[smhd]?$`)

// wrapper returns the analysis function of a program that runs another one: its own flags, options
// with a value, for timeout a duration, then the command.
func wrapper(flags string, valued ...string) func(*call) outcome {
	return func(c *call) outcome {
		args := c.args
	options:
		for len(args) > 0 {
			for _, v := range valued {
				if args[0] == v && len(args) > 1 && plainValue.MatchString(args[1]) && !strings.HasPrefix(args[1], "-k") {
					args = args[2:]
					continue options
				}
			}
			if len(args[0]) != 2 || args[0][0] != '-' || !strings.Contains(flags, args[0][1:]) {
				break
			}
			args = args[1:]
		}
		if strings.HasSuffix(c.name, "timeout") {
			if len(args) == 0 || !duration.MatchString(args[0]) {
				c.w.fx.unknown(c.name + " has words whose effects are not known")
				c.wrapped()
				return stay(c.st)
			}
			args = args[1:]
		}
		return c.inner(args, true)
	}
}

var printfCount = regexp.MustCompile(`%[-+ #0'*.0-9hjlLqtz]*n`)

// checkPrintf refuses %n, which assigns to a variable and so evaluates an index.
func checkPrintf(c *call, p *parsed) {
	if len(p.operands) == 0 {
		return
	}
	f := strings.ReplaceAll(p.operands[0], "%%", "")
	if !static(f) || printfCount.MatchString(f) || strings.Contains(f, `%\`) {
		c.w.fx.unknown("a printf format may assign a variable")
	}
}

func checkDate(c *call, p *parsed) {
	for _, op := range p.operands {
		if !strings.HasPrefix(op, "+") {
			c.w.fx.unknown("date may set the clock")
		}
	}
}

// checkStrings refuses @file, from which the program takes further arguments.
func checkStrings(c *call, p *parsed) {
	for _, a := range c.args {
		if strings.HasPrefix(a, "@") || startsOpen(a) {
			c.w.fx.unknown("strings may take further arguments from the file " + show(strings.TrimPrefix(a, "@")))
		}
	}
}

func checkLn(c *call, p *parsed) {
	if len(p.operands) < 2 {
		c.w.fx.unknown("ln makes a link of a name that is not given")
	}
}

var (
	psLetters = regexp.MustCompile(`^-?[auxwfjlTHr]+$`)
	psUnix    = regexp.MustCompile(`^-[eA]?[fFlLTjHyw]*o?$`)
)

// checkPs refuses the forms that show the environment of other processes.
func checkPs(c *call, p *parsed) {
	for _, a := range c.args {
		if len(a) > 1 && a[0] == '-' && a[1] != '-' && !psLetters.MatchString(a) && !psUnix.MatchString(a) && len(a) != 2 || strings.Contains(a, "env") {
			c.w.fx.flag(Secret, "ps may show the environment of processes")
		}
	}
	for _, op := range p.operands {
		if !psLetters.MatchString(op) && !number.MatchString(op) {
			c.w.fx.flag(Secret, "ps may show the environment of processes")
		}
	}
}
