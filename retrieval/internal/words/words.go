package words

import "unicode/utf8"

// class says what a byte is in an identifier.
type class uint8

const (
	other class = iota
	lower
	upper
	digit
	under // _ and $
	wide  // a byte of a rune beyond ASCII
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

// MaxWord is the longest word that becomes a term, in bytes: what is longer is
// data (a hash, base64), which nobody searches by its parts.
const MaxWord = 64

// A Splitter cuts identifiers and words into terms. It keeps buffers: one per goroutine.
type Splitter struct {
	part, whole []byte
}

// Split calls emit for each term of an identifier or word: its parts (cut at
// underscores, at camel humps and between letters and digits), lower-cased and
// stemmed, and, where there are several, the whole in lower case without
// underscores behind [Whole]. The slice is valid until emit returns.
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

// Whole is the first byte of a term that stands for a compound identifier, so that
// parse_file and ParseFile meet, and neither meets the word "parsefile" of a text.
const Whole = 1

// partEnd is where the part that begins at i ends. A run of capitals keeps all
// but its last letter when a small one follows: HTTPServer is http and server.
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

// Stem takes the endings off an English word in lower case, in place: plurals,
// -ing, -ed and a final -e, so that "parsing", "parsed" and "parses" meet "parse".
// It is lighter than Porter's, because identifiers are no prose: "string", "speed"
// and "process" stay what they are.
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

// undouble makes "stopp" "stop", and leaves "call" and "pass" alone.
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

// silent gives words of four letters their -e back, which Stem leaves them: "typ" of
// "typed" and "typing" is "type". There was an ending, so that w has room for it.
func silent(w []byte, n int) int {
	if n == 3 && !vowel(w[:1]) && vowel(w[1:2]) && !vowel(w[2:3]) && w[2] != 'x' && w[2] != 'w' {
		w[3] = 'e'
		return 4
	}
	return n
}

// stopped reports words that stand nearly everywhere, in prose or in code: they
// cost room and tell nothing.
func stopped(w []byte) bool {
	switch string(w) { // compiled to a search by length and bytes: a map takes a sixth of all indexing
	case "the", "an", "and", "or", "of", "to", "in", "is", "it", "be", "as", "at", "by", "on", "if", "we", "do", "so",
		"this", "that", "with", "are", "was", "not", "but", "can", "you", "has", "hav", "have", "from", "will", "would",
		"should", "when", "then", "than", "there", "which", "what", "also", "for", "else", "return", "self",
		"def", "func", "function", "fn", "i", "a":
		return true
	}
	return false
}

// InWord reports bytes that words and identifiers are made of.
func InWord(b byte) bool { return classes[b] != other }

// Compound reports a word of several parts, such as ParseFile or parse_file.
func Compound(w []byte) bool {
	for i := 1; i < len(w)-1; i++ {
		if w[i] == '_' || classes[w[i]] == upper && classes[w[i-1]] == lower {
			return true
		}
	}
	return false
}
