package edit

import (
	"fmt"
	"strings"
)

// inIndent is an exact match that begins behind the indentation of a line, or inside it: the first
// line of the old text was copied without all of its white space.
type inIndent struct {
	cut, full string   // the white space before the match, and the whole indentation of the line
	old, new  []string // the lines of both texts, the last one without its newline
	wholeEnd  bool     // the match ends at the end of a line
	closed    bool     // the old text ends with a newline
}

// atIndent describes the match of r.Old at a place of view; ok is false if it does not begin in an
// indentation.
func atIndent(view string, at int, r Replacement) (m inIndent, ok bool) {
	start := strings.LastIndexByte(view[:at], '\n') + 1
	old, new := splitBlock(r.Old), splitBlock(r.New)
	if start == at || indentOf(view[start:at]) != view[start:at] || allBlank(old.lines) {
		return m, false
	}
	m = inIndent{cut: view[start:at], old: old.lines, new: new.lines, closed: old.closed}
	m.full = m.cut + indentOf(old.lines[0])
	end := at + len(r.Old)
	m.wholeEnd = old.closed || end == len(view) || view[end] == '\n' || strings.HasPrefix(view[end:], crlf)
	return m, true
}

// read decides how the first line of the new text is indented: like the old text (relative), so
// that it goes behind the white space before the match, or like the file (absolute), so that it
// replaces that white space too.
func (m *inIndent) read() reading {
	switch {
	case len(m.new) == 0 && m.closed:
		return absolute // the line goes, and its white space with it
	case allBlank(m.new):
		return relative
	case blank(m.old[0]): // a line of white space only
		if !blank(m.new[0]) && indentOf(m.new[0]) != "" {
			return absolute
		}
		return relative
	}
	n, o := indentOf(m.new[0]), indentOf(m.old[0])
	if blank(m.new[0]) { // literally, the white space before the match would stay behind
		if m.wholeEnd && indentOf(m.new[firstLine(m.new)]) == m.full {
			return absolute
		}
		return unclear
	}
	switch {
	case directive(m.new[0]), n == "" && m.flattened():
		return unclear
	case n == o:
		return m.readRest()
	case n == m.full:
		return m.readFull()
	case !m.wholeEnd && len(m.old) == 1 && n == " ":
		return relative // a space inside a line
	}
	for i, j := len(m.old)-1, len(m.new)-1; i > 0 && j > 0 && trimLeft(m.old[i]) == trimLeft(m.new[j]); i, j = i-1, j-1 {
		if m.old[i] == m.new[j] && indentOf(m.old[i]) != "" {
			return absolute // the other lines of the new text are indented like the file
		}
	}
	return unclear
}

// readFull decides about a new text whose first line has the indentation of the file.
func (m *inIndent) readFull() reading {
	added := strings.TrimPrefix(m.full, indentOf(m.old[0]))
	moved := len(m.old) == len(m.new)
	for i := 0; moved && i < len(m.old); i++ {
		moved = trimLeft(m.old[i]) == trimLeft(m.new[i]) && (blank(m.old[i]) || indentOf(m.new[i]) == added+indentOf(m.old[i]))
	}
	if moved {
		return unclear // all lines move by what the first one lacks, if it lacks anything
	}
	return absolute
}

// readRest decides about a new text that begins like the old text. If that is a single line, it
// does not show whether the further new lines are indented like the file or lack white space as
// well.
func (m *inIndent) readRest() reading {
	if !m.single() || !m.wholeEnd {
		return relative
	}
	least, first := "", true
	for _, l := range m.new[1:] {
		if blank(l) {
			continue
		}
		if x := indentOf(l); first || len(x) < len(least) {
			least, first = x, false
		}
	}
	switch {
	case first:
		return relative
	case !strings.HasPrefix(least, m.full) || indentOf(m.old[0]) != "":
		return unclear
	case least == m.full && opens(m.new[0]) && indentOf(nextLine(m.new)) == m.full:
		return unclear // the next line is deeper than this one if it lacks white space
	}
	return relative
}

// much is by how much one way to write a new text must be likelier than another to count: the
// logarithm of a ratio.
const much = 2

// literally reports whether a new text of several lines for an old one of a single line fits the
// file as it is, and much better than with the white space before the match on each line.
func (t *target) literally(m inIndent, view string, at int) bool {
	if !m.single() || !m.wholeEnd || blank(m.new[0]) || indentOf(m.new[0]) != "" || indentOf(m.old[0]) != "" {
		return false
	}
	first := lineAt(view, at) - 1
	var asIs, shifted []line
	for i, l := range m.new {
		if i == 0 {
			l = m.cut + l
		}
		asIs = append(asIs, line{l, lf})
		if i > 0 && !blank(l) {
			l = m.cut + l
		}
		shifted = append(shifted, line{l, lf})
	}
	t.split()
	return t.likelier(first, min(len(t.lines), first+len(m.old)), asIs, shifted) > much
}

// likelyAtMargin reports whether a new text of several lines whose first line begins at the margin,
// and is another than that of the old text, fits the file much better there than behind the white
// space before the match.
func (t *target) likelyAtMargin(m inIndent, view string, at int) bool {
	if m.single() || len(m.new) == 0 || blank(m.new[0]) || indentOf(m.new[0]) != "" || blank(m.old[0]) || trimRight(m.new[0]) == trimRight(m.old[0]) {
		return false
	}
	first := lineAt(view, at) - 1
	here, there := make([]line, len(m.new)), make([]line, len(m.new))
	for i, l := range m.new {
		here[i], there[i] = line{l, lf}, line{l, lf}
	}
	there[0].text = m.cut + there[0].text
	t.split()
	return t.likelier(first, min(len(t.lines), first+len(m.old)), here, there) > much
}

// flattened reports whether the new text takes the indentation from the further lines of the old
// one that it keeps. Then its first line may be at the margin too.
func (m *inIndent) flattened() bool {
	kept, flat := 0, 0
	new := map[string]string{}
	for _, l := range m.new[1:] {
		new[trimLeft(l)] = indentOf(l)
	}
	for _, l := range m.old[1:] {
		if x, ok := new[trimLeft(l)]; ok && !blank(l) && indentOf(l) != "" {
			if kept++; x == "" {
				flat++
			}
		}
	}
	return kept > 0 && flat == kept
}

// single reports whether only the first line of the old text has words.
func (m *inIndent) single() bool { return allBlank(m.old[1:]) }

// opens reports whether a line is the head of a block.
func opens(l string) bool {
	l = trimRight(l)
	return l != "" && strings.IndexByte(`{([:>?=&|+-\`, l[len(l)-1]) >= 0
}

// nextLine returns the first line after the first one that is not blank.
func nextLine(ls []string) string {
	for _, l := range ls[1:] {
		if !blank(l) {
			return l
		}
	}
	return ""
}

// indentError refuses an edit whose first line is indented in an unclear way.
func (m *inIndent) indentError(line int) *Error {
	e := refuse(Indentation, fmt.Sprintf("the first line of the old text lacks indentation that it has in the file (line %d), and %s", line, twoReadings),
		"Repeat the edit with the full indentation of the file on every line of both texts")
	e.Lines = []int{line}
	return e
}
