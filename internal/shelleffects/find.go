package shelleffects

import "strings"

// findTests maps the words of a find expression to their number of arguments. Words that run a
// program, remove or write a file are left out.
var findTests = func() map[string]int {
	m := map[string]int{}
	for _, t := range strings.Fields(`-true -false -print -print0 -ls -prune -quit -depth -d -empty -executable -readable -writable -nouser
		-nogroup -xdev -mount -follow -daystart -noleaf -ignore_readdir_race -noignore_readdir_race -warn -nowarn -not -a -and -o -or`) {
		m[t] = 0
	}
	for _, t := range strings.Fields(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin
		-atime -amin -ctime -cmin -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -printf -lname -ilname -fstype -used`) {
		m[t] = 1
	}
	return m
}()

// findFiles are the words that take a path.
var findFiles = set("-newer", "-anewer", "-cnewer", "-samefile", "-newerma", "-newermm", "-newercc", "-neweraa", "-newermc", "-newermB")

// find analyses a find command: paths, then an expression.
func find(c *call) outcome {
	w, args := c.w, c.args
	if len(args) == 1 && args[0] == "--version" {
		return stay(c.st)
	}
	for len(args) > 0 && (args[0] == "-H" || args[0] == "-L" || args[0] == "-P") {
		args = args[1:]
	}
	paths := 0
	for len(args) > 0 && args[0] != "" && !startsOpen(args[0]) && !strings.ContainsAny(args[0][:1], "-(!,)") {
		if strings.ContainsRune(args[0], markSplit) {
			break
		}
		w.readName(args[0], c.st)
		paths++
		args = args[1:]
	}
	if paths == 0 {
		w.readName(".", c.st)
	}
	for i := 0; i < len(args); i++ {
		i += c.findWord(args, i)
	}
	return stay(c.st)
}

// findWord analyses the expression word at i and returns its number of arguments.
func (c *call) findWord(args []string, i int) int {
	w, a := c.w, args[i]
	if a == "(" || a == ")" || a == "!" || a == "," {
		return 0
	}
	n, ok := findTests[a]
	if findFiles[a] {
		n, ok = 1, true
	}
	switch {
	case strings.HasPrefix(a, "-exec") || strings.HasPrefix(a, "-ok"):
		w.fx.flag(Executes, "find runs a program for each file")
		w.fx.Known = false
		c.wrapped()
		return len(args)
	case a == "-delete":
		w.fx.flag(Deletes, "find removes files")
		w.fx.Known = false
		return 0
	case !ok:
		w.fx.unknown("find has a word whose effects are not known: " + show(a))
		return 0
	case n > len(args)-1-i:
		return n
	case n == 1:
		c.findValue(a, args[i+1])
	}
	return n
}

// findValue analyses the argument of a test. A wildcard there may expand to several words; the
// later ones become words of the expression unless their fixed text rules that out.
func (c *call) findValue(test, v string) {
	w := c.w
	fixed := v[strings.LastIndexAny(v, marks)+1:]
	switch {
	case strings.ContainsRune(v, markSplit):
		w.fx.unknown("find gets words that only running it shows")
	case strings.ContainsRune(v, markGlob) && startsOpen(v) && !strings.Contains(fixed, "."):
		w.fx.unknown("find gets a wildcard that may turn out a word of its expression: " + show(v))
	case findFiles[test]:
		w.readName(v, c.st)
	}
}
