package trigram

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"unicode"
)

// alphabets of texts and of expressions over them. Each is small, so that matches are frequent.
var alphabets = [][]string{
	{"a", "b", "c", "\n"},
	{"a", "B", "k", "K", "\u212a", "s", "\u017f", "S", " "},
	{"x", "é", "É", "ß", "ẞ", "Σ", "ς", "σ", "\n", "\r\n"},
	{"a", "b", "\xff", "\xe2", "\x84", "\xaa", "\u212a", "\uFFFD", "\xc5", "k"},
	{"漢", "字", "か", "a", "😀", "\n", "_", "-"},
	{"a", "a", "a", "b", "\r", "\n", "\r\n", "0"},
}

// generator makes random texts and syntax trees.
type generator struct {
	rnd      *rand.Rand
	alphabet []string
}

func (g *generator) text(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(g.alphabet[g.rnd.IntN(len(g.alphabet))])
	}
	return b.String()
}

// rune returns a character of the alphabet. Most of the time it avoids U+FFFD, to which invalid
// UTF-8 decodes.
func (g *generator) rune() rune {
	for {
		for _, r := range g.alphabet[g.rnd.IntN(len(g.alphabet))] {
			if r != unicode.ReplacementChar || g.rnd.IntN(8) == 0 {
				return r
			}
		}
	}
}

func (g *generator) literal(n int) *syntax.Regexp {
	re := &syntax.Regexp{Op: syntax.OpLiteral}
	if g.rnd.IntN(2) == 0 {
		re.Flags = syntax.FoldCase
	}
	for range n {
		re.Rune = append(re.Rune, g.rune())
	}
	return re
}

func (g *generator) class() *syntax.Regexp {
	expr := "["
	if g.rnd.IntN(4) == 0 {
		expr += "^"
	}
	for range 1 + g.rnd.IntN(3) {
		expr += `\x{` + hex(g.rune()) + `}`
	}
	flags := syntax.Perl
	if g.rnd.IntN(2) == 0 {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(expr+"]", flags)
	if err != nil {
		panic(err)
	}
	return re
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	out := ""
	for ; r > 0 || out == ""; r >>= 4 {
		out = string(digits[r&15]) + out
	}
	return out
}

var leaves = []syntax.Op{
	syntax.OpEmptyMatch, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText,
	syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpNoMatch,
}

func (g *generator) tree(depth int) *syntax.Regexp {
	if depth == 0 {
		switch n := g.rnd.IntN(10); {
		case n < 6:
			return g.literal(1 + g.rnd.IntN(4))
		case n < 8:
			return g.class()
		}
		// An OpNoMatch is rarely useful.
		return &syntax.Regexp{Op: leaves[g.rnd.IntN(len(leaves)-g.rnd.IntN(2))]}
	}
	sub := func() *syntax.Regexp { return g.tree(g.rnd.IntN(depth)) }
	switch g.rnd.IntN(8) {
	case 0:
		return &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{sub()}}
	case 1:
		return &syntax.Regexp{Op: syntax.OpPlus, Sub: []*syntax.Regexp{sub()}}
	case 2:
		return &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{sub()}}
	case 3:
		low := g.rnd.IntN(3)
		high := low + g.rnd.IntN(3)
		if g.rnd.IntN(3) == 0 {
			high = -1
		}
		return &syntax.Regexp{Op: syntax.OpRepeat, Min: low, Max: high, Sub: []*syntax.Regexp{sub()}}
	case 4:
		return &syntax.Regexp{Op: syntax.OpCapture, Sub: []*syntax.Regexp{sub()}}
	case 5:
		re := &syntax.Regexp{Op: syntax.OpAlternate}
		for range 2 + g.rnd.IntN(3) {
			re.Sub = append(re.Sub, sub())
		}
		return re
	default:
		re := &syntax.Regexp{Op: syntax.OpConcat}
		for range 2 + g.rnd.IntN(3) {
			re.Sub = append(re.Sub, sub())
		}
		return re
	}
}
