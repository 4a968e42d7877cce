package jsonrepair

import "strings"

// document finds the one value in the text, repairs it, and checks that nothing significant is left
// around it.
func (r *repairer) document() error {
	r.space()
	r.skipFence()
	r.space()
	if r.eof() {
		return r.fail(Malformed, "there is no JSON")
	}
	if !r.startsValue() && !r.startsCall() && !r.startsRegexp() {
		r.skipProse()
	}
	start := r.i
	if err := r.value(); err != nil {
		return err
	}
	if c := r.at(start); c != '{' && c != '[' && c != '(' && !r.startsCallAt(start) {
		return r.scalarEnd()
	}
	if err := r.several(); err != nil {
		return err
	}
	return r.trailer()
}

// startsValue reports whether the cursor is at a bracket or quote.
func (r *repairer) startsValue() bool {
	switch r.at(r.i) {
	case '{', '[', '(', '\\':
		return true
	}
	_, ok := quoteAt(r.s, r.i)
	return ok
}

// skipFence moves past an opening Markdown fence and its language.
func (r *repairer) skipFence() bool {
	n := 0
	for r.at(r.i+n) == '`' {
		n++
	}
	if n < 3 {
		return false
	}
	j := r.i + n
	for isWord(r.at(j)) || r.at(j) == '+' || r.at(j) == '-' {
		j++
	}
	r.i, r.fenced = j, true
	r.note(fixFence)
	r.space()
	return true
}

// skipProse moves to the first bracket or fence, if any. Without one, the text itself may be the
// value.
func (r *repairer) skipProse() {
	rest := r.s[r.i:]
	brace := strings.IndexAny(rest, "{[")
	fence := strings.Index(rest, "```")
	switch {
	case fence >= 0 && (brace < 0 || fence < brace):
		r.i += fence
		r.note(fixProse)
		r.skipFence()
	case brace >= 0:
		r.i += brace
		r.note(fixProse)
	}
}

// several joins the first value and the values that follow it after commas into one list.
func (r *repairer) several() error {
	many := false
	for {
		save := r.i
		r.space()
		if r.at(r.i) != ',' {
			break
		}
		r.i++
		r.space()
		if c := r.at(r.i); c != '{' && c != '[' {
			r.i = save
			break
		}
		if !many {
			many = true
			r.out = append([]byte{'['}, r.out...)
			r.note(fixSeveral)
		}
		r.out = append(r.out, ',')
		if err := r.value(); err != nil {
			return err
		}
	}
	if many {
		r.out = append(r.out, ']')
	}
	return nil
}

// trailer checks the text after the value. Brackets, a fence and plain words may be dropped.
// Another value must not be dropped, nor a quote that may be left over from an earlier guess about
// quotes.
func (r *repairer) trailer() error {
	comma := false
	for {
		r.space()
		switch c := r.at(r.i); {
		case r.eof():
			return nil
		case comma && isWord(c):
			return r.fail(Ambiguous, "text follows the JSON behind a comma")
		case c == '}' || c == ']' || c == ')':
			if err := r.extraClose(); err != nil {
				return err
			}
		case c == ',' || c == ';':
			r.note(fixExtraComma)
			r.i++
			comma = c == ','
		case strings.HasPrefix(r.s[r.i:], "```"):
			for r.at(r.i) == '`' {
				r.i++
			}
			r.note(fixFence)
		default:
			return r.prose()
		}
	}
}

// guessed reports whether the repair is based on a guess about quotes.
func (r *repairer) guessed() bool { return r.noted(fixInnerQuotes) || r.noted(fixMissingQuote) }

func (r *repairer) prose() error {
	rest := r.s[r.i:]
	if _, quoted := quoteAt(r.s, r.i); quoted || r.guessed() {
		return r.fail(Ambiguous, "text follows the JSON, and it is not clear whether it belongs to it")
	}
	if strings.ContainsAny(rest, "}]") {
		return r.fail(Ambiguous, "text follows the JSON, and a closing bracket follows the text")
	}
	if strings.ContainsAny(rest, "{[") {
		return r.fail(Ambiguous, "there is more than one JSON value; send one call for each")
	}
	if r.at(r.i) == '\\' {
		return errEscaped
	}
	if member.MatchString(rest) {
		return r.fail(Ambiguous, "more members follow the closing bracket")
	}
	r.note(fixProse)
	r.i = len(r.s)
	return nil
}

// scalarEnd checks the text after a top-level scalar: only a comma or a fence may follow.
func (r *repairer) scalarEnd() error {
	for {
		r.space()
		switch {
		case r.eof():
			return nil
		case r.at(r.i) == ',' || r.at(r.i) == ';':
			r.note(fixExtraComma)
			r.i++
		case strings.HasPrefix(r.s[r.i:], "```"):
			for r.at(r.i) == '`' {
				r.i++
			}
			r.note(fixFence)
		default:
			return r.fail(Ambiguous, "text follows the value")
		}
	}
}
