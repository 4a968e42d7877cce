package moe

import (
	"strings"
	"unicode/utf8"
)

// guardRune is put into control texts that stand in messages, so that they do not become control
// tokens: the prompt is cut there after it was rendered, and the pieces are tokenized apart. It is
// a noncharacter, which no text for interchange holds (Unicode 23.7); should one hold it all the
// same, it is dropped.
const guardRune = "\U0001FFFE"

// guard breaks the control texts of a vocabulary wherever they stand in text that is not the
// template's own.
type guard struct{ texts *strings.Replacer }

// newGuard takes the texts of all control tokens.
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

// mark returns text with its control texts broken.
func (g *guard) mark(text string) string { return g.texts.Replace(text) }

// pieces cuts a rendered prompt at the marks.
func pieces(prompt string) []string { return strings.Split(prompt, guardRune) }
