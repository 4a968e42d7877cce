package jsonrepair

import "strings"

// ending finds the end of a string whose inner quotes may be unescaped. A quote ends the string if
// the text after the quote can only follow a string: for a key, a colon; for a value, a closing
// bracket, or a comma and the next element. Any other quote belongs to the text.
type ending struct {
	r       *repairer
	q       quote
	key     bool
	doubled bool // the string opened with two quotes
	start   int

	end, next   int  // end of the content; position after the closing quote
	inner       int  // number of unescaped quotes in the content
	closing     bool // the first inner quote looks like one that closes
	pair        bool // the last inner quote opens a pair, as in say "hi
	closedTwice bool // the string closed with two quotes
	depth       int  // brackets open inside the text
	member      bool // the text contains something that looks like the next member, outside brackets
}

func (e *ending) find() error {
	s, firstQuote := e.r.s, -1
	for j := e.start; j < len(s); {
		c := s[j]
		switch {
		case c == '\\':
			j += 2
			continue
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth = max(0, e.depth-1)
		case e.key && j > e.start+32*maxKey, e.key && c == '\n' && e.inner > 0:
			return e.fail(j, "a key does not end")
		}
		n := e.q.closes(s, j)
		if n == 0 {
			j++
			continue
		}
		if firstQuote < 0 {
			firstQuote = j
		}
		if done, err := e.tryQuote(j, n); done || err != nil {
			return err
		}
		e.pair = !e.pair && e.opens(j, n)
		if e.inner++; e.inner == 1 {
			e.closing = !e.pair
		}
		j += n
	}
	return e.unended(firstQuote)
}

func (e *ending) fail(at int, msg string) error {
	return &Error{Kind: Ambiguous, Offset: at, Msg: msg}
}

// tryQuote interprets the quote at j, which is n bytes long.
func (e *ending) tryQuote(j, n int) (done bool, err error) {
	r := e.r
	if e.doubled && e.q.closes(r.s, j+n) > 0 && e.accepts(j+2*n) {
		e.closedTwice = true
		e.end, e.next = j, j+2*n
		return true, nil
	}
	if e.accepts(j + n) {
		return true, e.close(j, j+n)
	}
	if e.inner == 0 && r.top() == '{' && !e.key && r.quotedKeyAt(j) {
		if comma := r.commaBefore(j, e.start); comma >= 0 {
			r.note(fixMissingQuote) // {"a": "text, "b": 1}
			e.end, e.next = comma, comma
			return true, nil
		}
	}
	if !e.member && e.depth == 0 && r.commaBefore(j, e.start) >= 0 {
		_, open := r.openKey(e.q, j+n)
		e.member = open || r.quotedKeyAt(j)
	}
	if c := r.skipBlank(j + n); e.inner == 0 && r.comma(c) > 0 && !e.opens(j, n) {
		_, quoted := quoteAt(r.s, r.skipBlank(c+r.comma(c)))
		e.member = e.member || quoted
	}
	if c := r.at(r.skipBlank(j + n)); e.key && e.inner == 0 && (c == ',' || c == '}') {
		return false, e.fail(j, "a key has no value")
	}
	if e.inner == 0 && r.top() == '[' && r.at(r.skipBlank(j+n)) == ':' {
		return false, e.fail(j, "a list holds a key; write an object in braces")
	}
	if r.joined(j + n) {
		return false, e.fail(j, "strings are joined with +; write one string")
	}
	return false, nil
}

// opens reports whether the quote at j opens a pair inside the text: that is, whether it precedes a
// word rather than follows one.
func (e *ending) opens(j, n int) bool {
	s := e.r.s
	before := j == e.start || strings.IndexByte(" \t\n([{=,:<>+", s[j-1]) >= 0
	return before && j+n < len(s) && !isSpace(s[j+n])
}

// close ends the string at the quote at the parameter end, unless the contents make that a guess.
func (e *ending) close(end, next int) error {
	switch {
	case e.inner > 0 && e.member:
		return e.fail(end, "a quote is missing or not escaped, and it is not clear which members belong to the string")
	case e.inner%2 == 1 && !e.key && e.r.top() == '[':
		return e.fail(end, "quotes in a list are not escaped, and it is not clear where its strings end")
	case e.inner > 0 && e.closing && !e.key && e.r.top() == '[':
		return e.fail(end, "quotes in a list are not escaped, and it is not clear where its strings end")
	case e.inner%2 == 1 && !e.key && !e.doubled && e.extra(end):
		return e.fail(end, "a quote is doubled or not escaped, and it is not clear which")
	}
	e.end, e.next = end, next
	return nil
}

