package jsonrepair

import "strings"

// fencedValue repairs a list or object in a Markdown fence of its own.
func (r *repairer) fencedValue() error {
	outer := r.fenced
	r.skipFence()
	if c := r.at(r.i); c != '{' && c != '[' {
		return r.fail(Ambiguous, "a Markdown fence is around text; put the text in quotes")
	}
	if err := r.value(); err != nil {
		return err
	}
	r.space()
	if !strings.HasPrefix(r.s[r.i:], "```") {
		if r.eof() {
			return r.truncated("a fence")
		}
		return r.fail(Ambiguous, "a Markdown fence does not end behind the value")
	}
	for r.at(r.i) == '`' {
		r.i++
	}
	r.fenced = outer
	return nil
}

// inBrackets repairs a value that has further brackets around it, and perhaps a fence.
func (r *repairer) inBrackets(end byte) error {
	r.note(fixBraces)
	if err := r.value(); err != nil {
		return err
	}
	r.space()
	switch {
	case r.eof():
		return r.truncated(containerName(end))
	case r.at(r.i) != end:
		return r.fail(Ambiguous, "a value without a key or comma is between brackets")
	}
	r.i++
	r.pop()
	return nil
}

// tuple repairs Python's parentheses: with a comma they become a list, otherwise the single value
// in them.
func (r *repairer) tuple() error {
	start := len(r.out)
	many, err := r.list(')')
	if err != nil {
		return err
	}
	r.note(fixTuple)
	if !many && len(r.out) > start+2 {
		r.out[start] = ' ' // replace the bracket with a space, which JSON allows and which is cheaper than moving the value
		r.out = r.out[:len(r.out)-1]
	}
	return nil
}

// wrongClose handles a closing bracket that does not match the innermost open one.
func (r *repairer) wrongClose(c byte) (done, again bool, err error) {
	if last := r.out[len(r.out)-1]; len(r.stack) > 1 && (last == '{' || last == '[') {
		return false, false, r.fail(Ambiguous, "an empty list or object has the wrong closing bracket")
	}
	open := c - 2 // in ASCII, '[' and '{' are two below their closing brackets
	if c == ')' {
		open = '('
	}
	if r.open(open) && r.wrong && r.top() == '[' {
		r.note(fixWrongClose)
		r.i++
		return true, false, nil
	}
	if r.open(open) {
		if r.memberAfter(r.i+1) && r.top() == '[' && r.up(2) == '{' && r.up(3) != '{' {
			r.note(fixWrongClose) // {"a": [1, 2}, "b": 3}: the next member belongs to the object that } would close
			r.i++
			return true, false, nil
		}
		r.note(fixMissingClose)
		r.mismatch = true
		return true, false, nil
	}
	if r.onlySpaceAfter(r.i + 1) {
		r.note(fixWrongClose)
		r.i++
		return true, false, nil
	}
	return false, true, r.extraClose()
}

// extraClose drops a closing bracket that nothing opened.
func (r *repairer) extraClose() error {
	switch {
	case r.guessed():
		return r.fail(Ambiguous, "quotes inside a string are not escaped, so it is not clear where the string ends")
	case r.unclosed:
		return r.fail(Ambiguous, "a list holds a key; write an object in braces")
	}
	r.note(fixExtraClose)
	r.i++
	return nil
}

// memberAfter reports whether a comma and a key follow position j.
func (r *repairer) memberAfter(j int) bool {
	j = r.skipBlank(j)
	return r.comma(j) > 0 && r.keyAt(r.skipBlank(j+r.comma(j)))
}

func (r *repairer) onlySpaceAfter(j int) bool {
	return r.skipBlank(j) >= len(r.s)
}

// strayMarkAt reports whether a punctuation mark is at i that begins no value.
func (r *repairer) strayMarkAt(i int) bool {
	_, quoted := quoteAt(r.s, i)
	c := r.at(i)
	return !quoted && c < 0x80 && !isWord(c) && strings.IndexByte("{[(-+\\`", c) < 0 && r.word(i) == i
}
