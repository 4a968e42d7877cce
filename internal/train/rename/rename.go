// Package rename gives the names of training examples other names.
//
// A model that sees the functions of its corpus often learns them by heart, and then mends a broken line by recalling it. With
// the words of its names replaced by others, the same word by the same one throughout an example, what is left to learn is
// what names have to do with each other: the test TestWalk with the function walk, a parameter with its uses.
package rename

import (
	"cmp"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words are the words of names in a body of text: what names are renamed to. It is built with Observe and then used by any
// number of goroutines.
type Words struct {
	seen   map[string]int // in how many texts a word occurs
	texts  int
	others map[int][]string // by length: those that are neither frequent nor rare, sorted
}

// Observe counts the words of a text.
func (w *Words) Observe(text string) {
	if w.seen == nil {
		w.seen = map[string]int{}
	}
	w.texts++
	here := map[string]bool{}
	pieces(text, func(piece string, kept bool) {
		if !kept {
			here[strings.ToLower(piece)] = true
		}
	})
	for word := range here {
		w.seen[word]++
	}
	w.others = nil
}

// Words that more of the texts than this share have are the language's more than the program's ("err", "want", "len"): they
// keep their meaning. Words of fewer texts than rare are misspelt or nobody's.
const (
	frequent = 0.04
	rare     = 4
)

// Seal makes the words ready for use. There must be enough of them: at least some hundred texts.
func (w *Words) Seal() {
	w.others = map[int][]string{}
	for _, word := range slices.Sorted(maps.Keys(w.seen)) {
		if n := w.seen[word]; n >= rare && !w.common(word) {
			w.others[length(word)] = append(w.others[length(word)], word)
		}
	}
}

// common reports whether a word keeps its meaning: frequent ones, those that make a function a test, and single letters.
func (w *Words) common(word string) bool {
	switch word {
	case "test", "example", "benchmark", "fuzz":
		return true
	}
	return utf8.RuneCountInString(word) < 2 || float64(w.seen[word]) > frequent*float64(w.texts)
}

// length is the class of words that replace each other: a prompt must not grow much.
func length(word string) int { return min(len(word), 12) }

// Share is how many of an example's words to rename: what is left is as much as a stranger to the program would know.
const Share = 0.75

// A Renaming maps words to words, in lower case.
type Renaming map[string]string

// Draw draws a renaming for an example that consists of these texts: about a share of its words get other ones, no two the
// same, and none one that the example has already.
func (w *Words) Draw(rng *rand.Rand, share float64, texts ...string) Renaming {
	here := map[string]bool{}
	var order []string
	for _, t := range texts {
		pieces(t, func(piece string, kept bool) {
			word := strings.ToLower(piece)
			if !here[word] && !kept && !w.common(word) {
				order = append(order, word)
			}
			here[word] = true
		})
	}
	slices.SortFunc(order, cmp.Compare)
	to := Renaming{}
	for _, word := range slices.Compact(order) {
		if rng.Float64() >= share {
			continue
		}
		of := w.others[length(word)]
		for range 8 {
			if len(of) == 0 {
				break
			}
			if other := of[rng.IntN(len(of))]; !here[other] {
				here[other] = true
				to[word] = other
				break
			}
		}
	}
	return to
}

// Apply returns a text with its words renamed, each in the case it was written in.
func (r Renaming) Apply(text string) string {
	if len(r) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	done := 0
	pieces(text, func(piece string, kept bool) {
		at := done + strings.Index(text[done:], piece)
		if other, ok := r[strings.ToLower(piece)]; ok && !kept {
			b.WriteString(text[done:at])
			b.WriteString(like(piece, other))
			done = at + len(piece)
			return
		}
		b.WriteString(text[done : at+len(piece)])
		done = at + len(piece)
	})
	b.WriteString(text[done:])
	return b.String()
}

// like writes a word as another one is written: Word, word, WORD.
func like(piece, word string) string {
	first, size := utf8.DecodeRuneInString(piece)
	switch {
	case !unicode.IsUpper(first):
		return word
	case len(piece) > size && strings.ToUpper(piece) == piece:
		return strings.ToUpper(word)
	}
	first, size = utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// pieces calls each for every word of every name of a text, in order: "readFileHTTP_2" has read, File, HTTP, 2. Names that
// belong to the language, its standard library or the frame of a prompt are kept, as a whole.
func pieces(text string, each func(piece string, kept bool)) {
	pkg := "" // the standard package that a dot follows
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) && r != '_' {
			if r != '.' {
				pkg = ""
			}
			if unicode.IsDigit(r) { // 0x1f is no name
				for i < len(text) && isName(text[i:]) {
					_, size = utf8.DecodeRuneInString(text[i:])
					i += size
				}
				continue
			}
			i += size
			continue
		}
		start := i
		for i < len(text) && isName(text[i:]) {
			_, size = utf8.DecodeRuneInString(text[i:])
			i += size
		}
		name := text[start:i]
		kept := keeps[name] || pkg != ""
		if pkg = ""; standard[name] && i < len(text) && text[i] == '.' && (start == 0 || text[start-1] != '.') {
			pkg, kept = name, true
		}
		if kept {
			each(name, true)
			continue
		}
		split(name, func(piece string) { each(piece, false) })
	}
}

func isName(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// split calls each for the words of a name that are of letters.
func split(name string, each func(string)) {
	runes := []rune(name)
	for i := 0; i < len(runes); {
		if !unicode.IsLetter(runes[i]) {
			i++
			continue
		}
		start := i
		i++
		if unicode.IsUpper(runes[start]) {
			for i < len(runes) && unicode.IsUpper(runes[i]) && (i+1 == len(runes) || !unicode.IsLower(runes[i+1])) {
				i++
			}
		}
		if i-start == 1 {
			for i < len(runes) && unicode.IsLetter(runes[i]) && !unicode.IsUpper(runes[i]) {
				i++
			}
		}
		each(string(runes[start:i]))
	}
}

// keeps are the names of the language and of the frame of prompts.
var keeps = func() map[string]bool {
	m := map[string]bool{}
	for t := token.BREAK; t <= token.VAR; t++ {
		m[t.String()] = true
	}
	for _, n := range types.Universe.Names() {
		m[n] = true
	}
	for _, n := range []string{
		"im_start", "im_end", "user", "assistant", "tool_call", "function", "parameter", "run_tests", "read_function", "edit_line",
		"number", "line", "text", "names", "edited", "ok", "FAIL", "Fixed", "go", "_",
	} {
		m[n] = true
	}
	return m
}()

// standard are the packages of the standard library whose names are seldom used for anything else.
var standard = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`atomic base64 big bits bufio bytes binary context driver errors exec filepath flag fmt fs gzip
		hash heap hex html http httptest io ioutil json log maps math net os path rand reflect regexp runtime sha1 sha256 slices slog
		sort sql strconv strings sync syscall template testing textproto time tls unicode unsafe url utf16 utf8 x509 xml zip`) {
		m[n] = true
	}
	return m
}()
