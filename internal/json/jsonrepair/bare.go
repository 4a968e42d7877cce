package jsonrepair

import (
	"regexp"
	"strings"
)

var strayEnd = regexp.MustCompile(`^\s+[A-Za-z0-9_]+\s*\}`)

// bare repairs a value without quotes: a literal, a number, a call around a value, or text.
func (r *repairer) bare() error {
	if r.startsCall() {
		return r.unwrapCall()
	}
	r.scalars++
	if r.stringPrefix() {
		r.i++
		r.note(fixQuotes)
		q, _ := quoteAt(r.s, r.i)
		return r.str(q, false)
	}
	start := r.i
	end, quoted, err := r.bareEnd()
	if err != nil {
		return err
	}
	text := strings.TrimRight(r.s[start:end], " \t\r\n")
	r.i = end
	if quoted {
		r.i++
		r.note(fixMissingQuote)
		r.encode(text)
		return nil
	}
	if text == "" {
		return r.fail(Malformed, "unexpected %q", r.s[start:min(start+1, len(r.s))])
	}
	if len(r.stack) == 0 && end >= len(r.s) && cutShort(text) {
		return r.truncated("a value")
	}
	return r.scalar(text)
}

// bareEnd returns the end of the bare text at the cursor, and whether the text ends with a quote
// whose opening quote is missing.
func (r *repairer) bareEnd() (end int, quoted bool, err error) {
	if end, ok := r.regexpEnd(); ok {
		return end, false, nil
	}
	if end, ok := r.wordEnd(); ok {
		return end, false, nil
	}
	for j := r.i; j < len(r.s); j++ {
		c := r.s[j]
		if r.comma(j) > 1 {
			c = ','
		}
		switch c {
		case '\n', '}', ']':
			return j, false, nil
		case ';':
			if next := r.skipBlank(j + 1); r.top() == '{' && (r.keyAt(next) || r.at(next) == '}') {
				return j, false, nil
			}
		case ')':
			if r.open('(') {
				return j, false, nil
			}
		case ',':
			if r.top() != '{' || r.nextMember(r.skipBlank(j+r.comma(j))) {
				return j, false, nil
			}
		case '{', '[':
			r.i = j
			return 0, false, r.fail(Ambiguous, "text without quotes holds a bracket; put it in quotes")
		case '/', '#':
			switch n := r.comment(j, len(r.s)); {
			case n == 0 || j == r.i:
			case isSpace(r.s[j-1]) && endsQuoted(r.s[j:j+n]):
				r.i = j
				return 0, false, r.fail(Ambiguous, "a comment ends with a quote, so it may belong to the text; put the text in quotes")
			case isSpace(r.s[j-1]):
				return j, false, nil
			case strings.HasPrefix(r.s[j:], "/*") && n > len("/**/"):
				r.i = j
				return 0, false, r.fail(Ambiguous, "a comment is inside text without quotes; put the text in quotes")
			}
		case '`':
			if r.fenced && strings.HasPrefix(r.s[j:], "```") {
				return j, false, nil
			}
		case ' ':
			if r.top() == '{' && r.bareMemberAt(j+1) {
				r.i = j
				return 0, false, r.fail(Ambiguous, "text without quotes holds what may be the next member; put it in quotes")
			}
		case '"':
			return r.quoteInBare(j)
		}
	}
	return len(r.s), false, nil
}

// endsQuoted reports whether a comment holds a quote that may end text without its first quote.
func endsQuoted(comment string) bool {
	i := strings.IndexByte(comment, '"')
	if i < 0 {
		return false
	}
	rest := strings.TrimLeft(comment[i+1:], " \t\r\n")
	return rest == "" || strings.IndexByte(",}]", rest[0]) >= 0
}

// quoteInBare interprets a quote in bare text: it begins the next key after a missing comma, or
// ends a string whose opening quote is missing.
func (r *repairer) quoteInBare(j int) (end int, quoted bool, err error) {
	if r.top() == '{' && r.quotedKeyAt(j) && j > r.i && isSpace(r.s[j-1]) {
		return j, false, nil
	}
	if next := r.skipBlank(j + 1); next >= len(r.s) && len(r.stack) == 0 || strings.ContainsAny(string(r.at(next)), ",}]") && next < len(r.s) {
		return j, true, nil
	}
	r.i = j
	return 0, false, r.fail(Ambiguous, "text is only partly in quotes")
}

// nextMember reports whether position j, after a comma in an object, starts another member or the
// end of the object.
func (r *repairer) nextMember(j int) bool {
	switch r.at(j) {
	case 0, '}', ']', ',':
		return true
	case '{':
		return r.up(2) == '['
	}
	if next := r.skipComments(j); next > j && r.keyAt(next) {
		return true
	}
	return r.keyAt(j) || ellipsisAt(r.s, j) > 0 || r.strayBeforeKey(j) || r.halfKeyAt(j)
}

// strayBeforeKey reports whether one upper-case word followed by a quoted key is at j, as in
// COMMENT "key": 1.
func (r *repairer) strayBeforeKey(j int) bool {
	end := j
	for end < j+maxKey && isWord(r.at(end)) {
		end++
	}
	next := r.skipBlank(end)
	return end > j && next > end && r.quotedKeyAt(next)
}

// dropStray removes a bare word before a key or before the end of the object.
func (r *repairer) dropStray(first bool) (bool, error) {
	if !isWord(r.at(r.i)) || r.bareKeyAt(r.i) {
		return false, nil
	}
	end := r.i
	for isWord(r.at(end)) {
		end++
	}
	next := r.skipBlank(end)
	if r.strayBeforeKey(r.i) || !first && r.at(next) == '}' {
		r.note(fixStray)
		r.i = end
		return true, nil
	}
	return false, nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40]
	}
	return s
}
