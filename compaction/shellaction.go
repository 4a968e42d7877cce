package compaction

import (
	"slices"
	"strconv"
	"strings"

	"github.com/luthier-dev/luthier/internal/shelleffects"
)

// shell works out the purpose of a command line. The kinds of all its parts must agree: a single
// program that may do anything makes the whole line a command.
func (a *action) shell(line string) {
	a.kind = kindCommand
	if a.special(line) {
		return
	}
	fx := shelleffects.Analyze(line, shelleffects.Options{})
	if fx.Err != nil {
		return
	}
	a.writes = ownPaths(fx.Writes)
	var seen [kindPlan + 1]bool
	for i := range fx.Commands {
		k, quiet := kindOfProgram(&fx.Commands[i])
		if quiet {
			if c := &fx.Commands[i]; c.Name == "sed" && a.first == 0 { // nl -ba file | sed -n '10,20p'
				a.sedRange(strings.Join(operands(c.Args), " "))
			}
			continue
		}
		seen[k] = true
		if k == kindEdit {
			a.writes = append(a.writes, editedFiles(&fx.Commands[i])...)
		}
		if k == kindRead {
			a.readBy(&fx.Commands[i])
		}
	}
	switch {
	case seen[kindCommand]:
	case seen[kindSearch]: // before kindRead, since the search filters what is read
		a.kind = kindSearch
	case seen[kindDiff]:
		a.kind = kindDiff
	case seen[kindRead] && len(a.writes) > 0 && !seen[kindEdit] && a.path == "":
		a.kind = kindEdit // cat <<EOF > file
	case seen[kindRead]:
		a.kind = kindRead
	case seen[kindList]:
		a.kind = kindList
	case seen[kindEdit], len(a.writes) > 0:
		a.kind = kindEdit
	}
	if a.kind == kindRead && a.path == "" {
		a.kind = kindCommand // it reads what another program printed
	}
	a.path = resolved(a.path, fx.Reads)
	slices.Sort(a.writes)
	a.writes = slices.Compact(a.writes)
	if a.path == "" && len(a.writes) > 0 {
		a.path = a.writes[0]
	}
}

// resolved returns the path p after the directory changes of the command.
func resolved(p string, seen []string) string {
	for _, s := range seen {
		if p != "" && strings.HasSuffix(s, "/"+p) {
			return s
		}
	}
	return p
}

// special recognises command languages other than shells: the editor commands of SWE-agent's
// interface.
func (a *action) special(line string) bool {
	first, rest, _ := strings.Cut(strings.TrimSpace(line), "\n")
	fields := strings.Fields(first)
	if len(fields) == 0 {
		return true
	}
	switch fields[0] {
	case "open", "goto", "scroll_down", "scroll_up":
		a.kind = kindRead
		if fields[0] == "open" && len(fields) > 1 {
			a.path = cleanPath(strings.Trim(fields[1], `"'`))
			if len(fields) > 2 {
				a.first, _ = strconv.Atoi(fields[2])
			}
		}
	case "edit", "create", "insert":
		if fields[0] != "create" && rest == "" {
			return false
		}
		a.kind = kindEdit
		if fields[0] == "create" && len(fields) > 1 {
			a.path = cleanPath(fields[1])
			a.writes = []string{a.path}
		}
	case "search_dir", "search_file", "find_file":
		a.kind = kindSearch
	default:
		return false
	}
	return true
}

// kindOfProgram returns the kind of a program. If quiet is true, the program, such as cd, does not
// affect the purpose of the whole line.
func kindOfProgram(c *shelleffects.Command) (k kind, quiet bool) {
	name := c.Name[strings.LastIndexByte(c.Name, '/')+1:]
	switch name {
	case "cd", "pushd", "popd", "export", "set", "unset", "true", ":", "test", "[", "source", ".", "alias", "shopt", "sleep", "echo", "printf", "wait":
		return kindOther, true
	case "sort", "uniq", "wc", "cut", "tr", "column", "paste", "xargs", "tee", "basename", "dirname", "date", "pwd", "which":
		return kindOther, true
	case "sed", "perl":
		if hasOption(c.Args, "-i") || hasOption(c.Args, "--in-place") {
			return kindEdit, false
		}
		if name == "perl" {
			return kindCommand, false
		}
		return kindRead, len(operands(c.Args)) < 2
	case "cat", "head", "tail", "nl", "less", "more", "bat", "batcat", "tac":
		return kindRead, len(operands(c.Args)) == 0 && name != "cat"
	case "awk", "gawk":
		return kindRead, len(operands(c.Args)) < 2
	case "grep", "egrep", "fgrep", "rg", "ag", "ack":
		return kindSearch, false
	case "ls", "find", "tree", "fd", "du", "locate":
		if name == "find" && (slices.Contains(c.Args, "-exec") || slices.Contains(c.Args, "-execdir")) {
			return kindSearch, false
		}
		return kindList, false
	case "mv", "cp", "rm", "mkdir", "touch", "ln", "rmdir", "chmod", "patch", "install":
		return kindEdit, false
	case "git":
		return kindOfGit(c.Args), false
	}
	return kindCommand, false
}

