package compaction

import (
	"cmp"
	"slices"
	"strings"
)

// names lists paths and identifiers that occur in text but not in rest, the most frequent first,
// limited to room bytes. They show a model what the text behind a handle is about.
func names(text, rest string, room int) string {
	if room < 8 {
		return ""
	}
	type name struct {
		word  string
		count int
		first int
	}
	found := map[string]*name{}
	var order []*name
	for w := range wordsOf(text) {
		if n := found[w]; n != nil {
			n.count++
			continue
		}
		if len(found) >= 4096 {
			break
		}
		n := &name{w, 1, len(order)}
		found[w] = n
		order = append(order, n)
	}
	for w := range wordsOf(rest) {
		if n := found[w]; n != nil {
			n.count = 0
		}
	}
	slices.SortStableFunc(order, func(a, b *name) int { return cmp.Compare(weight(b.word, b.count), weight(a.word, a.count)) })
	var b strings.Builder
	for _, n := range order {
		if n.count == 0 || b.Len()+len(n.word)+1 > room {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(n.word)
	}
	return b.String()
}

// weight ranks frequent words higher and, at the same frequency, short ones.
func weight(word string, count int) int { return 100*min(count, 8) - len(word) }

// wordsOf yields the paths and identifiers of a text.
func wordsOf(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			if !isWordByte(text[i]) {
				i++
				continue
			}
			j := i
			for j < len(text) && (isWordByte(text[j]) || (text[j] == '/' || text[j] == '.' || text[j] == '-') && j+1 < len(text) && isWordByte(text[j+1])) {
				j++
			}
			w := text[i:j]
			i = j
			if strings.Contains(w, "/") || isFileName(w) {
				if len(w) <= 120 && !yield(w) {
					return
				}
				continue
			}
			for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return r == '.' || r == '-' }) {
				if isIdentifier(part) && !yield(part) {
					return
				}
			}
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isFileName reports whether w looks like a file name: a stem and an extension of a few lowercase
// letters.
func isFileName(w string) bool {
	i := strings.LastIndexByte(w, '.')
	if i <= 0 || len(w)-i > 6 || len(w)-i < 2 || len(w) > 80 {
		return false
	}
	for _, c := range []byte(w[i+1:]) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return !strings.Contains(w[:i], ".") && i > 1
}

// isIdentifier reports whether w is an identifier rather than a word of prose: it contains an
// underscore or a digit, or a capital after a lowercase letter.
func isIdentifier(w string) bool {
	if len(w) < 4 || len(w) > 64 || w[0] >= '0' && w[0] <= '9' {
		return false
	}
	for i := 1; i < len(w); i++ {
		c := w[i]
		if c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' && w[i-1] >= 'a' && w[i-1] <= 'z' {
			return true
		}
	}
	return false
}
