package agent

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text for a person who decides by it, such as a command or a path that a model
// wrote. Whatever a terminal or a viewer would not show, or would obey, is written out: control
// characters, and so escape sequences; characters that reorder or join others; invisible ones;
// spaces that are not the usual one; and marks that would be drawn over other lines. U+202E becomes
// "<U+202E>", a byte that is not UTF-8 "<0x9B>". Line feeds and tabs stay, and a carriage return
// before a line feed is dropped.
func Visible(text string) string {
	if strings.IndexFunc(text, unusual) < 0 && utf8.ValidString(text) {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	marks := maxMarks // in a row; none may begin a line
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if !unicode.IsMark(r) {
			marks = 0
		}
		if marks++; r == '\n' || r == '\t' {
			marks = maxMarks
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", text[0])
		case hidden(r), unicode.IsMark(r) && marks > maxMarks:
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// maxMarks is the most marks that follow a letter: no script needs more.
const maxMarks = 4

// unusual reports whether a text with this character is looked at more closely.
func unusual(r rune) bool { return r >= 0x7f && (hidden(r) || unicode.IsMark(r)) || hidden(r) }

// hidden reports whether a character is not seen as itself. Letters, marks, numbers, punctuation
// and symbols are, except for those that are drawn as nothing.
func hidden(r rune) bool {
	if r >= ' ' && r < 0x7f || r == '\n' || r == '\t' {
		return false
	}
	return !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x2800
}

// visible returns the description with all texts that are shown; Exact is compared, not shown.
func (d CallDescription) visible() CallDescription {
	d.Title, d.Detail, d.Where = visibleLine(d.Title), Visible(d.Detail), visibleLine(d.Where)
	return d
}

// visibleLine is Visible for a text that is one line, so that none of it looks like another line.
func visibleLine(text string) string {
	return strings.ReplaceAll(Visible(strings.TrimRight(text, "\r\n")), "\n", "<U+000A>")
}
