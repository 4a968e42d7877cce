package gitlog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordsKey identifies the behaviour of Words; after a change, cached words are made again.
const wordsKey = "history.Words/1"

// Words returns the lower-cased words of a text: each run of letters, digits and underscores, and
// also the parts of an identifier that has several (camelCase, snake_case). Words of one byte or
// more than 64 bytes are left out.
func Words(text string) []string {
	var out []string
	for start := 0; start < len(text); {
		r, size := utf8.DecodeRuneInString(text[start:])
		if !wordRune(r) {
			start += size
			continue
		}
		end := start + size
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !wordRune(r) {
				break
			}
			end += size
		}
		out = appendIdentifier(out, text[start:end])
		start = end
	}
	return out
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func appendIdentifier(out []string, word string) []string {
	whole := strings.ToLower(strings.Trim(word, "_"))
	out = appendWord(out, whole)
	start := 0
	for i := 1; i <= len(word); i++ {
		if i < len(word) && !partBegins(word, i) {
			continue
		}
		part := strings.Trim(word[start:i], "_")
		start = i
		if part != "" && len(part) < len(whole) {
			out = appendWord(out, strings.ToLower(part))
		}
	}
	return out
}

func appendWord(out []string, w string) []string {
	if len(w) < 2 || len(w) > 64 {
		return out
	}
	return append(out, w)
}

// partBegins reports whether a part of an identifier begins at i: aB, ABc (at B) and a_b.
func partBegins(s string, i int) bool {
	switch {
	case s[i-1] == '_':
		return true
	case !upper(s[i]):
		return false
	case !upper(s[i-1]):
		return true
	}
	return i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z'
}

func upper(b byte) bool { return 'A' <= b && b <= 'Z' }
