package toolformat

import (
	"encoding/json"
	"strings"
)

// object is the state of reading a call in the Object syntax.
type object struct {
	begun bool
	depth int    // number of objects open around the members: 1, or 2 inside "function"
	key   string // key of the member whose value is next
	held  []byte // arguments that arrived before the name
	args  bool   // arguments were read
	bad   bool   // arguments cannot be read
	parts extent // of a value that is being skipped
	scan  int    // number of bytes of a quoted string that have been scanned
}

// The names of the members of a call. Models confuse them, so all formats accept all of them.
var (
	nameKeys = []string{"name", "tool_name", "function", "tool"}
	argsKeys = []string{"arguments", "parameters", "args", "input"}
	idKeys   = []string{"id", "tool_call_id", "call_id"}
)

func isOneOf(s string, list []string) bool {
	for _, t := range list {
		if s == t {
			return true
		}
	}
	return false
}

// members reads the next member of a call, or its end.
func (p *Parser) members() bool {
	p.eat(spaces(p.buf))
	rest := p.buf
	if rest == "" {
		return false
	}
	o := &p.call.obj
	switch c := rest[0]; {
	case !o.begun:
		o.begun, o.depth = true, 1
		p.eat(1)
	case c == ',':
		p.eat(1)
	case c == '}':
		p.eat(1)
		if o.depth--; o.depth == 0 {
			return p.endObject()
		}
	case c == '"':
		end, ok := quoted(rest, 1)
		if !ok {
			if len(rest) > maxName {
				return p.broken()
			}
			return false
		}
		// To continue, the colon and the first byte of the value are needed.
		after := end + spaces(rest[end:])
		if after == len(rest) {
			return false
		}
		if rest[after] != ':' {
			return p.broken()
		}
		if after++; after+spaces(rest[after:]) == len(rest) {
			return false
		}
		if json.Unmarshal([]byte(rest[:end]), &o.key) != nil {
			return p.broken()
		}
		after += spaces(rest[after:])
		p.eat(after)
		p.step = (*Parser).member
	default:
		return p.broken()
	}
	return true
}

// quoted looks for the end of a JSON string from s[i] on. If it has not arrived yet, n is the index
// at which the next search should continue.
func quoted(s string, i int) (n int, ok bool) {
	for i < len(s) {
		switch s[i] {
		case '\\':
			if i+1 == len(s) {
				return i, false
			}
			i += 2
		case '"':
			return i + 1, true
		default:
			i++
		}
	}
	return i, false
}

// quotedValue returns the length of the string at the front of the text, and whether it is
// complete. It scans each byte once.
func (p *Parser) quotedValue() (int, bool) {
	o := &p.call.obj
	n, ok := quoted(p.buf, max(o.scan, 1))
	if o.scan = n; ok {
		o.scan = 0
	}
	return n, ok
}

// member reads the value of a member, beginning with its first byte.
func (p *Parser) member() bool {
	o := &p.call.obj
	first := p.buf[0]
	key := strings.ToLower(o.key)
	switch {
	case p.f.NameIsKey && o.depth == 1 && first == '{':
		p.call.name = o.key
		return p.memberArgs()
	case key == "function" && first == '{' && o.depth == 1:
		p.eat(1)
		o.depth++
		p.step = (*Parser).members
	case isOneOf(key, argsKeys) && first == '{' && !o.args:
		return p.memberArgs()
	case isOneOf(key, argsKeys) && first == '"' && !o.args:
		p.step = (*Parser).quotedArgs
	case isOneOf(key, nameKeys) && first == '"', isOneOf(key, idKeys) && first != '{' && first != '[':
		p.step = (*Parser).scalar
	default:
		o.parts = extent{}
		p.step = (*Parser).skipValue
	}
	return true
}

