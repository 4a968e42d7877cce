package edit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// step is one step of an edit script: old is a line of the old text, new a line of the new text, or
// -1 for none. With both set the line is kept, with only old it is deleted, with only new it is
// inserted.
type step struct{ old, new int }

// script converts an alignment to steps. Between kept lines the deletions come before the
// insertions.
func script(kept []pair, nOld, nNew int) []step {
	out := make([]step, 0, max(nOld, nNew)+4)
	o, n := 0, 0
	for _, p := range append(kept, pair{nOld, nNew}) {
		for ; o < p.a; o++ {
			out = append(out, step{o, -1})
		}
		for ; n < p.b; n++ {
			out = append(out, step{-1, n})
		}
		if p.a < nOld || p.b < nNew {
			out = append(out, step{p.a, p.b})
			o, n = p.a+1, p.b+1
		}
	}
	return out
}

// renderer writes the new text over one window of the file.
type renderer struct {
	window   []line // the matched lines
	old, new []string
	level    level
	eol      string // for a new line without a neighbour whose line ending it could take
	indent   *indents
}

// render executes the steps. Kept lines are copied from the file byte for byte; the indentation of
// the others is translated. It fails at the first line (of the new text) whose indentation cannot
// be determined.
func (r *renderer) render(steps []step) (out []line, failed int) {
	at := 0 // the next line of the window
	for i := 0; i < len(steps); {
		s := steps[i]
		if s.old >= 0 && s.new >= 0 {
			out = append(out, r.window[s.old])
			at = s.old + 1
			i++
			continue
		}
		dels, inss := 0, 0
		for ; i < len(steps) && steps[i].new < 0; i++ {
			dels++
		}
		for ; i < len(steps) && steps[i].old < 0 && steps[i].new >= 0; i++ {
			inss++
		}
		var bad int
		if out, bad = r.replaceRun(out, at, dels, steps[i-inss:i]); bad >= 0 {
			return nil, bad
		}
		at += dels
	}
	return r.closeEnds(out), -1
}

// replaceRun writes a run of new lines in place of dels lines of the window.
func (r *renderer) replaceRun(out []line, at, dels int, inserted []step) ([]line, int) {
	for k, s := range inserted {
		text := r.new[s.new]
		paired := dels == len(inserted)
		switch {
		case text == "":
		case blank(text) && r.level >= levelTrim: // white space on a blank line is not worth a refusal
			text, _ = r.indent.translate(indentOf(text), place{at: at, run: len(inserted), first: s.new == 0})
		case r.level >= levelTrim:
			x := indentOf(text)
			y, ok := r.indent.translate(x, place{at: at, run: len(inserted), first: s.new == 0, margin: directive(text)})
			if paired && x == indentOf(r.old[at+k]) && !blank(r.old[at+k]) {
				y, ok = indentOf(r.window[at+k].text), true
			}
			if !ok {
				return nil, s.new
			}
			text = y + text[len(x):]
		}
		if paired && (r.level == levelRightPunct || r.level == levelTrimPunct) {
			text = keepPunct(r.old[at+k], r.window[at+k].text, r.new[s.new], text)
		}
		near := at - 1
		if paired {
			near = at + k
		}
		out = append(out, line{text, r.eolAt(near)})
	}
	return out, -1
}

// eolAt returns the line ending of line i of the window, or of the nearest line that has one.
func (r *renderer) eolAt(i int) string {
	i = max(i, 0)
	if i < len(r.window) && r.window[i].eol != "" {
		return r.window[i].eol
	}
	if i > 0 && i-1 < len(r.window) {
		return r.window[i-1].eol
	}
	return r.eol
}

// closeEnds ensures that every line except the last has a line ending, and that the last has one if
// the window had.
func (r *renderer) closeEnds(out []line) []line {
	if len(out) == 0 {
		return out
	}
	for i := range out[:len(out)-1] {
		if out[i].eol == "" {
			out[i].eol = r.eol
		}
	}
	last := &out[len(out)-1]
	switch {
	case len(r.window) > 0 && r.window[len(r.window)-1].eol == "":
		last.eol = ""
	case last.eol == "":
		last.eol = r.eol
	}
	return out
}

// commonPrefix and commonSuffix return lengths in bytes that end between characters.
func commonPrefix(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && (i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i])) {
		i--
	}
	return i
}

func commonSuffix(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	for i > 0 && !utf8.RuneStart(a[len(a)-i]) {
		i--
	}
	return i
}

// foldedPrefix returns the length of the prefix of f that folds to the same as s.
func foldedPrefix(s, f string) (int, bool) {
	want := fold(s)
	i := 0
	for want != "" {
		r, n := utf8.DecodeRuneInString(f[i:])
		got, ok := foldRune(r)
		if !ok {
			got = f[i : i+n]
		}
		if n == 0 || !strings.HasPrefix(want, got) {
			return 0, false
		}
		want, i = want[len(got):], i+n
	}
	return i, true
}

// foldedSuffix returns the length of the suffix of f that folds to the same as s.
func foldedSuffix(s, f string) (int, bool) {
	want := fold(s)
	i := len(f)
	for want != "" {
		r, n := utf8.DecodeLastRuneInString(f[:i])
		got, ok := foldRune(r)
		if !ok {
			got = f[i-n : i]
		}
		if n == 0 || !strings.HasSuffix(want, got) {
			return 0, false
		}
		want, i = want[:len(want)-len(got)], i-n
	}
	return len(f) - i, true
}

// alignments returns the earliest and the latest of the best alignments of two texts. If they
// differ, the new text repeats lines of the old one, and it is unknown which of the repeats are the
// old lines.
func alignments(old, new []string) (early, late []pair) {
	in := interner{}
	a, b := in.numberLines(old), in.numberLines(new)
	early = diff(a, b)
	late = diffLate(a, b)
	if slices.Equal(early, late) {
		late = nil
	}
	return early, late
}
