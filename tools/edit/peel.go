package edit

import "strings"

// borders records at which ends blank lines were peeled off. The rest of the text must be at a line
// boundary there; otherwise the peeled text could match in the middle of a line.
type borders struct{ head, tail bool }

func (p borders) any() bool { return p.head || p.tail }

// filter keeps the places at which old is at a line boundary wherever it was peeled.
func (p borders) filter(s, old string, at []int) []int {
	out := at[:0]
	for _, i := range at {
		end := i + len(old)
		if p.head && i > 0 && s[i-1] != '\n' || p.tail && end < len(s) && s[end] != '\n' {
			continue
		}
		out = append(out, i)
	}
	return out
}

// peel removes the blank lines that both texts begin with, and those that both end with. It never
// removes the text of old itself.
func peel(r Replacement) (Replacement, borders) {
	var p borders
	if blank(strings.ReplaceAll(r.Old, lf, "")) {
		return r, p
	}
	for {
		o, ok := cutBlankHead(r.Old)
		n, ok2 := cutBlankHead(r.New)
		if !ok || !ok2 {
			break
		}
		r.Old, r.New, p.head = o, n, true
	}
	for {
		o, ok := cutBlankTail(r.Old)
		n, ok2 := cutBlankTail(r.New)
		if !ok || !ok2 {
			break
		}
		r.Old, r.New, p.tail = o, n, true
	}
	return r, p
}

func cutBlankHead(s string) (string, bool) {
	i := strings.IndexByte(s, '\n')
	if i < 0 || !blank(s[:i]) {
		return s, false
	}
	return s[i+1:], true
}

func cutBlankTail(s string) (string, bool) {
	i := strings.LastIndexByte(s, '\n')
	if i < 0 || !blank(s[i+1:]) {
		return s, false
	}
	return s[:i], true
}

// withBorders looks for a place where an old text matches with its blank lines, but not exactly. at
// is the line where peeled, the text without them, matches exactly. It returns the line of another
// place, or 0.
func (t *target) withBorders(old, peeled string, at int) int {
	head := strings.Count(old[:strings.Index(old, peeled)], lf)
	for _, i := range windows(levelTrimPunct, t.split(), splitBlock(old).lines) {
		if i+head+1 != at {
			return i + head + 1
		}
	}
	return 0
}

func allBlank(ls []string) bool {
	for _, l := range ls {
		if !blank(l) {
			return false
		}
	}
	return true
}
