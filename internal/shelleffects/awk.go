package shelleffects

import (
	"regexp"
	"strings"
)

var awkRow = newRow("awk", strings.Fields(`-F=text -v=text --field-separator=text --assign=text`), []string{"text", "file*", "first"})

var (
	awkWords = regexp.MustCompile(`@|\\\n|\b(system|getline|close|fflush|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|FUNCTAB|include|load|extension|eval|argv|spawn)\b`)
	awkNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// awk analyses an awk command whose program does not write, does not run anything, and reads only
// its files. In awk a redirection or pipe can only follow print (or be used with getline, which is
// refused), so the code before the first print may compare and match freely.
func awk(c *call) outcome {
	p := &parsed{used: map[string]string{}}
	if !c.split(awkRow, c.args, p) {
		return stay(c.st)
	}
	if len(p.operands) == 0 {
		if !p.has("--version") {
			c.w.fx.unknown("awk has no program")
		}
		return stay(c.st)
	}
	prog := p.operands[0]
	if !static(prog) || !awkReads(prog) {
		c.w.fx.unknown("an awk program may write files or run commands: " + show(prog))
	}
	if m := p.used["-v"] + p.used["--assign"]; !static(m) && strings.ContainsRune(m, markSplit) {
		c.w.fx.unknown("awk gets words that only running it shows")
	}
	for _, f := range p.operands[1:] {
		if !awkNames.MatchString(f) { // a file, not an assignment
			c.w.readFile(f, c.st)
		} else {
			c.w.readName(f[strings.IndexByte(f, '=')+1:], c.st)
		}
	}
	return stay(c.st)
}

func awkReads(prog string) bool {
	if awkWords.MatchString(prog) {
		return false
	}
	i := strings.Index(prog, "print")
	if i < 0 {
		return true
	}
	after := strings.NewReplacer(">=", "", "||", "").Replace(prog[i:])
	return !strings.ContainsAny(after, ">|")
}
