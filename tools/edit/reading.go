package edit

import (
	"slices"
	"strings"
)

// reading is one way to understand the indentation of a new text whose old text was found only when
// indentation was ignored.
type reading int

const (
	unclear  reading = iota
	relative         // indented like the old text: both have the same slip
	absolute         // indented like the file: only the old text has the slip
)

// evidence counts what the lines of a new text say about its indentation. A line says something if
// the old text and the file indent its counterpart differently.
type evidence struct {
	relative, absolute int
	weak               bool // it is not enough on its own
}

// compare adds a line of the new text that is indented with n, where its counterpart is indented
// with o in the old text and with f in the file.
func (e *evidence) compare(n, o, f string) {
	switch {
	case o == f:
	case n == o:
		e.relative++
	case n == f:
		e.absolute++
	}
}

func (e evidence) plus(f evidence) evidence {
	return evidence{e.relative + f.relative, e.absolute + f.absolute, e.weak || f.weak}
}

// verdict returns the reading that all of the evidence supports.
func (e evidence) verdict() reading {
	switch {
	case e.weak:
	case e.relative > 0 && e.absolute == 0:
		return relative
	case e.absolute > 0 && e.relative == 0:
		return absolute
	}
	return unclear
}

// readText decides how the new text of a replacement is indented. The lines that both texts begin
// or end with are the best evidence, because nothing moves them. Without such lines, the first and
// the last line must both have a side, and all shared lines the same.
func readText(window []line, old, new []string) reading {
	if cut, n := firstCut(window, old), firstLine(new); cut && n >= 0 {
		return firstOf(window, old, new[n]).verdict()
	}
	a, b := numberWeakly(old, new)
	lead, tail := 0, 0
	for lead < min(len(a), len(b)) && a[lead] == b[lead] {
		lead++
	}
	for tail < min(len(a), len(b))-lead && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var before, after evidence
	for i := range lead {
		before.line(window[i], old[i], new[i])
	}
	for i := len(old) - tail; i < len(old); i++ {
		after.line(window[i], old[i], new[i+len(new)-len(old)])
	}
	if letters(strings.Join(old[:lead], "")) == 0 { // brackets alone are everywhere
		before = evidence{}
	}
	if letters(strings.Join(old[len(old)-tail:], "")) == 0 {
		after = evidence{}
	}
	middle := func() reading {
		o, n := old[lead:len(old)-tail], new[lead:len(new)-tail]
		if allBlank(o) {
			return readInserted(window, old, n, before == evidence{})
		}
		return readMiddle(window[lead:len(window)-tail], o, n)
	}
	switch how := before.plus(after).verdict(); {
	case before == evidence{} && after == evidence{}:
		return middle()
	case how == unclear || lead > 0 && tail > 0:
		return how
	default: // there are shared lines at one end only; those in the middle must not contradict them
		if m := middle(); m != how && m != unclear {
			return unclear
		}
		return how
	}
}

// allEvidence returns what all lines of a new text say together.
func allEvidence(window []line, old, new []string) (e evidence) {
	a, b := numberWeakly(old, new)
	for _, p := range diff(a, b) {
		e.line(window[p.a], old[p.a], new[p.b])
	}
	if i, j := firstLine(old), firstLine(new); i >= 0 && j >= 0 {
		e.line(window[i], old[i], new[j])
		i, j = lastLine(old), lastLine(new)
		e.line(window[i], old[i], new[j])
	}
	return e
}

// readMiddle decides by lines that are not the same in both texts at either end.
func readMiddle(window []line, old, new []string) reading {
	a, b := numberWeakly(old, new)
	var inner evidence
	for _, p := range diff(a, b) {
		inner.line(window[p.a], old[p.a], new[p.b])
	}
	i, j := firstLine(old), firstLine(new)
	if i < 0 || j < 0 {
		return inner.verdict()
	}
	ends := firstOf(window, old, new[j])
	i, j = lastLine(old), lastLine(new)
	ends.line(window[i], old[i], new[j])
	if ends.relative+ends.absolute < 2 && inner == (evidence{}) {
		return unclear
	}
	return inner.plus(ends).verdict()
}

// readInserted decides by lines that only the new text has, before or after all that it shares with
// the old one: they are compared with the first or last line of that.
func readInserted(window []line, old, added []string, before bool) reading {
	i, j := firstLine(old), firstLine(added)
	if !before {
		i, j = lastLine(old), lastLine(added)
	}
	var e evidence
	if i >= 0 && j >= 0 {
		e.line(window[i], old[i], added[j])
	}
	return e.verdict()
}

// line adds a line of the new text and its counterpart.
func (e *evidence) line(window line, old, new string) {
	if !blank(old) && !blank(new) && !directive(new) {
		e.compare(indentOf(new), indentOf(old), indentOf(window.text))
	}
}

