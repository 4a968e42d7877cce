package edit

import (
	"fmt"
	"strings"
)

// notFound explains the refusal of a text that is nowhere in the file: which known mistake it is,
// and the most similar place.
func (t *target) notFound(r Replacement) *Error {
	old, new := splitBlock(r.Old), splitBlock(r.New)
	if at := t.applied(r, old.lines, new.lines); at > 0 {
		e := refuse(AlreadyApplied, fmt.Sprintf("the old text is not in the file, but the new text is, at line %d", at),
			"If that is this very edit, go on; otherwise read the file again")
		e.Lines = []int{at}
		return e
	}
	e := refuse(NotFound, "the old text is not in the file",
		"Read that part of the file again and copy the old text from it exactly")
	e.Near = nearest(t.split(), old.lines)
	switch {
	case elided(old.lines):
		e.Kind, e.Detail = Elided, "the old text stands for more lines than it has (a line of it is an ellipsis)"
		e.Advice = "Write out every line of the old text, or make the edit in smaller parts"
	case t.overEscaped(r.Old):
		e.Kind, e.Detail = OverEscaped, "the old text resembles the file only once its backslash escapes are undone"
		e.Advice = "Send both texts unescaped, exactly as they should be in the file"
	case t.htmlEscaped(r.Old):
		e.Kind, e.Detail, e.Advice = OverEscaped, "the old text has HTML entities (such as "+anyOf(entities(r.Old))+") where the file has the plain characters", plainAdvice
	case e.Near != nil && same(levelTrimPunct, e.Near.Have, e.Near.Want):
		e.Advice = "The lines differ in white space or punctuation only; copy them from the file exactly"
	case e.Near == nil && r.Old != "":
		e.Detail += ", and nothing in the file resembles it"
		e.Advice = "Check that this is the right file, and read it again"
	}
	return e
}

// applied looks for the new text in the file, provided that it contains something that the old text
// lacks. It returns its line number, or 0.
func (t *target) applied(r Replacement, old, new []string) int {
	has := make(map[string]bool, len(old))
	for _, o := range old {
		has[weakKey(o)] = true
	}
	fresh := false
	for _, n := range new {
		fresh = fresh || letters(n) > 0 && !has[weakKey(n)]
	}
	if len(new) == 1 {
		fresh = fresh && !strings.Contains(r.Old, new[0])
	}
	if !fresh {
		return 0
	}
	if len(r.New) >= 8 || len(new) > 1 {
		if i := strings.Index(t.lf, r.New); i >= 0 {
			return lineAt(t.lf, i)
		}
	}
	if at := windows(levelTrimPunct, t.split(), new); len(at) > 0 {
		return at[0] + 1
	}
	return 0
}

// elided reports whether a line of a text is an ellipsis, alone or as a comment.
func elided(ls []string) bool {
	for _, l := range ls {
		s := strings.Trim(trimLeft(trimRight(l)), "/*#<!->;{}()[] \t")
		if s == "..." || s == "…" {
			return true
		}
		if (strings.HasPrefix(s, "...") || strings.HasSuffix(s, "...")) && s != trimLeft(trimRight(l)) {
			for _, w := range []string{"existing", "rest of", "unchanged", "remaining", "omitted"} {
				if strings.Contains(s, w) {
					return true
				}
			}
		}
	}
	return false
}

