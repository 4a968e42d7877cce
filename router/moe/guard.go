package moe

import (
	"strings"
	"unicode/utf8"
)

// guardRune is inserted into control texts that occur in messages, so that they do not become
// control tokens: the rendered prompt is cut at these runes, and the pieces are tokenized
// separately. It is a noncharacter, which no text for interchange contains (Unicode 23.7). If a
// text contains it anyway, it is dropped.
const guardRune = "\U0001FFFE"

// guard breaks up the control texts of a vocabulary wherever they occur in text that does not come
// from the template.
type guard struct{ texts *strings.Replacer }

// newGuard returns a guard for the texts of all control tokens.
func newGuard(controls []string) *guard {
	pairs := []string{guardRune, ""}
	for _, c := range controls {
		if len(c) > 1 {
			_, size := utf8.DecodeRuneInString(c)
			pairs = append(pairs, c, c[:size]+guardRune+c[size:])
		}
	}
	return &guard{strings.NewReplacer(pairs...)}
}

// mark returns text with its control texts broken up.
func (g *guard) mark(text string) string { return g.texts.Replace(text) }

// pieces cuts a rendered prompt at the guard runes.
func pieces(prompt string) []string { return strings.Split(prompt, guardRune) }