// directive reports whether a line is for the preprocessor of C: those stand at the margin, however
// deep the code around them is.
func directive(l string) bool {
	word, ok := strings.CutPrefix(l, "#")
	if !ok {
		return false
	}
	for _, d := range [...]string{"if", "ifdef", "ifndef", "else", "elif", "endif", "define", "undef", "include", "pragma", "error"} {
		if rest, ok := strings.CutPrefix(word, d); ok && (rest == "" || isSpace(rest[0])) {
			return true
		}
	}
	return false
}

// firstOf returns the evidence of the first line of a new text.
func firstOf(window []line, old []string, new string) (e evidence) {
	if i := firstLine(old); i >= 0 {
		e.line(window[i], old[i], new)
	}
	return e
}

// firstCut reports whether the first line of an old text lost indentation, and only that line.
func firstCut(window []line, old []string) bool {
	differ, others := 0, 0
	for i, o := range old {
		switch {
		case blank(o):
		case indentOf(o) == indentOf(window[i].text):
			others++
		case differ > 0 || others > 0:
			return false
		default:
			differ++
		}
	}
	return differ > 0 && others > 0
}

// firstLine and lastLine return the index of the first and last line that is not blank, or -1.
func firstLine(ls []string) int {
	return slices.IndexFunc(ls, func(l string) bool { return !blank(l) })
}

func lastLine(ls []string) int {
	for i, l := range slices.Backward(ls) {
		if !blank(l) {
			return i
		}
	}
	return -1
}

// numberWeakly numbers the lines of two texts so that lines that differ in white space and
// typographic punctuation only have the same number.
func numberWeakly(old, new []string) (a, b []int32) {
	in := interner{}
	number := func(ls []string) []int32 {
		out := make([]int32, len(ls))
		for i, l := range ls {
			out[i] = in.number(weakKey(l))
		}
		return out
	}
	return number(old), number(new)
}

// readHunk decides how the new lines of a hunk are indented. Context lines stand for both sides, so
// the removed lines that the new ones replace are the evidence; new lines that replace nothing are
// compared with the lines before and after them.
func readHunk(window []line, p *placement) (e evidence) {
	at := 0 // the next old line
	for k := 0; k < len(p.steps); {
		if s := p.steps[k]; s.old >= 0 && s.new >= 0 {
			at = s.old + 1
			k++
			continue
		}
		from := at
		var added []string
		for ; k < len(p.steps) && (p.steps[k].old < 0 || p.steps[k].new < 0); k++ {
			if s := p.steps[k]; s.old >= 0 {
				at = s.old + 1
			} else {
				added = append(added, p.new[s.new])
			}
		}
		e.run(window, p.old, from, at, added)
	}
	return e
}

// run adds the new lines that stand in place of old lines from to to.
func (e *evidence) run(window []line, old []string, from, to int, added []string) {
	first, last := firstLine(added), lastLine(added)
	if first < 0 {
		return
	}
	if removed := old[from:to]; !allBlank(removed) {
		for i, l := range removed {
			if indentOf(l) == indentOf(window[from+i].text) && indentOf(l) != "" {
				e.absolute++ // the removed lines are indented as in the file, and so are the new ones
			}
		}
		e.unlessSame(window[from+firstLine(removed)], removed[firstLine(removed)], added[first])
		e.unlessSame(window[from+lastLine(removed)], removed[lastLine(removed)], added[last])
		return
	}
	for from--; from >= 0 && blank(old[from]); from-- {
	}
	for to < len(old) && blank(old[to]) {
		to++
	}
	var around evidence
	sides := 0
	for _, i := range []int{from, to} {
		if i < 0 || i == len(old) {
			continue
		}
		was := around
		around.line(window[i], old[i], added[first])
		around.line(window[i], old[i], added[last])
		if around != was {
			sides++
		}
	}
	if how := around.verdict(); sides < 2 || how == unclear {
		e.weak = true
	}
	*e = e.plus(around)
}

// unlessSame adds a new line and the removed line in its place. If they are the same line, the hunk
// moves it or leaves it alone, and it says nothing.
func (e *evidence) unlessSame(window line, removed, added string) {
	switch {
	case weakKey(removed) != weakKey(added):
		e.line(window, removed, added)
	case indentOf(removed) == indentOf(added) && indentOf(added) != indentOf(window.text):
		e.weak = true // the hunk leaves it alone, or takes it to where the old line seems to be
	}
}

// lostIndent reports whether old lines differ from the file as lines do that lost their
// indentation: all in the way that in explains, or some of them completely or by the same white
// space. If only lines of brackets do, a line may be missing instead.
func lostIndent(in *indents, window []line, old []string) bool {
	if in.clear() {
		return true
	}
	words, lost := 0, ""
	for i, o := range old {
		f, x := indentOf(window[i].text), indentOf(o)
		if blank(o) || f == x {
			continue
		}
		words += letters(o)
		if x == "" {
			continue
		}
		if !strings.HasSuffix(f, x) || lost != "" && f != lost+x {
			return false
		}
		lost = f[:len(f)-len(x)]
	}
	return words >= minWordLine
}

