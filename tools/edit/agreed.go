package edit

import "slices"

// Limits for recognising an old text that is wrong in one line.
const (
	maxOff      = 3  // letters by which the line may differ
	minWitness  = 2  // lines with words in them that must match
	maxNearly   = 64 // maximum number of places examined
	minWordLine = 4  // minimum letters in a line that says anything about the place
)

// agreed finds an old text that differs from the file in one line, if the new text has that line as
// it is in the file. This is not a guess at what a slip was meant to be: the new text itself quotes
// the line correctly. So old text, file and new text make a three-way merge in which file and new
// text agree, and the old text's version does not matter. The line is kept. If the wrong line of
// the old text is kept or rewritten by the new text, the edit is never accepted: somebody else may
// have changed that line.
func (t *target) agreed(r Replacement) (*found, error) {
	p, _ := peel(r)
	old, new, note := matchEnds(splitBlock(p.Old), splitBlock(p.New))
	if r.All || len(old.lines) <= minWitness {
		return nil, nil
	}
	start, off, ok := t.nearly(old.lines)
	if !ok {
		return nil, nil
	}
	kept, ok := agreement(old.lines, new.lines, t.lines[start+off].text, off)
	if !ok || t.elsewhere(old.lines[off]) {
		return nil, nil
	}
	window := t.lines[start : start+len(old.lines)]
	rd := &renderer{window: window, old: old.lines, new: new.lines, level: levelRight, eol: t.eol}
	out, _ := rd.render(script(kept, len(old.lines), len(new.lines)))
	a := sizeOf(t.lines[:start])
	f := &found{strategy: "agreed", changes: []change{{a, a + sizeOf(window), join(out)}}}
	f.notes = append(f.notes, "one line of the old text was not as in the file; the new text has it as in the file, so it was left alone: "+
		visible(t.lines[start+off].text))
	if note != "" {
		f.notes = append(f.notes, note)
	}
	return f, nil
}

// nearly finds the only window in which exactly one line differs, and that line. In any such window
// one half of the text matches completely, so nearly searches for the halves.
func (t *target) nearly(old []string) (start, off int, ok bool) {
	h := len(old) / 2
	at := windows(levelRight, t.split(), old[:h])
	for _, i := range windows(levelRight, t.lines, old[h:]) {
		if i >= h {
			at = append(at, i-h)
		}
	}
	slices.Sort(at)
	if at = slices.Compact(at); len(at) > maxNearly {
		return 0, 0, false
	}
	for _, s := range at {
		if s+len(old) > len(t.lines) {
			continue
		}
		i, words, single := onlyDifference(t.lines[s:s+len(old)], old)
		if !single {
			continue
		}
		if ok || words < minWitness {
			return 0, 0, false
		}
		start, off, ok = s, i, true
	}
	return start, off, ok
}

// onlyDifference returns the line in which a window differs from old, if it is the only one, and
// the number of other lines that contain words.
func onlyDifference(window []line, old []string) (off, words int, single bool) {
	off = -1
	for i, o := range old {
		switch {
		case same(levelRight, o, window[i].text):
			if letters(o) >= minWordLine {
				words++
			}
		case off >= 0:
			return 0, 0, false
		default:
			off = i
		}
	}
	return off, words, off >= 0
}

func letters(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if c := s[i] | 0x20; c >= 'a' && c <= 'z' || c >= 0x80 {
			n++
		}
	}
	return n
}

// agreement aligns old and new. It then adds a pair for line off of old: the new text drops that
// line, and replaces it with a single line that equals the file's.
func agreement(old, new []string, file string, off int) ([]pair, bool) {
	if letters(file) < minWordLine || !within(old[off], file, maxOff) {
		return nil, false
	}
	kept, _ := alignments(old, new)
	k, isKept := slices.BinarySearchFunc(kept, off, func(p pair, i int) int { return p.a - i })
	if isKept { // the new text keeps the line of the old text
		return nil, false
	}
	from, to := 0, len(new)
	if k > 0 {
		from = kept[k-1].b + 1
	}
	if k < len(kept) {
		to = kept[k].b
	}
	line := -1
	for j := from; j < to; j++ {
		if same(levelRight, new[j], file) {
			if line >= 0 {
				return nil, false
			}
			line = j
		}
	}
	if line < 0 {
		return nil, false
	}
	return slices.Insert(kept, k, pair{off, line}), true
}

// elsewhere reports whether the old text's version of the line is in the file: if so, the old text
// may refer to that place.
func (t *target) elsewhere(l string) bool {
	return slices.ContainsFunc(t.lines, func(f line) bool { return same(levelTrimPunct, f.text, l) })
}

// within reports whether at most n insertions, deletions and replacements of letters turn a into b.
func within(a, b string, n int) bool {
	head := commonPrefix(a, b)
	a, b = a[head:], b[head:]
	tail := commonSuffix(a, b)
	x, y := []rune(a[:len(a)-tail]), []rune(b[:len(b)-tail])
	if len(x) > 8*n || len(y) > 8*n {
		return false
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diag := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diag
			if x[i] != y[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)] <= n
}
