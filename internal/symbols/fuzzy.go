package symbols

import (
	"bytes"
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Fuzzy returns up to limit defined names that a person who typed s may mean, the best first. In
// order: the name itself, names with that prefix, names whose parts have such prefixes (gsn for
// getServerName), names that contain s, names that contain the letters of s in order, and names
// that differ from s by at most two typing mistakes.
func (x *Index) Fuzzy(s string, limit int) []Name {
	if s == "" || len(s) > 200 {
		return nil
	}
	q := query{text: s, fold: fold(s)}
	q.bytes = []byte(q.fold)
	var out []Name
	for g := range x.groups() {
		x.group(g, func(_ int, b []byte, n Name) bool {
			if n.Defs > 0 {
				if score := q.score(b); score > 0 {
					n.Name, n.Score = string(b), score
					out = append(out, n)
				}
			}
			return true
		})
	}
	return best(out, limit, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Defs, a.Defs), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

func best(names []Name, limit int, order func(a, b Name) int) []Name {
	slices.SortFunc(names, order)
	return names[:min(max(limit, 0), len(names))]
}

type query struct {
	text, fold string
	bytes      []byte // of fold
	buf        []byte
	rows       [3][256]uint8 // for the edit distance
}

// score rates how well a name matches. It returns 0 if the name does not match.
func (q *query) score(name []byte) float64 {
	if string(name) == q.text {
		return 1
	}
	folded := q.lower(name)
	if !subsequence(folded, q.fold) { // in this case it is not a substring, prefix or sequence of parts either
		return q.slips(folded)
	}
	share := float64(len(q.fold)) / float64(max(len(folded), 1))
	switch {
	case string(folded) == q.fold:
		return 0.95
	case bytes.HasPrefix(folded, q.bytes):
		return 0.8 + 0.1*share
	}
	score := 0.0
	if humps(string(name), q.fold) {
		score = 0.65 + 0.1*min(share*3, 1)
	}
	switch {
	case bytes.Contains(folded, q.bytes):
		score = max(score, 0.55+0.1*share)
	case len(q.fold) > 2:
		score = max(score, 0.2+0.2*share)
	}
	return max(score, q.slips(folded))
}

// lower returns a name in lower case, in memory that the next call reuses.
func (q *query) lower(name []byte) []byte {
	q.buf = q.buf[:0]
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return []byte(fold(string(name)))
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		q.buf = append(q.buf, c)
	}
	return q.buf
}

// slips returns the score of a name with one or two typing mistakes, if the words are long enough.
func (q *query) slips(folded []byte) float64 {
	if len(q.fold) < 3 {
		return 0
	}
	if d := q.distance(folded); d <= 2 && d*3 <= len(q.fold) {
		return 0.8 - 0.12*float64(d)
	}
	return 0
}

// subsequence reports whether the letters of q occur in s in order.
func subsequence(s []byte, q string) bool {
	i := 0
	for j := 0; i < len(q) && j < len(s); j++ {
		if s[j] == q[i] {
			i++
		}
	}
	return i == len(q)
}

// humps reports whether q consists of prefixes of the parts of a name, in order, starting with the
// first or second part: gsn, getSN and servn match get_server_name and getServerName.
func humps(name, q string) bool {
	parts := splitParts(name)
	for first := range min(2, len(parts)) {
		if humpsFrom(parts[first:], q, 400) {
			return true
		}
	}
	return false
}

func humpsFrom(parts []string, q string, budget int) bool {
	type state struct{ part, at int }
	open := []state{{0, 0}}
	for ; len(open) > 0 && budget > 0; budget-- {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if s.at == len(q) {
			return true
		}
		if s.part == len(parts) {
			continue
		}
		if s.part > 0 {
			open = append(open, state{s.part + 1, s.at}) // skip a part
		}
		p := parts[s.part]
		for n := 0; n < len(p) && s.at+n < len(q) && p[n] == q[s.at+n]; n++ {
			open = append(open, state{s.part + 1, s.at + n + 1})
		}
	}
	return false
}

// splitParts returns the lower-cased words of a name: get_serverName2 has get, server, name2.
func splitParts(name string) []string {
	var parts []string
	start := 0
	var before rune
	for i, c := range name {
		switch {
		case c == '_' || c == '$' || c == '-':
			if i > start {
				parts = append(parts, name[start:i])
			}
			start = i + utf8.RuneLen(c)
		case unicode.IsUpper(c) && i > start && (!unicode.IsUpper(before) || nextLower(name[i:])):
			parts = append(parts, name[start:i])
			start = i
		}
		before = c
	}
	if start < len(name) {
		parts = append(parts, name[start:])
	}
	for i, p := range parts {
		parts[i] = fold(p)
	}
	return parts
}

// nextLower reports whether the second letter of s is in lower case, as after the S in HTTPServer.
func nextLower(s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	c, _ := utf8.DecodeRuneInString(s[n:])
	return unicode.IsLower(c)
}

// distance returns the number of letters to insert, delete, change or swap with their neighbour in
// order to get from one word to the other, or 3 if it is more than two.
func (q *query) distance(s []byte) int {
	a, b := q.fold, s
	if d := len(a) - len(b); d > 2 || d < -2 || len(a) > 250 || len(b) > 250 {
		return 3
	}
	last2, last, row := &q.rows[0], &q.rows[1], &q.rows[2]
	for j := range len(b) + 1 {
		last[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = uint8(i)
		low := row[0]
		for j := 1; j <= len(b); j++ {
			v := last[j-1]
			if a[i-1] != b[j-1] {
				v = min(v, last[j], row[j-1]) + 1
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				v = min(v, last2[j-2]+1)
			}
			row[j] = v
			low = min(low, v)
		}
		if low > 2 {
			return 3
		}
		last2, last, row = last, row, last2
	}
	return int(last[len(b)])
}
