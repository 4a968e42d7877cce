package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Letter case as in Python. Go converts case rune by rune; the few letters whose upper case has
// several runes are in the table special.

var special = strings.NewReplacer("ß", "SS", "ŉ", "ʼN", "ǰ", "J̌", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL", "ﬅ", "ST", "ﬆ", "ST")

func upper(s string) string {
	if !isASCII(s) {
		s = special.Replace(s)
	}
	return strings.ToUpper(s)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.ToLower(strings.ReplaceAll(s, "İ", "i̇"))
	if strings.Contains(s, "σ") {
		s = finalSigma(s)
	}
	return s
}

// finalSigma writes the sigma that ends a word as ς.
func finalSigma(s string) string {
	runes := []rune(s)
	for i, r := range runes {
		if r == 'σ' && i > 0 && unicode.IsLetter(runes[i-1]) && (i+1 == len(runes) || !unicode.IsLetter(runes[i+1])) {
			runes[i] = 'ς'
		}
	}
	return string(runes)
}

// titleRune returns the title case of a first letter.
func titleRune(s string) string {
	r, _ := utf8.DecodeRuneInString(s)
	if t := special.Replace(s); t != s {
		return t[:1] + strings.ToLower(t[1:])
	}
	return string(unicode.ToTitle(r))
}

// firstRune splits off the first code point.
func firstRune(s string) (first, rest string) {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n], s[n:]
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	first, rest := firstRune(s)
	return titleRune(first) + lower(rest)
}

// titleWords is Jinja2's title filter: words start after spaces, hyphens and opening brackets.
func titleWords(s string) string {
	var b strings.Builder
	flush := func(word string) {
		if word != "" {
			first, rest := firstRune(word)
			b.WriteString(upper(first) + lower(rest))
		}
	}
	start := 0
	for i, r := range s {
		if isSpace(r) || strings.ContainsRune("-({[<", r) {
			flush(s[start:i])
			b.WriteRune(r)
			start = i + utf8.RuneLen(r)
		}
	}
	flush(s[start:])
	return b.String()
}

// title is Python's str.title: a word starts at every letter that no letter precedes.
func title(s string) string {
	var b strings.Builder
	inWord := false
	for _, r := range s {
		c := string(r)
		switch cased := isCased(r); {
		case cased && !inWord:
			b.WriteString(titleRune(c))
			inWord = true
		case cased:
			b.WriteString(strings.ToLower(c))
		default:
			b.WriteString(c)
			inWord = false
		}
	}
	return b.String()
}

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

func swapcase(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteString(lower(string(r)))
		} else {
			b.WriteString(upper(string(r)))
		}
	}
	return b.String()
}

func isLower(s string) bool { return casedAs(s, unicode.IsLower) }
func isUpper(s string) bool { return casedAs(s, unicode.IsUpper) }

// casedAs reports whether s has cased letters and all of them satisfy the function is.
func casedAs(s string, is func(rune) bool) bool {
	found := false
	for _, r := range s {
		if !isCased(r) {
			continue
		}
		if !is(r) {
			return false
		}
		found = true
	}
	return found
}

func isTitle(s string) bool {
	found, prev := false, false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r) || unicode.IsTitle(r):
			if prev {
				return false
			}
			found, prev = true, true
		case unicode.IsLower(r):
			if !prev {
				return false
			}
			found, prev = true, true
		default:
			prev = false
		}
	}
	return found
}

// all returns a test that accepts non-empty text in which every code point satisfies the function
// is.
func all(is func(rune) bool) func(string) bool {
	return func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	}
}

func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !isNameRune(r)) {
			return false
		}
	}
	return s != ""
}

// splitLines splits as Python's splitlines does: at every kind of line ending, without an empty
// line at the end.
func splitLines(s string, keepEnds bool) []string {
	lines := []string{}
	start := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !isLineEnd(r) {
			i += n
			continue
		}
		if r == '\r' && strings.HasPrefix(s[i+1:], "\n") {
			n = 2
		}
		end := i
		i += n
		if keepEnds {
			end = i
		}
		lines = append(lines, s[start:end])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

func isLineEnd(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}
