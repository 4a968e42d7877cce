package edit

import (
	"strings"
)

// unescaping undoes one way in which a model may have escaped texts once too often. It fails if the
// two texts are not escaped consistently.
type unescaping func(r Replacement) (Replacement, bool)

// escaped tries the old text with its escapes undone. If two ways of undoing them both match and
// lead to different results, the edit is refused.
func (t *target) escaped(r Replacement) (*found, error) {
	if !strings.Contains(r.Old, `\`) {
		return nil, nil
	}
	var best *found
	for _, undo := range []unescaping{unescapeQuotes, unescapeAll, t.unescapeLines, t.unescapeQuotedLines} {
		u, ok := undo(r)
		if !ok || u.Old == r.Old {
			continue
		}
		f, err := t.plain(u)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		if best != nil && !sameChanges(best.changes, f.changes) {
			return nil, refuse(OverEscaped, "the old text matches once its backslash escapes are undone, but the new text can then be read in two ways",
				"Send both texts unescaped, exactly as they should be in the file")
		}
		best = f
	}
	if best != nil {
		best.strategy = "unescaped+" + best.strategy
		best.notes = append(best.notes, "both texts were escaped once too often and were unescaped; send them as they should be in the file")
	}
	return best, nil
}

func sameChanges(a, b []change) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// unescapeQuotes removes the backslash before every quote, if every quote has one.
func unescapeQuotes(r Replacement) (Replacement, bool) {
	done := false
	for _, q := range []string{`"`, `'`, "`"} {
		all := strings.Count(r.Old, q)
		if all == 0 || strings.Count(r.Old, `\`+q) != all {
			continue
		}
		if strings.Count(r.New, q) != strings.Count(r.New, `\`+q) {
			return r, false
		}
		r.Old, r.New = strings.ReplaceAll(r.Old, `\`+q, q), strings.ReplaceAll(r.New, `\`+q, q)
		done = true
	}
	return r, done
}

// unescapeAll undoes a whole round of string escapes, as in JSON. Every backslash of both texts
// must start an escape and every double quote must be escaped. Line breaks must be either all
// escaped or all real.
func unescapeAll(r Replacement) (Replacement, bool) {
	real := strings.Contains(r.Old, lf)
	o, ok := unescapeString(r.Old, !real)
	n, ok2 := unescapeString(r.New, !real)
	if !ok || !ok2 || !real && strings.Contains(r.New, lf) {
		return r, false
	}
	r.Old, r.New = o, n
	return r, true
}

func unescapeString(s string, control bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return "", false
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		switch c = s[i]; {
		case c == '\\' || c == '"':
			b.WriteByte(c)
		case control && c == 'n':
			b.WriteByte('\n')
		case control && c == 't':
			b.WriteByte('\t')
		case control && c == 'r' && strings.HasPrefix(s[i+1:], `\n`): // a CRLF line ending
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescapeQuotedLines undoes escaped quotes and escaped line breaks together.
func (t *target) unescapeQuotedLines(r Replacement) (Replacement, bool) {
	u, ok := unescapeQuotes(r)
	if !ok {
		return r, false
	}
	return t.unescapeLines(u)
}

// unescapeLines handles a text on one line in which \n stands for the line breaks. The text may
// also contain string literals with a genuine \n, so the file decides about each: the old text is
// searched for in a view of the file in which line breaks are spelled \n too.
func (t *target) unescapeLines(r Replacement) (Replacement, bool) {
	if strings.Contains(r.Old, lf) || strings.Contains(r.New, lf) || !strings.Contains(r.Old, `\n`) {
		return r, false
	}
	view := strings.ReplaceAll(t.lf, lf, `\n`)
	at := occurrences(view, r.Old)
	if len(at) == 0 {
		return r, false
	}
	breaks, old, ok := t.spell(at[0], r.Old)
	if !ok {
		return r, false
	}
	for _, i := range at[1:min(len(at), maxVotes)] {
		if _, other, ok := t.spell(i, r.Old); !ok || other != old {
			return r, false // it is ambiguous
		}
	}
	n, ok := respell(strings.Split(r.Old, `\n`), strings.Split(r.New, `\n`), breaks)
	if !ok {
		return r, false
	}
	r.Old, r.New = old, n
	return r, true
}

// spell looks at the text that is at offset at of the view with spelled-out line breaks. It returns
// which of its \n are line breaks of the file, and the text as it is in the file. The first and the
// last element of breaks are for the ends of the text.
func (t *target) spell(at int, text string) (breaks []bool, old string, ok bool) {
	start, v := 0, 0 // the same place in t.lf and in the view
	for v < at {
		i := strings.IndexByte(t.lf[start:], '\n')
		if i < 0 || v+i >= at {
			start, v = start+at-v, at
			break
		}
		start, v = start+i+1, v+i+2
	}
	if v != at {
		return nil, "", false // it begins inside a line break
	}
	p := start
	breaks = append(breaks, p == 0 || t.lf[p-1] == '\n')
	for i := 0; i < len(text); {
		switch {
		case t.lf[p] == '\n':
			if !strings.HasPrefix(text[i:], `\n`) {
				return nil, "", false // it ends inside a line break
			}
			breaks = append(breaks, true)
			i += 2
			p++
		case strings.HasPrefix(text[i:], `\n`):
			breaks = append(breaks, false)
			i += 2
			p += 2
		default:
			i++
			p++
		}
	}
	breaks = append(breaks, p == len(t.lf) || t.lf[p] == '\n')
	return breaks, t.lf[start:p], true
}

// respell joins the pieces of the new text with line breaks or with a genuine \n, as in the old
// text. breaks[i] refers to what is before old[i], breaks[i+1] to what is after it. Between pieces
// that the old text does not have there must clearly be a line break.
func respell(old, new []string, breaks []bool) (string, bool) {
	from := matchPieces(old, new)
	begins := func(i int) bool { return i >= 0 && breaks[i] && (breaks[i+1] || letters(old[i]) >= minWordLine) }
	ends := func(i int) bool { return i >= 0 && breaks[i+1] && (breaks[i] || letters(old[i]) >= minWordLine) }
	var b strings.Builder
	text := "" // the line so far
	for j, piece := range new {
		b.WriteString(piece)
		text += piece
		if j == len(new)-1 {
			break
		}
		l, r := from[j], from[j+1]
		isBreak := true
		switch {
		case l >= 0 && r == l+1:
			isBreak = breaks[r]
		case ends(l), begins(r):
		case l >= 0 && !breaks[l+1]: // the line continues, but with different words
			if isBreak = false; !quoteOpen(text) {
				return "", false
			}
		case r >= 0 && !breaks[r], !surelyBreak(text, new[j+1]):
			return "", false
		}
		if isBreak {
			b.WriteByte('\n')
			text = ""
		} else {
			b.WriteString(`\n`)
			text += `\n`
		}
	}
	return b.String(), true
}

// matchPieces returns, for every piece of new, the index of the piece of old that is equal except
// for its indentation, or -1 if there is none.
func matchPieces(old, new []string) []int {
	in := interner{}
	number := func(ls []string) []int32 {
		out := make([]int32, len(ls))
		for i, l := range ls {
			out[i] = in.number(trimLeft(l))
		}
		return out
	}
	a, b := number(old), number(new)
	from := make([]int, len(new))
	for i := range from {
		from[i] = -1
	}
	for _, p := range diff(a, b) {
		from[p.b] = p.a
	}
	return from
}

// surelyBreak reports whether a \n after text ends the line: no string is open, and it is not in a
// comment.
func surelyBreak(text, next string) bool {
	if quoteOpen(text) {
		return false
	}
	for _, mark := range []string{"//", "#", "--", "/*", "*"} {
		if strings.Contains(text, mark) {
			return strings.HasPrefix(trimLeft(next), mark)
		}
	}
	return true
}

// quoteOpen reports whether a line may end inside a string.
func quoteOpen(text string) bool {
	for _, q := range []string{`"`, `'`, "`"} {
		if (strings.Count(text, q)-strings.Count(text, `\`+q))%2 != 0 {
			return true
		}
	}
	return false
}
