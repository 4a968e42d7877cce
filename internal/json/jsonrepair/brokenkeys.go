package jsonrepair

import "strings"

// brokenMemberAt reports whether a member whose key is broken is at i: it is a number, or it lacks
// a quote or its colon.
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