// asInFile returns the old lines with the indentation that they have in the file.
func asInFile(window []line, old []string) []string {
	out := make([]string, len(old))
	for i, o := range old {
		if out[i] = o; !blank(o) {
			out[i] = indentOf(window[i].text) + trimLeft(o)
		}
	}
	return out
}

// indented returns the level at which lines with the indentation of the file match, if they match
// at l with another.
func (l level) indented() level {
	if l == levelTrimPunct {
		return levelRightPunct
	}
	return levelRight
}

// minLikelier is by how much one reading must be likelier than the other to be chosen for that: the
// logarithm of a ratio.
const minLikelier = 6

// settleReading renders the new lines of a window as the reading says. If that is unclear, both
// readings must come to the same, or one must indent the lines as the file usually does and the
// other must not. The window is lines i to end of the file; all is the evidence of all lines, which
// must not contradict the choice.
func (t *target) settleReading(how reading, all evidence, i, end int, render func(reading) ([]line, *Error)) ([]line, *Error) {
	if how != unclear {
		return render(how)
	}
	out, err := render(relative)
	other, otherErr := render(absolute)
	switch {
	case err != nil && otherErr != nil:
		return nil, err
	case err != nil || otherErr != nil:
		return nil, unclearIndent(i+1, twoReadings)
	case sameLines(out, other):
		return out, nil
	case !t.knows(i, end, out) && !t.knows(i, end, other):
		return nil, unclearIndent(i+1, twoReadings)
	}
	all.weak = false
	if all.relative > 1 && all.absolute > 1 {
		return nil, unclearIndent(i+1, twoReadings)
	}
	switch d := t.likelier(i, end, out, other); {
	case d > minLikelier && all.verdict() != absolute:
		return out, nil
	case d < -minLikelier && all.verdict() != relative:
		return other, nil
	}
	return nil, unclearIndent(i+1, twoReadings)
}

// knows reports whether the window of lines i to end, or a line next to it, has an indentation of
// the given lines.
func (t *target) knows(i, end int, ls []line) bool {
	have := map[string]bool{}
	for _, l := range t.lines[max(0, i-1):min(len(t.lines), end+1)] {
		have[indentOf(l.text)] = have[indentOf(l.text)] || !blank(l.text)
	}
	return slices.ContainsFunc(ls, func(l line) bool { return !blank(l.text) && have[indentOf(l.text)] })
}

// likelier returns by how much lines a are likelier than lines b in place of lines i to end.
func (t *target) likelier(i, end int, a, b []line) float64 {
	if t.shapes == nil {
		t.shapes = learnShapes(t.lines, t.habits(nil))
	}
	around := func(ls []line) []line {
		return slices.Concat(t.lines[max(0, i-3):i], ls, t.lines[end:min(len(t.lines), end+3)])
	}
	return t.shapes.likelihood(around(a)) - t.shapes.likelihood(around(b))
}

// setIndent prepares the renderer for a match that ignores indentation; ok is false if the
// indentation of the old lines does not come from a slip.
func (r *renderer) setIndent(how reading, in *indents) (ok bool) {
	if how == absolute {
		ok = lostIndent(in, r.window, r.old)
		r.old, r.level = asInFile(r.window, r.old), r.level.indented()
		return ok
	}
	r.indent = in
	return in.clear()
}

// scattered reports whether no rule explains how the old lines lost their indentation, so that no
// rule can give it to the new lines either.
func (in *indents) scattered() bool { return in.rule == nil }

// readScattered decides about new lines next to old lines with a scattered loss of indentation: if
// they have any, and none is indented like the old text, they did not suffer the same. Lines of
// which two levels were lost completely show that the slip leaves no line any indentation.
func (in *indents) readScattered(e evidence, new []string) reading {
	if allBlank(new) {
		return absolute // nothing is to be indented
	}
	if !slices.ContainsFunc(new, func(l string) bool { return !blank(l) && indentOf(l) != "" }) {
		return unclear
	}
	flat, levels := true, map[string]bool{}
	for _, s := range in.seen {
		if flat = flat && s.model == ""; s.file != "" {
			levels[s.file] = true
		}
	}
	switch {
	case flat && len(levels) > 1:
		return absolute
	case e.relative > 0, e.absolute == 0 && !flat:
		return unclear
	}
	return absolute
}

// lostMarker reports whether the old lines that differ lack one space, as context lines without
// their marker do, and no new line seems to lack it too.
func (in *indents) lostMarker(added []string) bool {
	have := map[string]bool{}
	lost := false
	for _, s := range in.seen {
		have[s.file] = true
		if s.model != s.file {
			if lost = true; s.file != " "+s.model {
				return false
			}
		}
	}
	return lost && !slices.ContainsFunc(added, func(l string) bool {
		n := indentOf(l)
		return !blank(l) && !have[n] && have[" "+n]
	})
}
