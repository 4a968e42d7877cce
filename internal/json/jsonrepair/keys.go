package jsonrepair

import "strings"

// maxKey limits the look-ahead for a key.
const maxKey = 128

// keyAt reports whether a key with its colon is at i: in quotes, or a bare word.
func (r *repairer) keyAt(i int) bool {
	_, _, lua := r.luaKeyAt(i)
	return lua || r.quotedKeyAt(i) || r.bareKeyAt(i)
}

func (r *repairer) quotedKeyAt(i int) bool {
	q, ok := quoteAt(r.s, i)
	if !ok {
		return false
	}
	start := i + q.size
	if q.closes(r.s, start) > 0 {
		start += q.size // ""key"":
	}
	lines := false
	for j := start; j < len(r.s) && j < start+maxKey; {
		lines = lines || r.s[j] == '\n'
		if r.s[j] == '\\' {
			j += 2
			continue
		}
		if n := q.closes(r.s, j); n > 0 {
			end := j
			if q.closes(r.s, j+n) > 0 {
				j += n
			}
			return end > start && r.separator(r.skipBlank(j+n)) > 0 && (!lines || words(r.s[start:end]))
		}
		j++
	}
	return false
}

func (r *repairer) bareKeyAt(i int) bool {
	if r.equals && r.at(i) == ':' {
		i++ // {:a => 1}
	}
	j := i
	for j < len(r.s) && j < i+maxKey && (isWord(r.s[j]) || j > i && (r.s[j] == '-' || r.s[j] == '.')) {
		j++
	}
	if j == i || isDigit(r.s[i]) {
		return false
	}
	j = r.skipBlank(j)
	return r.separator(j) > 0 && r.at(j+1) != '/'
}

// halfKeyAt reports whether a key without its first quote is at i: key": 1.
func (r *repairer) halfKeyAt(i int) bool {
	j := i
	for j < len(r.s) && j < i+maxKey && (isWord(r.s[j]) || j > i && (r.s[j] == '-' || r.s[j] == '.')) {
		j++
	}
	return j > i && r.quotedEndsKey(j)
}

// bareMemberAt reports whether a key without quotes (a number, too) and a value that is not bare
// text are at i.
func (r *repairer) bareMemberAt(i int) bool {
	if r.equals && r.at(i) == ':' {
		i++
	}
	j := i
	for j < len(r.s) && j < i+maxKey && (isWord(r.s[j]) || j > i && (r.s[j] == '-' || r.s[j] == '.')) {
		j++
	}
	if j == i {
		return false
	}
	j = r.skipBlank(j)
	n := r.separator(j)
	return n > 0 && r.valueAt(r.skipBlank(j+n))
}

// separator returns the length of what separates a key from its value at i, or 0: a colon, or the
// equals sign or arrow of a text that separates keys in that way.
func (r *repairer) separator(i int) int {
	switch {
	case i >= len(r.s):
		return 0
	case strings.HasPrefix(r.s[i:], "::"):
		return 2
	case r.s[i] == ':':
		return 1
	case strings.HasPrefix(r.s[i:], "："):
		return len("：")
	case r.equals:
		return r.equalsAt(i)
	}
	return 0
}

// comma returns the length of a comma at i, or 0.
func (r *repairer) comma(i int) int {
	switch {
	case r.at(i) == ',':
		return 1
	case r.at(i) >= 0x80 && strings.HasPrefix(r.s[i:], "，"):
		return len("，")
	}
	return 0
}

// equalsAt returns the length of an equals sign or arrow at i, or 0.
func (r *repairer) equalsAt(i int) int {
	for _, s := range []string{"=>", "->", ":=", "="} {
		if i < len(r.s) && strings.HasPrefix(r.s[i:], s) && r.at(i+len(s)) != '=' {
			return len(s)
		}
	}
	return 0
}

// words reports whether a key consists of letters, digits, dots, dashes and blanks.
func words(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) && !isSpace(s[i]) && s[i] != '-' && s[i] != '.' && s[i] < 0x80 {
			return false
		}
	}
	return true
}
