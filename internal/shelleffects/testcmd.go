package shelleffects

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fileTests are the unary operators of test for files, textTests those for text.
const fileTests, textTests = " -e -f -d -r -w -x -s -L -h -p -S -b -c -u -g -k -O -G -N ", " -z -n -t "

// testWords refuses test and [ with a wildcard outside quotes, also one in a variable. Names of
// files may become the operator -v and an index, which is evaluated. A wildcard with a dot becomes
// no operator.
func (w *walker) testWords(args []*syntax.Word, words []string) {
	if !slices.Contains(words, "[") && !slices.Contains(words, "test") {
		return
	}
	for i, x := range args {
		if len(words) != len(args) {
			w.fx.unknown("test gets words that only running it shows")
			return
		}
		if !strings.ContainsRune(words[i], markGlob) {
			continue
		}
		for _, p := range x.Parts {
			lit, ok := p.(*syntax.Lit)
			_, variable := p.(*syntax.ParamExp)
			if variable || ok && strings.ContainsAny(lit.Value, "*?[") && !strings.Contains(words[i], ".") {
				w.fx.unknown("test gets words that only running it shows: " + show(words[i]))
			}
		}
	}
}

// test analyses test and [. Two consecutive words that are known only at run time could be an
// operator that evaluates the second one.
func test(c *call) outcome {
	w, args := c.w, c.args
	if c.name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			w.fx.unknown("[ without a closing ]")
			return stay(c.st)
		}
		args = args[:len(args)-1]
	}
	open := false
	for i, a := range args {
		switch {
		case strings.ContainsRune(a, markSplit), open && (!static(a) || strings.Contains(a, "[")), a == "-v", a == "-R", strings.Contains(a, "$("), strings.Contains(a, "`"):
			w.fx.unknown("test may evaluate " + show(a))
		case i > 0 && strings.Contains(fileTests, " "+args[i-1]+" "):
			if !strings.ContainsRune(a, markAny) { // a test for a file of unknown name reveals nothing
				w.readName(a, c.st)
			} else {
				w.fx.unknown("tests a path that only running it shows")
			}
		}
		open = !static(a)
	}
	return stay(c.st)
}
