package jsonrepair

import "strings"

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
