package edit

import (
	"fmt"
	"slices"
)

// levelWords describes what each level ignores, for notes and errors.
var levelWords = [levels]string{"", "ignoring white space at line ends", "ignoring typographic punctuation",
	"ignoring indentation", "ignoring indentation and typographic punctuation"}

// byLines finds the old text as a run of whole lines, with increasingly weak definitions of "the
// same line".
func (t *target) byLines(r Replacement) (*found, error) {
	old, new, note := matchEnds(splitBlock(r.Old), splitBlock(r.New))
	if allBlank(old.lines) {
		return nil, nil
	}
	l, at := t.strongest(old.lines)
	if len(at) == 0 {
		return nil, nil
	}
	if len(at) > 1 && !r.All {
		return nil, ambiguousAt(lineNumbers(at), " "+levelWords[l])
	}
	if l >= levelTrim && !r.All {
		if other := t.rival(old.lines, at[0]); other > 0 {
			return nil, rivalry(at[0]+1, other)
		}
	}
	f := &found{strategy: levelNames[l]}
	if l > levelExact {
		f.notes = append(f.notes, "matched "+levelWords[l]+"; lines that did not change were kept as they are in the file")
	}
	if note != "" {
		f.notes = append(f.notes, note)
	}
	if note != "" && l > levelExact && t.blankAfter(at[0]+len(old.lines)) {
		return nil, lostNewline(at[0] + len(old.lines))
	}
	off, line := 0, 0
	for _, i := range apart(at, len(old.lines)) {
		off += sizeOf(t.lines[line:i])
		line = i
		c, err := t.rewrite(l, i, off, old.lines, new.lines)
		if err != nil {
			return nil, err
		}
		f.changes = append(f.changes, c)
	}
	return f, nil
}

// matchEnds makes both texts end the same way, so that the following steps deal with whole lines.
// The file keeps the newline after the last old line.
func matchEnds(old, new block) (block, block, string) {
	switch {
	case old.closed && !new.closed:
		return old, new, "the new text lacks the newline that the old text ends with; it was added"
	case !old.closed && new.closed:
		new.lines = append(new.lines[:len(new.lines):len(new.lines)], "")
	}
	return old, new, ""
}

// blankAfter reports whether line i of the file is blank.
func (t *target) blankAfter(i int) bool { return i < len(t.lines) && blank(t.lines[i].text) }

// lostNewline refuses an edit that either lacks a newline or is meant to remove a blank line.
func lostNewline(at int) *Error {
	e := refuse(Ambiguous, fmt.Sprintf("the old text ends with a newline and the new text does not, so it is unclear whether the blank line %d of the file should go", at+1),
		"End both texts with a newline, or neither")
	e.Lines = []int{at + 1}
	return e
}

func lineNumbers(at []int) []int {
	out := make([]int, len(at))
	for k, i := range at {
		out[k] = i + 1
	}
	return out
}

// rewrite returns the change that puts the new lines in place of the window that begins at line i
// and byte off.
func (t *target) rewrite(l level, i, off int, old, new []string) (change, error) {
	window := t.lines[i : i+len(old)]
	how := relative
	var in *indents
	var all evidence
	if l >= levelTrim {
		if in = newIndents(window, old, new, t.habits(window)); !in.scattered() {
			how = readText(window, old, new)
		}
		if in.scattered() || how == unclear {
			all = allEvidence(window, old, new)
		}
		if in.scattered() {
			how = in.readScattered(all, new)
		}
	}
	if l == levelRightPunct || l == levelTrimPunct {
		if r := prettified(window, old, newLines(old, new)); r != 0 {
			return change{}, prettyError(i+1, r)
		}
	}
	out, err := t.settleReading(how, all, i, i+len(old), func(how reading) ([]line, *Error) { return t.renderAs(how, in, l, i, old, new) })
	if err != nil {
		return change{}, err
	}
	return change{off, off + sizeOf(window), join(out)}, nil
}

// newLines returns the lines of a new text that the old one does not have.
func newLines(old, new []string) []string {
	has := map[string]bool{}
	for _, o := range old {
		has[trimLeft(trimRight(o))] = true
	}
	return slices.DeleteFunc(slices.Clone(new), func(l string) bool { return has[trimLeft(trimRight(l))] })
}

// renderAs returns the lines that replace the window at line i if the new text is read as how says.
func (t *target) renderAs(how reading, in *indents, l level, i int, old, new []string) ([]line, *Error) {
	window := t.lines[i : i+len(old)]
	r := &renderer{window: window, old: old, new: new, level: l, eol: t.eol}
	if l >= levelTrim && !r.setIndent(how, in) {
		return nil, unclearIndent(i+1, oddIndent)
	}
	early, late := alignments(r.old, new)
	out, bad := r.render(script(early, len(old), len(new)))
	if bad >= 0 {
		return nil, unclearIndent(i+1, cannotIndent(new[bad]))
	}
	if late != nil && l >= levelRightPunct {
		other, bad := r.render(script(late, len(old), len(new)))
		if bad >= 0 || !sameLines(out, other) {
			return nil, unclearIndent(i+1, "which of the repeated lines of the new text are the old ones cannot be told")
		}
	}
	return out, nil
}

// habits returns how the file is indented, as it applies to one of its windows.
func (t *target) habits(window []line) fileUnit {
	if t.unit == nil {
		u := unitOf(t.lines)
		t.unit = &u
	}
	u := *t.unit
	if c := indentChar(window, true); c != 0 && c != u.char {
		u = fileUnit{char: c} // a window with the other indent character; the width of its steps is unknown
	}
	return u
}

func sameLines(a, b []line) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(levelRight, a[i].text, b[i].text) {
			return false
		}
	}
	return true
}

// oddIndent, twoReadings and cannotIndent explain why an indentation is unclear.
const (
	oddIndent   = "the lines of the old text are not all indented less or more than there in the same way"
	twoReadings = "the new text may be indented like the old text or like the file"
)

func cannotIndent(text string) string {
	return "how to indent this new line cannot be told: " + visible(text)
}

func unclearIndent(at int, why string) *Error {
	e := refuse(Indentation, fmt.Sprintf("the old text matches at line %d only when indentation is ignored, and %s", at, why),
		"Copy the lines with the exact indentation of the file and send the edit again")
	e.Lines = []int{at}
	return e
}
