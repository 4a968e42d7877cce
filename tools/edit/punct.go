package edit

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// keepPunct applies the change from old to new to the file's line, so that typographic characters
// that the model could not see are kept where nothing changed. Only whole words that both lines
// begin or end with are kept: a word that the model changed is as the model wrote it. text is the
// new line without this treatment; it is returned if the change cannot be applied. The indentation
// is that of text.
func keepPunct(old, file, new, text string) string {
	o, f, n := trimLeft(trimRight(old)), trimLeft(trimRight(file)), trimLeft(new)
	if o == f {
		return text
	}
	head, fileHead := keptHead(o, f, n)
	tail, fileTail := keptTail(o[head:], f[fileHead:], n[head:])
	if hasQuote(f[fileHead : len(f)-fileTail]) {
		return text // half of a pair of quotes would remain
	}
	return indentOf(text) + f[:fileHead] + n[head:len(n)-tail] + f[len(f)-fileTail:]
}

// keptHead returns the length of the words that o and n begin with, up to a space in the file's
// line f, and their length there.
func keptHead(o, f, n string) (head, fileHead int) {
	if o == n {
		return len(o), len(f)
	}
	for head = commonPrefix(o, n); head > 0; head-- {
		if head < len(o) && head < len(n) && !isSpace(o[head-1]) {
			continue
		}
		if head == len(o) && head < len(n) && !isSpace(n[head]) || head == len(n) && head < len(o) && !isSpace(o[head]) {
			continue
		}
		if k, ok := foldedPrefix(o[:head], f); ok && (k == len(f) || isSpace(f[k-1]) || !isSpace(o[head-1]) && isSpace(f[k])) {
			return head, k
		}
	}
	return 0, 0
}

// keptTail is keptHead for the words that o and n end with.
func keptTail(o, f, n string) (tail, fileTail int) {
	for tail = commonSuffix(o, n); tail > 0; tail-- {
		i := len(o) - tail
		if !utf8.RuneStart(o[i]) || i > 0 && !isSpace(o[i]) && !isSpace(o[i-1]) || tail < len(n) && !isSpace(o[i]) && !isSpace(n[len(n)-tail-1]) {
			continue
		}
		if k, ok := foldedSuffix(o[i:], f); ok && (k == len(f) || isSpace(f[len(f)-k]) || !isSpace(o[i]) && isSpace(f[len(f)-k-1])) {
			return tail, k
		}
	}
	return 0, 0
}

func hasQuote(s string) bool { return strings.ContainsAny(s, "‘’‚‛′“”„‟″") }

// prettified returns a typographic character that old lines have where the file has plain ones, and
// that new lines have too, or 0. It is unclear whether the new lines shall have it.
func prettified(window []line, old, added []string) rune {
	var seen []rune
	for i, o := range old {
		if isASCII(o) {
			continue
		}
		for _, r := range o {
			if foldable(r) && !strings.ContainsRune(window[i].text, r) && !slices.Contains(seen, r) {
				seen = append(seen, r)
			}
		}
	}
	for _, l := range added {
		for _, r := range seen {
			if strings.ContainsRune(l, r) {
				return r
			}
		}
	}
	return 0
}

// prettyError refuses new lines with a typographic character that the file does not have.
func prettyError(at int, r rune) *Error {
	plain, _ := foldRune(r)
	return &Error{Op: "replace", Kind: Ambiguous, Lines: []int{at},
		Detail: fmt.Sprintf("the old text has the character %U at line %d where the file has %q, and the new text has it too", r, at, plain),
		Advice: "Send both texts with the plain characters of the file"}
}