// overEscaped reports whether the text is in the file except for its backslashes.
func (t *target) overEscaped(old string) bool {
	if !strings.Contains(old, `\`) {
		return false
	}
	plain := strings.NewReplacer(`\n`, lf, `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(old)
	b := splitBlock(plain)
	if strings.Contains(old, `\n`) && strings.Contains(strings.ReplaceAll(t.lf, lf, `\n`), old) {
		return true
	}
	return !allBlank(b.lines) && (strings.Contains(t.lf, plain) || len(windows(levelTrimPunct, t.split(), b.lines)) > 0)
}

// maxVotes limits the places considered for one line of the old text: a line that is everywhere
// does not show where the text belongs.
const maxVotes = 16

// nearest finds the window of the file that has most lines in common with old, in time linear in
// both. Every line of old votes for the position at which the text would have to begin for that
// line to match.
func nearest(file []line, old []string) *Near {
	if len(old) == 0 || len(file) == 0 {
		return nil
	}
	where := make(map[string][]int, len(old))
	for j, o := range old {
		if k := trimLeft(trimRight(o)); k != "" && len(where[k]) < maxVotes {
			where[k] = append(where[k], j)
		}
	}
	votes, seen := map[int]int{}, map[string]int{}
	for i := range file {
		k := trimLeft(trimRight(file[i].text))
		js := where[k]
		if js == nil || seen[k] == maxVotes {
			continue
		}
		seen[k]++
		for _, j := range js {
			votes[i-j]++
		}
	}
	start, best := 0, 0
	for s, n := range votes {
		if n > best || n == best && s < start {
			start, best = s, n
		}
	}
	if best == 0 {
		return nearestLine(file, old)
	}
	return nearAt(file, old, start)
}

// nearAt describes the window of the file that has line 0 of old at line start.
func nearAt(file []line, old []string, start int) *Near {
	n := &Near{Start: max(start, 0) + 1, End: min(start+len(old), len(file))}
	for l := levelTrimPunct; l >= levelExact; l-- { // a difference in words is more informative than one in white space
		for j, o := range old {
			i := start + j
			if i < 0 || i >= len(file) {
				continue
			}
			if !same(l, o, file[i].text) {
				n.Line, n.OldLine, n.Have, n.Want = i+1, j+1, cutLong(file[i].text, o), cutLong(o, file[i].text)
				return n
			}
		}
	}
	n.Line, n.OldLine = n.End, len(old) // the window extends beyond an end of the file
	n.Have, n.Want = "(end of file)", old[len(old)-1]
	if start < 0 {
		n.Line, n.OldLine, n.Have, n.Want = 1, 1, "(start of file)", old[0]
	}
	return n
}

// cutLong shortens a long line to the part around its first difference from other.
func cutLong(s, other string) string {
	if len(s) <= maxShown {
		return s
	}
	i := commonPrefix(s, other)
	from := max(0, i-maxShown/2)
	for from > 0 && from < len(s) && s[from]&0xc0 == 0x80 {
		from--
	}
	return s[from:]
}

// Limits of the search for a similar line.
const (
	maxScanned = 1 << 20 // bytes of the file
	gram       = 4       // letters of an n-gram
	gramBits   = 13      // size of the table of n-grams; collisions do no harm to a hint
)

func hashGram(s string) uint32 {
	_ = s[gram-1]
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) * 2654435761 >> (32 - gramBits)
}

// nearestLine handles a text that shares no line with the file: it finds the line most similar to
// the longest line of old, by their common n-grams.
func nearestLine(file []line, old []string) *Near {
	want, at := "", 0
	for j, o := range old {
		if k := trimLeft(trimRight(o)); len(k) > len(want) {
			want, at = k, j
		}
	}
	want = want[:min(len(want), 4*maxShown)]
	if len(want) < gram {
		return nil
	}
	var last [1 << gramBits]int32 // by n-gram: 0 if want lacks it, otherwise 1 more than the line for which it was last counted
	total := 0
	for i := 0; i+gram <= len(want); i++ {
		if h := hashGram(want[i:]); last[h] == 0 {
			last[h] = 1
			total++
		}
	}
	best, start, scanned := total/2, -1, 0
	for i := range file {
		s := file[i].text
		s = s[:min(len(s), 8*maxShown)]
		if scanned += len(s); scanned > maxScanned {
			break
		}
		n, mark := 0, int32(i+2)
		for k := 0; k+gram <= len(s); k++ {
			if h := hashGram(s[k:]); last[h] != 0 && last[h] != mark {
				last[h] = mark
				n++
			}
		}
		if n > best {
			best, start = n, i
		}
	}
	if start < 0 {
		return nil
	}
	return nearAt(file, old, start-at)
}
