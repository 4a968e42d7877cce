package toolformat

import "strings"

// extent finds the end of a JSON object or list that arrives in pieces.
type extent struct {
	depth int
	str   bool // inside a string
	quote byte // of the string
	esc   bool // after a backslash
	begun bool

	python bool // strings may also be in single quotes
}

// read returns the number of bytes of s that belong to the value, and whether the value ends there.
func (e *extent) read(s string) (n int, done bool) {
	for i := 0; i < len(s); i++ {
		if e.str {
			if e.esc {
				e.esc = false
				continue
			}
			j := strings.IndexAny(s[i:], `"'\`)
			if j < 0 {
				return len(s), false
			}
			i += j
			if s[i] == '\\' {
				e.esc = true
			} else if s[i] == e.quote {
				e.str = false
			}
			continue
		}
		switch s[i] {
		case '"', '\'':
			if s[i] == '"' || e.python {
				e.str, e.quote = true, s[i]
			}
		case '{', '[':
			e.depth++
			e.begun = true
		case '}', ']':
			e.depth--
		}
		if e.begun && e.depth <= 0 {
			return i + 1, true
		}
	}
	return len(s), false
}

// arguments waits for the JSON object of arguments after a name.
func (p *Parser) arguments() bool {
	p.eat(spaces(p.buf))
	rest := p.buf
	const fence = "```"
	switch {
	case rest == "":
		return false
	case rest[0] == '{':
		p.step = (*Parser).stream
		return true
	case p.f.Code != "":
		p.delta(`{"` + p.f.Code + `": "`)
		p.step = (*Parser).code
		return true
	case strings.HasPrefix(rest, fence):
		end := strings.IndexByte(rest, '\n')
		if brace := strings.IndexByte(rest, '{'); brace >= 0 && (end < 0 || brace < end) {
			end = brace - 1
		}
		if end < 0 && len(rest) < 32 {
			return false
		}
		if end < 0 {
			return p.broken()
		}
		p.eat(end + 1)
		return true
	case p.more() && strings.HasPrefix(fence, rest):
		return false
	}
	m, wait := p.c.section.at(rest, p.more())
	if wait {
		return false
	}
	if m != nil { // no arguments at all
		p.endCall(None)
		return true
	}
	return p.broken()
}

// stream reports the arguments as they arrive, up to the end of the object.
func (p *Parser) stream() bool {
	text, end := p.readJSON()
	p.delta(text)
	switch end {
	case jsonDone:
		p.endCall(None)
	case jsonCut:
		p.endCall(Malformed)
	}
	return end != jsonWait
}

// jsonEnd is the outcome of reading a JSON value.
type jsonEnd uint8

const (
	jsonWait jsonEnd = iota // more text is needed
	jsonOn                  // there is more to read
	jsonDone                // the value is complete
	jsonCut                 // a marker follows that cannot be part of the value
)

// readJSON reads a piece of a value. A marker of the format outside a string ends an incomplete
// value, so that the value does not swallow the next call.
func (p *Parser) readJSON() (string, jsonEnd) {
	pos, m := p.c.section.find(p.buf, p.more())
	n, done := p.call.json.read(p.buf[:pos])
	switch {
	case done:
		return p.eat(n), jsonDone
	case m == nil && p.done:
		return p.eat(n), jsonWait
	case m == nil:
		// An incomplete character will be read again. That is harmless, because none of its bytes
		// has a special meaning in JSON.
		return p.eat(whole(p.buf[:n])), jsonWait
	case p.call.json.str:
		p.call.json.read(m.text[:1])
		return p.eat(pos + 1), jsonOn
	}
	return p.eat(pos), jsonCut
}

// code reads code that was written in place of the arguments, up to the next call.
func (p *Parser) code() bool {
	pos, m := p.c.content.find(p.buf, p.more())
	if !p.done {
		pos = whole(p.buf[:pos])
	}
	p.delta(escape(p.eat(pos)))
	if p.done && m == nil {
		p.delta(`"}`)
		p.endCall(None)
		return false
	}
	if m == nil {
		return false
	}
	p.delta(`"}`)
	p.endCall(None)
	return true
}
