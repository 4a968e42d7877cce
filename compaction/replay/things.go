package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// Kind is the kind of a [Thing].
type Kind string

// The kinds of things that an action can refer to.
const (
	KindPath       Kind = "path"       // a path of at least two elements, or a file name with an extension
	KindIdentifier Kind = "identifier" // a word containing an underscore, a digit or a capital after the first letter, or several words joined by dots
	KindLine       Kind = "line"       // a line number
	KindString     Kind = "string"     // a quoted string, or a whole line of a multi-line argument
)

// Thing is something that an action refers to and that a model can only know from having read it: a
// path, an identifier, a line number, a string.
type Thing struct {
	Kind Kind
	Text string
}

// maxThings limits the things counted per call, so that a call that writes a large file does not
// outweigh all others.
const maxThings = 300

// Things returns what the arguments of a call refer to: sorted, without duplicates, at most 300.
func Things(call agent.ToolCall) []Thing {
	var out []Thing
	for _, text := range argTexts(call.Args) {
		out = words(out, text)
		out = quoted(out, text)
		out = lines(out, text)
	}
	out = distinct(out)
	return out[:min(len(out), maxThings)]
}

func distinct(ts []Thing) []Thing {
	slices.SortFunc(ts, func(a, b Thing) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(ts)
}

// words adds the paths, identifiers and numbers of a text.
func words(out []Thing, text string) []Thing {
	for i := 0; i < len(text); {
		if !isPath(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && isPath(text[j]) {
			j++
		}
		out = word(out, text[i:j])
		i = j
	}
	return out
}

// word adds what one run of letters, digits and "_./-" refers to: a path, or else the words in it.
func word(out []Thing, w string) []Thing {
	w = strings.TrimRight(strings.TrimLeft(w, "-"), ".-/")
	if rest, ok := strings.CutPrefix(w, "./"); ok {
		w = rest
	}
	w = strings.TrimPrefix(w, "/")
	if isFile(w) {
		return append(out, Thing{KindPath, w})
	}
	if strings.Contains(w, ".") && isIdentifier(strings.ReplaceAll(w, ".", "_")) {
		out = append(out, Thing{KindIdentifier, w}) // self.headers
	}
	for _, p := range strings.FieldsFunc(w, func(r rune) bool { return r == '.' || r == '-' || r == '/' }) {
		switch {
		case isLineNumber(p):
			out = append(out, Thing{KindLine, p})
		case isIdentifier(p):
			out = append(out, Thing{KindIdentifier, p})
		}
	}
	return out
}

// isFile reports whether w names a file: several elements of which one has a letter, or a name with
// a known extension.
func isFile(w string) bool {
	if len(w) > 200 || strings.Contains(w, "//") || strings.HasPrefix(w, "dev/") {
		return false
	}
	if dot := strings.LastIndexByte(w, '.'); dot > 0 && endings[w[dot+1:]] {
		return true
	}
	a, b, ok := strings.Cut(w, "/")
	return ok && len(a) > 1 && len(b) > 1 && strings.ContainsFunc(w, isLetter)
}

var endings = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range strings.Fields("c cc cfg cpp cs css csv go gradle h hpp html ini java js json jsx kt lock log md mod php pl " +
		"properties proto py pyi rb rs rst scala sh sql swift toml ts tsx txt xml yaml yml") {
		m[e] = true
	}
	return m
}()

// isIdentifier reports whether w is a name made up for a program rather than a word of a language:
// it contains an underscore or a digit, or a capital after a lowercase letter.
func isIdentifier(w string) bool {
	if len(w) < 4 || len(w) > 80 || isDigit(w[0]) || strings.HasPrefix(w, "__") && strings.HasSuffix(w, "__") {
		return false
	}
	mark := false
	for i := 1; i < len(w); i++ {
		switch c := w[i]; {
		case c == '_' && i < len(w)-1, isDigit(c):
			mark = true
		case c >= 'A' && c <= 'Z' && w[i-1] >= 'a' && w[i-1] <= 'z':
			mark = true
		}
	}
	return mark
}

func isLineNumber(w string) bool {
	if len(w) < 2 || len(w) > 6 || w[0] == '0' {
		return false
	}
	for i := range len(w) {
		if !isDigit(w[i]) {
			return false
		}
	}
	return true
}

// quoted adds quoted strings of 8 to 120 bytes that are on one line and more than a single word.
func quoted(out []Thing, text string) []Thing {
	for line := range strings.SplitSeq(text, "\n") {
		for i := 0; i < len(line); i++ {
			q := line[i]
			if q != '"' && q != '\'' && q != '`' {
				continue
			}
			n := strings.IndexByte(line[i+1:], q)
			if n < 0 {
				continue
			}
			if s := line[i+1 : i+1+n]; isString(s, 8, 120) {
				out = append(out, Thing{KindString, s})
			}
			i += n + 1
		}
	}
	return out
}

// lines adds the lines of a multi-line text that are 16 to 200 bytes long, without surrounding
// space.
func lines(out []Thing, text string) []Thing {
	if !strings.Contains(text, "\n") {
		return out
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); isString(line, 16, 200) {
			out = append(out, Thing{KindString, line})
		}
	}
	return out
}

// isString reports whether s is from least to most bytes long, has a letter, and has a character
// that cannot be part of a word or path.
func isString(s string, least, most int) bool {
	return len(s) >= least && len(s) <= most && strings.ContainsFunc(s, isLetter) &&
		strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || !isPath(byte(r)) })
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isWord(c byte) bool   { return c == '_' || isDigit(c) || isLetter(rune(c)) || c >= 0x80 }
func isPath(c byte) bool {
	return c == '_' || c == '.' || c == '/' || c == '-' || isDigit(c) || isLetter(rune(c))
}

// in returns the position of t in text, searching from offset from, or -1. A string may be
// anywhere; other things must not be part of a longer word.
func (t Thing) in(text string, from int) int {
	for from <= len(text) {
		n := strings.Index(text[from:], t.Text)
		if n < 0 {
			return -1
		}
		at := from + n
		if t.Kind == KindString || wholeWord(text, at, at+len(t.Text)) {
			return at
		}
		from = at + 1
	}
	return -1
}

func wholeWord(text string, begin, end int) bool {
	return (begin == 0 || !isWord(text[begin-1])) && (end == len(text) || !isWord(text[end]))
}

// shownIn is like in, but finds a line number only where line numbers are shown: at the start of a
// line, after a colon, or after the word "line".
func (t Thing) shownIn(text string, from int) int {
	for {
		at := t.in(text, from)
		if at < 0 || t.Kind != KindLine || numbersLine(text, at, at+len(t.Text)) {
			return at
		}
		from = at + 1
	}
}

// numbersLine reports whether the number at text[begin:end] is in a position where line numbers are
// shown.
func numbersLine(text string, begin, end int) bool {
	before := text[max(begin-16, 0):begin]
	if n := len(before); n > 1 && before[n-1] == ':' && before[n-2] != ' ' {
		return true // path:12
	}
	before = strings.TrimRight(before, " ")
	if strings.HasSuffix(before, "line") || strings.HasSuffix(before, "lines") {
		return true
	}
	// 12: text, as grep and editors show it
	return (before == "" || before[len(before)-1] == '\n') && end < len(text) && strings.IndexByte(":-\t|", text[end]) >= 0
}