func kindOfGit(args []string) kind {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c":
			i++
		case strings.HasPrefix(a, "-"):
		case a == "diff" || a == "show" || a == "blame":
			return kindDiff
		case a == "grep":
			return kindSearch
		case a == "ls-files" || a == "ls-tree":
			return kindList
		case a == "checkout" || a == "restore" || a == "apply" || a == "stash" || a == "reset" || a == "mv" || a == "rm":
			return kindEdit
		default:
			return kindCommand
		}
	}
	return kindCommand
}

// readBy takes the path and the lines from the arguments of a program that shows a file.
func (a *action) readBy(c *shelleffects.Command) {
	ops := operands(c.Args)
	switch c.Name {
	case "sed":
		if len(ops) > 0 && !hasOption(c.Args, "-e") {
			a.sedRange(ops[0])
			ops = ops[1:]
		}
	case "awk", "gawk":
		if len(ops) > 0 {
			ops = ops[1:]
		}
	case "head":
		a.last, _ = strconv.Atoi(optionValue(c.Args, "-n"))
		if a.last > 0 {
			a.first = 1
		}
		ops = slices.DeleteFunc(ops, func(s string) bool { _, err := strconv.Atoi(s); return err == nil })
	case "tail":
		ops = slices.DeleteFunc(ops, func(s string) bool { _, err := strconv.Atoi(strings.TrimPrefix(s, "+")); return err == nil })
	}
	if len(ops) > 0 && a.path == "" {
		a.path = cleanPath(ops[0])
	}
}

// sedRange parses a script such as "120,180p".
func (a *action) sedRange(script string) {
	span, ok := strings.CutSuffix(strings.TrimSpace(script), "p")
	if !ok {
		return
	}
	from, to, two := strings.Cut(span, ",")
	first, err := strconv.Atoi(strings.TrimSpace(from))
	if err != nil {
		return
	}
	last := first
	if two {
		last, _ = strconv.Atoi(strings.TrimSpace(to)) // "$" is not a number and means the end, as does 0
	}
	a.first, a.last = first, last
}

// editedFiles returns the files named in the arguments of a program that changes files.
func editedFiles(c *shelleffects.Command) []string {
	ops := operands(c.Args)
	switch c.Name {
	case "sed", "perl":
		if len(ops) > 0 && !hasOption(c.Args, "-e") {
			ops = ops[1:]
		}
	case "git":
		ops = ops[min(len(ops), 1):]
	}
	return ownPaths(ops)
}

func ownPaths(ps []string) []string {
	var out []string
	for _, p := range ps {
		p = cleanPath(p)
		if p != "" && p != "." && p != "/dev/null" && !strings.ContainsAny(p, "*…") && len(out) < 64 {
			out = append(out, p)
		}
	}
	return out
}

// operands returns the arguments of a command that are not options. The value of an option counts
// as an operand; callers that know better drop it.
func operands(args []string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i+1:]...)
		}
		if a != "-" && !strings.HasPrefix(a, "-") && a != "" {
			out = append(out, a)
		}
	}
	return out
}

func hasOption(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return a == name || len(name) == 2 && len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, name[1:]) ||
			len(name) > 2 && strings.HasPrefix(a, name+"=")
	})
}

func optionValue(args []string, name string) string {
	for i, a := range args {
		if a == name && i+1 < len(args) {
			return args[i+1]
		}
		if v, ok := strings.CutPrefix(a, name); ok && v != "" {
			return strings.TrimPrefix(v, "=")
		}
		if name == "-n" && len(a) > 1 && a[0] == '-' { // head -20
			if _, err := strconv.Atoi(a[1:]); err == nil {
				return a[1:]
			}
		}
	}
	return ""
}
