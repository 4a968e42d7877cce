package shelleffects

import (
	"regexp"
	"strings"
)

var jqWords = regexp.MustCompile(`\b(env|ENV|import|include|modulemeta|input_filename|get_search_list|\$__prog_args)\b`)

// jq analyses a jq command whose filter neither reads the environment nor loads modules.
func jq(c *call) outcome {
	r := table()["jq"]
	var operands []string
	args := c.args
	for len(args) > 0 {
		a := args[0]
		n := 1
		switch {
		case strings.ContainsRune(a, markSplit) || startsOpen(a):
			n = -1
		case a == "--": // versions disagree on what follows, except on plain words
			operands = append(operands, args[1:]...)
			n = len(args)
			for _, o := range args[1:] {
				if strings.HasPrefix(o, "-") || startsOpen(o) || strings.ContainsRune(o, markSplit) {
					n = -1
				}
			}
		case a == "--arg" || a == "--argjson":
			if n = 3; len(args) < n || !c.placeable(args[1:n]) || strings.ContainsRune(args[1]+args[2], markGlob) {
				n = -1
			}
		case a == "--indent":
			if n = 2; len(args) < n || !number.MatchString(args[1]) {
				n = -1
			}
		case len(a) > 1 && a[0] == '-':
			if !r.flags(a) {
				n = -1
			}
		default:
			operands = append(operands, a)
		}
		if n < 0 {
			c.w.fx.unknown("jq has words whose effects are not known: " + show(a))
			return stay(c.st)
		}
		args = args[n:]
	}
	c.operands(r, &parsed{used: map[string]string{}, operands: operands})
	if len(operands) > 0 && (!static(operands[0]) || jqWords.MatchString(operands[0])) {
		c.w.fx.unknown("a jq filter may read the environment or load modules")
	}
	return stay(c.st)
}

// flags reports whether a word is one long flag of the row, or short flags only.
func (r *row) flags(word string) bool {
	if strings.HasPrefix(word, "--") {
		o, ok := r.options[word]
		return ok && o.takes == nothing
	}
	for _, ch := range word[1:] {
		if o, ok := r.options["-"+string(ch)]; !ok || o.takes != nothing {
			return false
		}
	}
	return true
}