// memberArgs begins the arguments. They are held back until the name is known, and after that are
// reported as they arrive.
func (p *Parser) memberArgs() bool {
	o := &p.call.obj
	o.args = true
	p.call.json = extent{}
	if p.call.name != "" && !p.call.begun {
		p.begin()
	}
	p.step = (*Parser).objectArgs
	return true
}

// objectArgs reads the arguments up to their end.
func (p *Parser) objectArgs() bool {
	text, end := p.readJSON()
	p.args(text)
	switch end {
	case jsonDone:
		p.step = (*Parser).members
	case jsonCut:
		return p.broken()
	}
	return end != jsonWait
}

// args reports a piece of the arguments, or holds it back.
func (p *Parser) args(s string) {
	if p.call.begun {
		p.delta(s)
	} else {
		p.call.obj.held = append(p.call.obj.held, s...)
	}
}

// quotedArgs reads arguments that were written as a string containing JSON.
func (p *Parser) quotedArgs() bool {
	end, ok := p.quotedValue()
	if !ok {
		return false
	}
	var s string
	if json.Unmarshal([]byte(p.buf[:end]), &s) != nil {
		return p.broken()
	}
	p.eat(end)
	p.call.obj.args = true
	if p.call.name != "" && !p.call.begun {
		p.begin()
	}
	p.args(s)
	p.step = (*Parser).members
	return true
}

// scalar reads a name or an id.
func (p *Parser) scalar() bool {
	end, ok := 0, false
	if p.buf[0] == '"' {
		end, ok = p.quotedValue()
	} else {
		end = strings.IndexAny(p.buf, ",}] \n\t\r")
		ok = end >= 0
	}
	if !ok {
		if len(p.buf) > maxName {
			return p.broken()
		}
		return false
	}
	text := p.eat(end)
	if text == "null" {
		text = ""
	} else if text != "" && text[0] == '"' {
		s := text
		if json.Unmarshal([]byte(s), &text) != nil {
			return p.broken()
		}
	}
	c := &p.call
	switch {
	case isOneOf(strings.ToLower(c.obj.key), nameKeys):
		if c.name == "" {
			c.name = strings.TrimSpace(text)
		}
		if c.name != "" && !c.begun && c.obj.args {
			p.begin()
			p.delta(string(c.obj.held))
			c.obj.held = nil
		}
	case c.begun:
		c.late = text
	default:
		c.id = text
	}
	p.step = (*Parser).members
	return true
}

// skipValue skips a value that is not part of the call.
func (p *Parser) skipValue() bool {
	o := &p.call.obj
	if p.buf == "" {
		return false
	}
	switch first := p.buf[0]; {
	case o.parts.begun || first == '{' || first == '[':
		n, done := o.parts.read(p.buf)
		p.eat(n)
		if !done {
			return false
		}
	case first == '"':
		end, ok := p.quotedValue()
		if !ok {
			return false
		}
		p.eat(end)
	default:
		p.step = (*Parser).skipScalar
		return true
	}
	p.step = (*Parser).members
	return true
}

// skipScalar skips a number or a name. If the arguments are neither an object nor null, the call
// cannot be run.
func (p *Parser) skipScalar() bool {
	o := &p.call.obj
	end := strings.IndexAny(p.buf, ",}")
	if end < 0 && len(p.buf) <= maxName {
		return false
	}
	text := p.eat(max(end, 0))
	o.bad = o.bad || isOneOf(strings.ToLower(o.key), argsKeys) && !o.args && strings.TrimSpace(text) != "null"
	if end < 0 {
		p.eat(len(p.buf))
		return false
	}
	p.step = (*Parser).members
	return true
}

// endObject ends a call in the Object syntax.
func (p *Parser) endObject() bool {
	c := &p.call
	if c.name == "" {
		return p.broken()
	}
	if !c.begun {
		p.begin()
		p.delta(string(c.obj.held))
	}
	if c.obj.bad {
		p.endCall(Malformed)
		return true
	}
	p.endCall(None)
	return true
}
