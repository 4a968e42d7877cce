package edit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// level is the degree to which two lines may differ and still count as the same line. The levels
// are in the order in which they are tried; the last allows everything that any other does.
type level int

const (
	levelExact      level = iota // only the line ending
	levelRight                   // trailing white space
	levelRightPunct              // trailing white space, and Unicode look-alikes of punctuation
	levelTrim                    // leading and trailing white space
	levelTrimPunct               // leading and trailing white space, and Unicode look-alikes of punctuation
	levels
)

var levelNames = [levels]string{"exact", "trailing-space", "punctuation", "indentation", "indentation+punctuation"}

// strip removes the white space that level l ignores from a line.
func (l level) strip(s string) string {
	switch l {
	case levelExact:
		return s
	case levelRight, levelRightPunct:
		return trimRight(s)
	}
	return trimLeft(trimRight(s))
}

// alike compares two lines that were processed by strip.
func (l level) alike(a, b string) bool {
	if a == b {
		return true
	}
	if l != levelRightPunct && l != levelTrimPunct || sureDifferent(a, b) {
		return false
	}
	return l.strip(fold(a)) == l.strip(fold(b))
}

// same reports whether a and b are the same line at level l. At every level this is an equivalence
// relation, which the window search relies on.
func same(l level, a, b string) bool { return a == b || l.alike(l.strip(a), l.strip(b)) }

// sureDifferent reports whether the first difference between a and b is in bytes that are ASCII on
// both sides, which no folding can make equal. It decides nearly every comparison of two different
// lines without folding either.
func sureDifferent(a, b string) bool {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i < n && !isSpace(a[i]) && !isSpace(b[i]) {
		return a[i] < utf8.RuneSelf && b[i] < utf8.RuneSelf
	}
	if i == n && len(a) != len(b) {
		if c := (a[i:] + b[i:])[0]; !isSpace(c) { // one of the two is empty, so nothing is copied
			return c < utf8.RuneSelf
		}
	}
	return isASCII(a[i:]) && isASCII(b[i:])
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// fold replaces typographic look-alikes and invisible spaces with the ASCII characters that they
// look like. Models normalise them away when they copy text.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if f, ok := foldRune(r); ok {
			b.WriteString(f)
		} else {
			b.WriteString(s[i : i+n]) // a byte that is not UTF-8 is kept
		}
		i += n
	}
	return b.String()
}

func foldable(r rune) bool {
	_, ok := foldRune(r)
	return ok
}

// foldRune returns the ASCII look-alike of r. The list is deliberately short: only characters that
// editors and models use instead of ASCII punctuation, never letters.
func foldRune(r rune) (string, bool) {
	switch r {
	case '‘', '’', '‚', '‛', '′':
		return "'", true
	case '“', '”', '„', '‟', '″':
		return `"`, true
	case '‐', '‑', '‒', '–', '—', '―', '−', '﹣', '－':
		return "-", true
	case '…':
		return "...", true
	case '\u00a0', '\u202f', '\u205f', '\u3000':
		return " ", true
	case '\u200b', '\u2060', '\ufeff':
		return "", true
	}
	if r >= '\u2000' && r <= '\u200a' {
		return " ", true
	}
	return "", false
}

// windows finds every position in file where the lines of pat occur, in order, at level l. It is
// the Knuth–Morris–Pratt search over lines instead of letters, so that files with many equal lines
// stay linear.
func windows(l level, file []line, pat []string) []int {
	if len(pat) == 0 || len(pat) > len(file) {
		return nil
	}
	pat = slices.Clone(pat)
	for i := range pat {
		pat[i] = l.strip(pat[i])
	}
	fail := make([]int, len(pat))
	for i, k := 1, 0; i < len(pat); i++ {
		for k > 0 && !l.alike(pat[i], pat[k]) {
			k = fail[k-1]
		}
		if l.alike(pat[i], pat[k]) {
			k++
		}
		fail[i] = k
	}
	var out []int
	k := 0
	for i := range file {
		s := l.strip(file[i].text)
		for k > 0 && !l.alike(s, pat[k]) {
			k = fail[k-1]
		}
		if l.alike(s, pat[k]) {
			k++
		}
		if k == len(pat) {
			out = append(out, i+1-k)
			k = fail[k-1]
		}
	}
	return out
}

// strongest finds the positions of pat at the first level that has any. Finding several is an
// answer too: the caller must not go on to a weaker level to get rid of them.
func (t *target) strongest(pat []string) (level, []int) {
	file := t.split()
	at, known := t.lookup(pat)
	if !known {
		at = windows(levelTrimPunct, file, pat)
	}
	if len(at) == 0 {
		return 0, nil // this level allows everything that the others do
	}
	if len(at)*len(pat) > len(file) { // the windows overlap: search again instead of checking every line of each
		for l := levelExact; l < levels; l++ {
			if at := windows(l, file, pat); len(at) > 0 {
				return l, at
			}
		}
	}
	for l := levelExact; l < levels; l++ {
		var fits []int
		for _, i := range at {
			if sameAll(l, file[i:], pat) {
				fits = append(fits, i)
			}
		}
		if len(fits) > 0 {
			return l, fits
		}
	}
	return 0, nil
}

// weakKey returns a key that is equal for lines that are the same at the weakest level.
func weakKey(s string) string { return levelTrimPunct.strip(fold(levelTrimPunct.strip(s))) }

// buildIndex prepares for many searches in the same file.
func (t *target) buildIndex() {
	t.index = make(map[string][]int, len(t.lines))
	for i := range t.lines {
		k := weakKey(t.lines[i].text)
		t.index[k] = append(t.index[k], i)
	}
}

// lookup finds the positions of pat at the weakest level with the index; known is false if the
// index does not help.
func (t *target) lookup(pat []string) (at []int, known bool) {
	if t.index == nil {
		return nil, false
	}
	rare, n := -1, len(t.lines)+1
	for j, p := range pat {
		if k := len(t.index[weakKey(p)]); k < n {
			rare, n = j, k
		}
	}
	if n > maxNearly {
		return nil, false
	}
	for _, i := range t.index[weakKey(pat[rare])] {
		if s := i - rare; s >= 0 && s+len(pat) <= len(t.lines) && sameAll(levelTrimPunct, t.lines[s:], pat) {
			at = append(at, s)
		}
	}
	return at, true
}

// sameAll reports whether file begins with the lines of pat.
func sameAll(l level, file []line, pat []string) bool {
	for i, p := range pat {
		if !same(l, file[i].text, p) {
			return false
		}
	}
	return true
}
