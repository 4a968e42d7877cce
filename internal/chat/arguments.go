package chat

import "strings"

// extent finds the end of a JSON object or list that arrives in pieces.
type extent struct {
	depth int
	str   bool // inside a string
	esc   bool // after a backslash
	begun bool
}

// read returns how much of s belongs to the value and whether it ends there.
func (e *extent) read(s string) (n int, done bool) {
	for i := 0; i < len(s); i++ {
		if e.str {
			if e.esc {
				e.esc = false
				continue
			}
			j := strings.IndexAny(s[i:], `"\`)
			if j < 0 {
				return len(s), false
			}
			i += j
			if s[i] == '\\' {
				e.esc = true
			} else {
				e.str = false
			}
			continue
		}
		switch s[i] {
		case '"':
			e.str = true
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

// stream reports the arguments as they come, up to the end of the object.
func (p *Parser) stream() bool {
	n, done := p.readJSON()
	p.delta(p.eat(n))
	if done {
		p.endCall(None)
	}
	return done
}

// readJSON returns how much of the text belongs to the value that is read, and
// whether it ends there. A character that was cut is left to be read again, which
// does no harm: none of its bytes mean anything in JSON.
func (p *Parser) readJSON() (int, bool) {
	n, done := p.call.json.read(p.buf)
	if !done && !p.done {
		n = whole(p.buf[:n])
	}
	return n, done
}

// code reads code that stands where the arguments should, up to the next call.
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
