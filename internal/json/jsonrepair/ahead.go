package jsonrepair

import "strings"

// lastByte returns the last non-blank byte of s, as a string.
func lastByte(s string) string {
	s = strings.TrimRight(s, " \t\r\n`")
	if s == "" {
		return ""
	}
	return s[len(s)-1:]
}

// closesWell reports whether the text after the closing bracket at j can follow a closing bracket.
func (r *repairer) closesWell(j int) bool {
	depth := len(r.stack)
	for depth > 0 && (r.at(j) == '}' || r.at(j) == ']' || r.at(j) == ')') {
		j = r.skipBlank(j + 1)
		depth--
	}
	if depth == 0 {
		_, quoted := quoteAt(r.s, j)
		return !quoted
	}
	switch {
	case j >= len(r.s), r.comma(j) > 0, r.at(j) == ';', strings.HasPrefix(r.s[j:], "```"):
		return true
	case r.stack[depth-1] == '{':
		return r.quotedKeyAt(j) || isSpace(r.s[j-1]) && r.bareMemberAt(j)
	}
	return r.at(j) == '{' || r.at(j) == '['
}

// commaBefore returns the position of the comma that is before j with only blanks between, or -1.
func (r *repairer) commaBefore(j, limit int) int {
	for j--; j >= limit && isSpace(r.s[j]); j-- {
	}
	if j >= limit && r.s[j] == ',' {
		return j
	}
	return -1
}

// valueAt reports whether a value that is not bare text starts at j.
func (r *repairer) valueAt(j int) bool {
	switch c := r.at(j); {
	case c == '{', c == '[', c == '(', c == '-', isDigit(c):
		return true
	}
	if _, ok := quoteAt(r.s, j); ok {
		return true
	}
	end := j
	for isWord(r.at(end)) {
		end++
	}
	_, ok := literals[r.s[min(j, len(r.s)):end]]
	return ok
}

// joined reports whether a plus sign and another quote follow.
func (r *repairer) joined(j int) bool {
	j = r.skipBlank(j)
	if r.at(j) != '+' {
		return false
	}
	_, ok := quoteAt(r.s, r.skipBlank(j+1))
	return ok
}