// extra reports whether the quote at the parameter end follows another one. Outside lists and
// objects, 72"" is read as inches.
func (e *ending) extra(end int) bool {
	s := strings.TrimRight(e.r.s[e.start:end], " \t\r\n")
	return len(s) > 1 && e.q.plain && s[len(s)-1] == '"' && (len(e.r.stack) > 0 || !isDigit(s[len(s)-2]))
}

// accepts reports whether a string can have ended before position i.
func (e *ending) accepts(i int) bool {
	r := e.r
	j := r.skipBlank(i)
	if e.key {
		return (r.separator(j) > 0 || e.inner == 0 && r.equalsAt(j) > 0) && e.plainKey(i) || e.inner == 0 && e.valueFollows(i, j)
	}
	if r.at(j) == '#' && j > i {
		j = r.skipComments(j)
	}
	if e.pair || e.inner > 0 && e.depth > 0 {
		return false // the quote closes a pair inside the text, or is inside brackets of JSON or code within the string
	}
	if j >= len(r.s) {
		return true
	}
	if n := r.comma(j); n > 0 {
		return e.commaAccepts(r.skipBlank(j + n))
	}
	switch c := r.at(j); c {
	case '}', ']', ')':
		return r.closesWell(j)
	case ';':
		return e.inner == 0 && j+1 < len(r.s) && e.commaAccepts(r.skipBlank(j+1))
	case '`':
		return r.fenced && strings.HasPrefix(r.s[j:], "```")
	}
	blank := j > i
	switch r.top() {
	case '{':
		if e.inner == 0 && !blank && !e.doubled && r.tightMemberAt(j) {
			return true // {"a":"x""b":1}
		}
		if e.inner == 0 && blank && r.brokenMemberAt(j) {
			return true
		}
		return blank && (r.quotedKeyAt(j) || strings.Contains(r.s[i:j], "\n") && r.bareKeyAt(j))
	case '[':
		_, quoted := quoteAt(r.s, j)
		if !blank && quoted && j > e.start+1 {
			return e.inner == 0 && !e.doubled && !isSpace(r.s[j-2]) && isWord(r.at(j+1)) // ["a""b"]
		}
		return blank && e.inner == 0 && (quoted || r.wholeValueAt(j))
	}
	return false
}

// plainKey reports whether the text up to the quote before i can be a key: one with an inner quote
// or a line break holds nothing that separates members.
func (e *ending) plainKey(i int) bool {
	return e.inner == 0 && !e.holds(i, "\n") || !e.holds(i, ":,{}[]")
}

// valueFollows reports whether the key that ends before i has a value at j, without a colon.
func (e *ending) valueFollows(i, j int) bool {
	_, quoted := quoteAt(e.r.s, j)
	return (j > i || !quoted) && e.r.valueAt(j) && !e.r.quotedKeyAt(j) && !e.holds(i, "\n")
}

// holds reports whether the text up to position i contains any of chars.
func (e *ending) holds(i int, chars string) bool {
	return strings.ContainsAny(e.r.s[e.start:i], chars)
}

// commaAccepts reports whether position j, after a comma, starts the next element.
func (e *ending) commaAccepts(j int) bool {
	r := e.r
	if j >= len(r.s) || ellipsisAt(r.s, j) > 0 {
		return true
	}
	switch c := r.at(j); c {
	case '}', ']', ')', ',':
		return true
	case '{':
		return r.top() != '{' || r.up(2) == '['
	}
	if r.top() == '{' {
		if r.at(j) == '#' {
			j = r.skipComments(j)
		}
		return r.keyAt(j) || r.strayBeforeKey(j) || e.inner == 0 && r.brokenMemberAt(j)
	}
	return e.inner == 0 || r.valueAt(j)
}

// unended handles a string that no quote could end.
func (e *ending) unended(firstQuote int) error {
	if e.inner == 1 && !e.key && e.r.top() == '{' && strayEnd.MatchString(e.r.s[firstQuote+1:]) {
		e.end, e.next, e.inner = firstQuote, firstQuote+1, 0
		return nil // {"a": "text" word}: drop the stray word
	}
	if last := lastByte(e.r.s); e.inner > 0 && (last == "}" || last == "]") {
		return e.fail(e.start, "quotes inside a string are not escaped, and it is not clear where it ends")
	}
	return e.r.truncated("a string")
}
