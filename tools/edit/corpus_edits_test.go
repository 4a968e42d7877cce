package edit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// intent is an edit as intended: the lines from from to to of a file become the lines new, and the
// resulting file.
type intent struct {
	src      source
	from, to int
	old, new []string
}

// pick chooses a window of a file and a change in it. The text of the window occurs in the file
// only once.
func pick(rnd *rand.Rand, s source) (intent, bool) {
	for range 30 {
		n := 4 + rnd.IntN(9)
		if len(s.lines) < n+4 {
			return intent{}, false
		}
		from := rnd.IntN(len(s.lines) - n)
		w := s.lines[from : from+n]
		old := strings.Join(w, "\n")
		if blank(w[0]) || blank(w[n-1]) || words(w) < 3 || otherIndent(w, s.unit) || len(occurrences(s.text, old)) != 1 {
			continue
		}
		in := intent{src: s, from: from, to: from + n, old: w}
		in.new = in.change(rnd)
		if in.new != nil && strings.Join(in.new, "\n") != old {
			return in, true
		}
	}
	return intent{}, false
}

// otherIndent reports whether lines are indented differently from their file, or are blank but
// contain white space. For such lines nobody can say how they should change with the indentation.
func otherIndent(ls []string, unit string) bool {
	return slices.ContainsFunc(ls, func(l string) bool {
		in := indentOf(l)
		if l != "" && blank(l) {
			return true
		}
		return strings.Contains(in, "\t") != (unit == "\t") && len(in) > 1 || unit == "\t" && strings.Contains(in, "  ")
	})
}

func words(ls []string) int {
	n := 0
	for _, l := range ls {
		if letters(l) >= minWordLine {
			n++
		}
	}
	return n
}

// change makes one of the changes that models typically make.
func (in intent) change(rnd *rand.Rand) []string {
	w := in.old
	k := rnd.IntN(len(w))
	for blank(w[k]) {
		k = rnd.IntN(len(w))
	}
	mark := fmt.Sprintf("%s changed by an agent %d", in.src.comment, rnd.IntN(1000))
	ind := indentOf(w[k])
	at := func(i int, ls ...string) []string { // ls before line i
		return append(append(append([]string{}, w[:i]...), ls...), w[i:]...)
	}
	switch rnd.IntN(8) {
	case 0, 1:
		return at(k, ind+mark)
	case 2:
		return at(k+1, ind+mark)
	case 3: // add a nested block
		return at(k, ind+"if ready {", ind+in.src.unit+"run(1)", ind+"}")
	case 4: // change the end of the line
		out := append([]string{}, w...)
		out[k] += " " + mark
		return out
	case 5: // delete a line
		return append(append([]string{}, w[:k]...), w[k+1:]...)
	case 6: // indent the lines from k on by one more step
		end := k
		for end < len(w) && (blank(w[end]) || strings.HasPrefix(indentOf(w[end]), ind)) {
			end++
		}
		out := append(append([]string{}, w[:k]...), ind+"if ready {")
		for _, l := range w[k:end] {
			if !blank(l) {
				l = in.src.unit + l
			}
			out = append(out, l)
		}
		return append(append(out, ind+"}"), w[end:]...)
	default: // two changes with unchanged lines between them
		j := len(w) - 1
		if j-k < 2 {
			return nil
		}
		out := at(k, ind+mark)
		out[len(out)-1] += " " + mark
		return out
	}
}

// result returns the text of the file with the edit made in it.
func (in intent) result(lines []string) string {
	out := append(append(append([]string{}, lines[:in.from]...), in.new...), lines[in.to:]...)
	return strings.Join(out, "\n") + "\n"
}

// edited is one case of the corpus: an edit as a model requests it, and the acceptable results. If
// there are none, the edit has to be refused.
type edited struct {
	kind, file string
	content    string
	r          Replacement
	right      []string
}

// mapLines applies f to every non-blank line.
func mapLines(ls []string, f func(string) string) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		if out[i] = l; !blank(l) {
			out[i] = f(l)
		}
	}
	return out
}

func join2(ls []string) string { return strings.Join(ls, "\n") }
