package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of the Unicode properties that splitting rules test.
type class uint16

const (
	letter  class = 1 << iota // L
	number                    // N
	space                     // White_Space
	punct                     // P
	symbol                    // S
	mark                      // M
	upper                     // Lu, Lt, Lm, Lo, M: allowed at the start of a cased word
	lower                     // Ll, Lm, Lo, M: allowed at its end
	han                       // the script
	newline                   // CR and LF
)

// classPage is the number of runes whose classes are stored together as one page.
const classPage = 256

// classTable has the classes of all runes; equal pages are stored once.
type classTable struct {
	ascii [utf8.RuneSelf]class
	index [(unicode.MaxRune + 1) / classPage]uint16
	pages [][classPage]class
}

// The variable classes is initialised on first use. Unicode's range tables are exact but too slow
// to search for every rune.
var classes = sync.OnceValue(func() *classTable {
	flat := make([]class, unicode.MaxRune+1)
	for _, row := range []struct {
		table *unicode.RangeTable
		bits  class
	}{
		{unicode.L, letter}, {unicode.N, number}, {unicode.White_Space, space}, {unicode.P, punct}, {unicode.S, symbol},
		{unicode.M, mark | upper | lower}, {unicode.Lm, upper | lower}, {unicode.Lo, upper | lower},
		{unicode.Lu, upper}, {unicode.Lt, upper}, {unicode.Ll, lower}, {unicode.Han, han},
	} {
		each(row.table, func(r rune) { flat[r] |= row.bits })
	}
	flat['\r'] |= newline
	flat['\n'] |= newline

	t := &classTable{}
	copy(t.ascii[:], flat)
	seen := map[[classPage]class]uint16{}
	for i := range t.index {
		page := [classPage]class(flat[i*classPage:])
		at, ok := seen[page]
		if !ok {
			at = uint16(len(t.pages))
			seen[page] = at
			t.pages = append(t.pages, page)
		}
		t.index[i] = at
	}
	return t
})

// each calls f for every rune of a table.
func each(t *unicode.RangeTable, f func(rune)) {
	for _, r := range t.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			f(c)
		}
	}
	for _, r := range t.R32 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			f(c)
		}
	}
}

// of returns the class of a rune.
func (t *classTable) of(r rune) class { return t.pages[t.index[r/classPage]][r%classPage] }

// at returns the class and size of the rune at s[i:]. Beyond the end both are 0. A byte that is not
// valid UTF-8 counts as U+FFFD, a symbol, of size 1, so that no byte is ever lost.
func (t *classTable) at(s string, i int) (class, int) {
	if i < len(s) && s[i] < utf8.RuneSelf {
		return t.ascii[s[i]], 1
	}
	return t.atWide(s, i)
}

// atWide is like at, for runes beyond ASCII. It is separate so that at can be inlined.
func (t *classTable) atWide(s string, i int) (class, int) {
	if i >= len(s) {
		return 0, 0
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return t.of(r), n
}

// run returns the end of the longest run, from i, of runes that have a property in want and none in
// not.
func (t *classTable) run(s string, i int, want, not class) int {
	for {
		for i < len(s) && s[i] < utf8.RuneSelf && t.ascii[s[i]]&want != 0 && t.ascii[s[i]]&not == 0 {
			i++
		}
		c, n := t.at(s, i)
		if c&want == 0 || c&not != 0 {
			return i
		}
		i += n
	}
}

// runNot returns the end of the longest run, from i, of runes that have no property in not.
func (t *classTable) runNot(s string, i int, not class) int {
	for i < len(s) {
		c, n := t.at(s, i)
		if c&not != 0 {
			break
		}
		i += n
	}
	return i
}
