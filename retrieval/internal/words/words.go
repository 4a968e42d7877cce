package words

import "unicode/utf8"

// class is the kind of a byte in an identifier.
type class uint8

const (
	other class = iota
	lower
	upper
	digit
	under // _ and $
	wide  // a byte of a non-ASCII rune
)

var classes = func() (t [256]class) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = digit
		case c == '_' || c == '$':
			t[c] = under
		case c >= utf8.RuneSelf:
			t[c] = wide
		}
	}
	return t
}()

// MaxWord is the length in bytes of the longest word that becomes a term: longer ones are data (a
// hash, base64), whose parts nobody searches for.
const MaxWord = 64

// A Splitter splits identifiers and words into terms. It keeps buffers, so each goroutine needs a
// separate Splitter.
type Splitter struct {
	part, whole []byte
}

// Split calls emit for each term of an identifier or word. The terms are its parts (split at
// underscores, at camel humps and between letters and digits), lower-cased and stemmed. If there
// are several parts, one more term follows: [Whole], and then the whole word in lower case without
// underscores. The slice passed to emit is valid until emit returns.
func (s *Splitter) Split(word []byte, emit func(term []byte)) {
	if len(word) > MaxWord {
		return
	}
	s.whole = append(s.whole[:0], Whole)
	parts := 0
	for i := 0; i < len(word); {
		c := classes[word[i]]
		if c == under || c == other {
			i++
			continue
		}
		end := partEnd(word, i, c)
		s.part = s.part[:0]
		for _, b := range word[i:end] {
			if classes[b] == upper {
				b |= 0x20
			}
			s.part = append(s.part, b)
		}
		s.whole = append(s.whole, s.part...)
		parts++
		if len(s.part) > 1 || end-i == len(word) {
			part := s.part
			if c == upper && end-i > 2 && word[end-1] == 's' && classes[word[end-2]] == upper { // IDs, URLs
				part = part[:len(part)-1]
			}
			if !stopped(part) {
				if t := Stem(part); !stopped(t) {
					emit(t)
				}
			}
		}
		i = end
	}
	if parts > 1 {
		emit(s.whole)
	}
}

// Whole is the first byte of a term that stands for a compound identifier, so that parse_file and
// ParseFile match each other, and neither matches the word "parsefile" of a text.
const Whole = 1

// partEnd returns the end of the part that begins at i. A run of capitals keeps all but its last
// letter if a lower-case letter follows: HTTPServer is http and server.
func partEnd(w []byte, i int, c class) int {
	j := i + 1
	switch c {
	case digit:
		for j < len(w) && classes[w[j]] == digit {
			j++
		}
		return j
	case upper:
		for j < len(w) && classes[w[j]] == upper {
			j++
		}
		if j < len(w) && classes[w[j]] == lower {
			if j-i > 1 {
				// The plural of an abbreviation (IDs, URLs) is one part.
				if w[j] == 's' && (j+1 == len(w) || classes[w[j+1]] != lower) {
					return j + 1
				}
				return j - 1
			}
			break
		}
		return j
	}
	for j < len(w) && (classes[w[j]] == lower || classes[w[j]] == wide) {
		j++
	}
	return j
}

// Stem removes the endings of an English word in lower case, in place: plurals, -ing, -ed and a
// final -e, so that "parsing", "parsed" and "parses" match "parse". It is lighter than Porter's
// algorithm, because identifiers are not prose: "string", "speed" and "process" are unchanged.
func Stem(w []byte) []byte {
	n := len(w)
	if n < 4 || classes[w[n-1]] == wide {
		return w
	}
	if w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i' {
		n--
		if n > 3 && w[n-1] == 'e' && w[n-2] == 'i' { // queries, and ties
			w[n-2] = 'y'
			return w[:n-1]
		}
		if n > 3 && w[n-1] == 'e' && hissing(w[:n-1]) {
			if n--; w[n-1] == 'z' {
				n = silent(w, n) // sizes, but not waltzes
			}
		}
	}
	switch {
	case n > 5 && string(w[n-3:n]) == "ing" && vowel(w[:n-3]):
		n = undouble(w, n-3)
	case n > 4 && w[n-1] == 'd' && w[n-2] == 'e' && w[n-3] != 'e' && vowel(w[:n-2]) && string(w[:n]) != "embed":
		n = undouble(w, n-2)
	}
	if n > 4 && w[n-1] == 'e' && w[n-2] != 'e' {
		n--
	}
	return w[:n]
}

func hissing(w []byte) bool {
	n := len(w)
	switch w[n-1] {
	case 's', 'x', 'z':
		return true
	case 'h':
		return w[n-2] == 's' || w[n-2] == 'c'
	}
	return false
}

func vowel(w []byte) bool {
	for _, b := range w {
		switch b {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			return true
		}
	}
	return false
}

// undouble turns "stopp" into "stop", but leaves "call" and "pass" unchanged.
func undouble(w []byte, n int) int {
	if n > 3 && w[n-1] == w[n-2] {
		switch w[n-1] {
		case 'l', 's', 'z', 'e', 'o':
		default:
			return n - 1
		}
	}
	return silent(w, n)
}

// silent restores the final -e of words of four letters, from which Stem does not remove it: "typ"
// from "typed" and "typing" becomes "type". Since an ending was removed, w has room for the letter.
func silent(w []byte, n int) int {
	if n == 3 && !vowel(w[:1]) && vowel(w[1:2]) && !vowel(w[2:3]) && w[2] != 'x' && w[2] != 'w' {
		w[3] = 'e'
		return 4
	}
	return n
}

// stopped reports whether a word occurs nearly everywhere, in prose or in code: such words take
// space and carry no information.
func stopped(w []byte) bool {
	switch string(w) { // compiled to a search by length and bytes: a map would take a sixth of all indexing time
	case "the", "an", "and", "or", "of", "to", "in", "is", "it", "be", "as", "at", "by", "on", "if", "we", "do", "so",
		"this", "that", "with", "are", "was", "not", "but", "can", "you", "has", "hav", "have", "from", "will", "would",
		"should", "when", "then", "than", "there", "which", "what", "also", "for", "else", "return", "self",
		"def", "func", "function", "fn", "i", "a":
		return true
	}
	return false
}

// InWord reports whether a byte can be part of a word or identifier.
func InWord(b byte) bool { return classes[b] != other }

// Compound reports whether a word has several parts, such as ParseFile or parse_file.
func Compound(w []byte) bool {
	for i := 1; i < len(w)-1; i++ {
		if w[i] == '_' || classes[w[i]] == upper && classes[w[i-1]] == lower {
			return true
		}
	}
	return false
}
