package eval

import (
	"slices"
	"strings"
	"unicode"
)

// Words returns the distinct lower-cased words of a query with three or more letters, as somebody
// would type them into a line search, without common English words.
func Words(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !wordRune(r) }) {
		w = strings.ToLower(strings.Trim(w, "_"))
		if len(w) >= 3 && len(w) <= 64 && !stopWords[w] && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// terms calls yield with each lower-cased word of a text, and with each part of an identifier that
// has several parts.
func terms(text []byte, yield func(term []byte)) {
	var buf [64]byte
	emit := func(w []byte) {
		if len(w) < 2 || len(w) > len(buf) {
			return
		}
		for i, c := range w {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			buf[i] = c
		}
		yield(buf[:len(w)])
	}
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && wordByte(text[i]) {
			i++
		}
		word := text[start:i]
		emit(word)
		part := 0
		for j := 1; j <= len(word); j++ {
			if j < len(word) && !partBegins(word, j) {
				continue
			}
			p := word[part:j]
			for len(p) > 0 && p[len(p)-1] == '_' {
				p = p[:len(p)-1]
			}
			if j-part < len(word) {
				emit(p)
			}
			part = j
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

func partBegins(s []byte, i int) bool {
	up := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	switch {
	case s[i-1] == '_':
		return s[i] != '_'
	case !up(s[i]):
		return false
	case !up(s[i-1]):
		return true
	}
	return i+1 < len(s) && 'a' <= s[i+1] && s[i+1] <= 'z'
}

// stopWords are common English words that issues are full of.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`the and for are but not you all any can had her was one our out has have him his how its may
		new now old see two who did get let put say she too use that with this will your from they know want been good much some
		time very when come here just like long make many more only over such take than them well were what which would there
		their about after also because before being could does doing into should then these those through while where why other
		using used when`) {
		m[w] = true
	}
	return m
}()

// sortRanked orders paths by score, and by name if scores are equal.
func sortRanked(scores map[string]float64) []string {
	out := make([]string, 0, len(scores))
	for p, s := range scores {
		if s > 0 {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	return out
}
