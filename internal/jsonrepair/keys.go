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

// bareMemberAt reports whether a key without quotes (a number, too) and a value that is not bare text
// are at i.
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

// brokenMemberAt reports whether a member whose key is broken is at i: it is a number, or it lacks a
// quote or its colon.
func (r *repairer) brokenMemberAt(i int) bool {
	if r.bareMemberAt(i) || r.halfKeyAt(i) {
		return true
	}
	q, ok := quoteAt(r.s, i)
	if !ok {
		return false
	}
	start := i + q.size
	if _, ok := r.openKey(q, start); ok {
		return true
	}
	end, ok := r.plainKeyEnd(q, start)
	value := r.skipBlank(end)
	return ok && r.valueAt(value) && !r.quotedKeyAt(value) && r.at(value) != '-'
}

// plainKeyEnd returns the position after the closing quote of a key that begins at start and
// consists of words.
func (r *repairer) plainKeyEnd(q quote, start int) (int, bool) {
	end := start
	for end < len(r.s) && end < start+maxKey && q.closes(r.s, end) == 0 && words(r.s[end:end+1]) {
		end++
	}
	n := q.closes(r.s, end)
	return end + n, n > 0 && end > start
}

// tightMemberAt reports whether a complete member with a plain key is at i, where no blank is.
func (r *repairer) tightMemberAt(i int) bool {
	q, ok := quoteAt(r.s, i)
	if !ok {
		return false
	}
	end, ok := r.plainKeyEnd(q, i+q.size)
	colon := r.skipBlank(end)
	n := r.separator(colon)
	return ok && n > 0 && r.valueAt(r.skipBlank(colon+n))
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

// luaKeyAt returns the words in a key such as ["a"] = and the position after its bracket.
func (r *repairer) luaKeyAt(i int) (key string, end int, ok bool) {
	q, quoted := quoteAt(r.s, i+1)
	if r.at(i) != '[' || !quoted {
		return "", 0, false
	}
	start := i + 1 + q.size
	end, ok = r.plainKeyEnd(q, start)
	if !ok || r.at(end) != ']' || r.equalsAt(r.skipBlank(end+1)) == 0 {
		return "", 0, false
	}
	return r.s[start : end-q.size], end + 1, true
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

// openKey returns the end of a key at i, behind its first quote, whose closing quote is missing:
// "a: 1. The text up to the next quote is then no key.
func (r *repairer) openKey(q quote, i int) (end int, ok bool) {
	for end = i; end < len(r.s) && end < i+maxKey && (isWord(r.s[end]) || r.s[end] == '-' || r.s[end] == '.'); end++ {
	}
	colon := r.skipBlank(end)
	n := r.separator(colon)
	if end == i || n == 0 {
		return 0, false
	}
	value := r.skipBlank(colon + n)
	if !r.valueAt(value) {
		return 0, false
	}
	close := strings.IndexAny(r.s[value:], "\n"+q.closers)
	if close < 0 || r.s[value+close] == '\n' {
		return end, r.word(value) > value || r.at(value) == '{' || r.at(value) == '['
	}
	close += value
	if n := q.closes(r.s, close); n > 0 && r.separator(r.skipBlank(close+n)) > 0 {
		return end, strings.Contains(r.s[value:close], ",") && r.word(value) > value // "a: 1, b": 2
	}
	return end, true
}
