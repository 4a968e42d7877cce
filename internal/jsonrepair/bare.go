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

// key repairs the key at the cursor.
func (r *repairer) key() error {
	if r.at(r.i) == '\\' {
		return errEscaped
	}
	if q, ok := quoteAt(r.s, r.i); ok {
		return r.str(q, true)
	}
	if key, next, ok := r.luaKeyAt(r.i); ok {
		r.note(fixBareKey)
		r.encode(key)
		r.i = next
		return nil
	}
	if r.at(r.i) == ':' && isWord(r.at(r.i+1)) {
		r.i++ // Ruby's {:a => 1}
	}
	end := r.i
	for end < len(r.s) && (isWord(r.s[end]) || r.s[end] == '-' || r.s[end] == '.' || r.s[end] >= 0x80 && oddSpace(r.s, end) == 0) && r.separator(end) == 0 {
		end++
	}
	switch {
	case end >= len(r.s):
		return r.truncated("a key")
	case end == r.i:
		return r.fail(Malformed, "a key was expected, not %q", r.s[r.i])
	}
	if next := r.skipBlank(end); r.separator(next) == 0 && r.equalsAt(next) == 0 {
		if r.at(next) == '"' && r.quotedEndsKey(end) {
			r.note(fixMissingQuote)
			r.encode(r.s[r.i:end])
			r.i = next + 1
			return nil
		}
		if next >= len(r.s) {
			return r.truncated("a key")
		}
		if _, quoted := quoteAt(r.s, next); quoted && next > end && !r.quotedKeyAt(next) {
			r.note(fixBareKey) // {a "b"}
			r.encode(r.s[r.i:end])
			r.i = end
			return nil
		}
		return r.fail(Ambiguous, "%q is neither a key nor a value", clip(r.s[r.i:end]))
	}
	r.note(fixBareKey)
	r.encode(r.s[r.i:end])
	r.i = end
	return nil
}

// quotedEndsKey reports whether the bare text that ends at the parameter end is a key whose opening
// quote is missing, as in key": 1.
func (r *repairer) quotedEndsKey(end int) bool {
	return r.at(end) == '"' && r.at(r.skipBlank(end+1)) == ':'
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40]
	}
	return s
}

func (r *repairer) startsCall() bool { return r.startsCallAt(r.i) }

// startsCallAt reports whether a function name and an opening parenthesis are at i.
func (r *repairer) startsCallAt(i int) bool {
	if !isWord(r.at(i)) || isDigit(r.at(i)) {
		return false
	}
	end := i
	for end < i+maxKey && (isWord(r.at(end)) || r.at(end) == '.') {
		end++
	}
	for end < i+maxKey && (r.at(end) == ' ' || r.at(end) == '\t') {
		end++
	}
	return r.at(end) == '('
}

// unwrapCall repairs callback({...}); and ObjectId("..."): the only argument is the value.
func (r *repairer) unwrapCall() error {
	r.i += strings.IndexByte(r.s[r.i:], '(')
	if err := r.push('('); err != nil {
		return err
	}
	r.i++
	r.note(fixWrapper)
	if err := r.value(); err != nil {
		return err
	}
	r.space()
	if r.eof() {
		return r.truncated("a call")
	}
	if r.at(r.i) != ')' {
		return r.fail(Ambiguous, "a call is written around more than one value")
	}
	r.i++
	r.pop()
	return nil
}

// stringPrefix reports whether a Python string prefix and a quote are at the cursor.
func (r *repairer) stringPrefix() bool {
	return strings.IndexByte("ubrf", r.at(r.i)|0x20) >= 0 && (r.at(r.i+1) == '"' || r.at(r.i+1) == '\'')
}

func (r *repairer) startsRegexp() bool {
	_, ok := r.regexpEnd()
	return ok
}

// regexpEnd returns the end of a JavaScript regular expression at the cursor.
func (r *repairer) regexpEnd() (int, bool) {
	if r.at(r.i) != '/' {
		return 0, false
	}
	for j := r.i + 1; j < len(r.s) && r.s[j] != '\n'; j++ {
		switch r.s[j] {
		case '\\':
			j++
		case '/':
			end := j + 1
			for isWord(r.at(end)) {
				end++
			}
			return end, j > r.i+1 && (r.endsAt(end, false))
		}
	}
	return 0, false
}
