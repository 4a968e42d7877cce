package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// A stage cuts a segment of text into pieces: it returns the end, after i, of the piece that starts
// at i.
type stage func(t *classTable, s string, i int) int

// A match is one alternative of a splitting rule: it returns the end of what it matches at i, or i
// if it does not match.
type match func(t *classTable, s string, i int) int

// isolate converts a rule to a stage that is like the "isolated" splits of Hugging Face's
// tokenizers: every match is a piece, and so is the text between two matches.
func isolate(m match) stage {
	return func(t *classTable, s string, i int) int {
		if e := m(t, s, i); e > i {
			return e
		}
		for {
			_, n := t.at(s, i)
			if i += n; i >= len(s) || m(t, s, i) > i {
				return i
			}
		}
	}
}

// runOf matches a run of runes that have one of the properties, at most limit of them if limit is
// positive.
func runOf(want class, limit int) match {
	return func(t *classTable, s string, i int) int {
		for k := 0; limit <= 0 || k < limit; k++ {
			c, n := t.at(s, i)
			if c&want == 0 {
				break
			}
			i += n
		}
		return i
	}
}

// spaced matches m, and one rune of white space before it if there is one: \s?…
func spaced(m match) match {
	return func(t *classTable, s string, i int) int {
		if c, n := t.at(s, i); c&space != 0 {
			if e := m(t, s, i+n); e > i+n {
				return e
			}
		}
		return m(t, s, i)
	}
}

// oneOf tries alternatives in order, and returns the match of the first one that matches.
func oneOf(ms ...match) match {
	return func(t *classTable, s string, i int) int {
		for _, m := range ms {
			if e := m(t, s, i); e > i {
				return e
			}
		}
		return i
	}
}

// runIn matches a run of runes in a table.
func runIn(table *unicode.RangeTable) match {
	var ascii [utf8.RuneSelf]bool
	for r := range ascii {
		ascii[r] = unicode.Is(table, rune(r))
	}
	return func(_ *classTable, s string, i int) int {
		for i < len(s) {
			if s[i] < utf8.RuneSelf {
				if !ascii[s[i]] {
					break
				}
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(s[i:])
			if !unicode.Is(table, r) {
				break
			}
			i += n
		}
		return i
	}
}

// runOrIn matches a run of runes that have a property or are one of the ASCII characters listed.
func runOrIn(want class, ascii string) match {
	var set [128]bool
	for _, c := range []byte(ascii) {
		set[c] = true
	}
	return func(t *classTable, s string, i int) int {
		for {
			c, n := t.at(s, i)
			if n == 0 || c&want == 0 && (s[i] >= 128 || !set[s[i]]) {
				return i
			}
			i += n
		}
	}
}

// oneNewline matches [\r\n].
func oneNewline(_ *classTable, s string, i int) int {
	if s[i] == '\r' || s[i] == '\n' {
		return i + 1
	}
	return i
}

// threeDigits matches [0-9][0-9][0-9].
func threeDigits(_ *classTable, s string, i int) int {
	if i+3 > len(s) || s[i]-'0' > 9 || s[i+1]-'0' > 9 || s[i+2]-'0' > 9 {
		return i
	}
	return i + 3
}

// trailingSpace is the stage for \s+$.
func trailingSpace(t *classTable, s string, i int) int {
	end := i // the end of the last rune that is not a space
	for j := i; j < len(s); {
		c, n := t.at(s, j)
		j += n
		if c&space == 0 {
			end = j
		}
	}
	if end == i {
		return len(s)
	}
	return end
}

// lines is the stage for [^\n]+|\n+.
func lines(_ *classTable, s string, i int) int {
	first := s[i] == '\n'
	for i++; i < len(s) && (s[i] == '\n') == first; i++ {
	}
	return i
}

// groupsOfThree cuts a segment that starts with a number into groups of three digits counted from
// its end: 1234567 into 1 234 567. The previous stage isolates runs of numbers; other segments are
// left whole.
func groupsOfThree(t *classTable, s string, i int) int {
	if c, _ := t.at(s, 0); c&number == 0 {
		return len(s)
	}
	take := 3
	if i == 0 {
		count := 0
		for j := 0; j < len(s); count++ {
			_, n := t.at(s, j)
			j += n
		}
		if count%3 != 0 {
			take = count % 3
		}
	}
	for ; take > 0 && i < len(s); take-- {
		_, n := t.at(s, i)
		i += n
	}
	return i
}
