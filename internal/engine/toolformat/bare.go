package toolformat

import (
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// bare handles a bracket in the answer, pos bytes ahead, at which a call without any marker may
// begin. The parameter start reports whether only white space precedes it.
func (p *Parser) bare(pos int, start bool) bool {
	rest := p.buf[pos:]
	is := no
	if p.f.Bare == Anywhere && (p.f.Syntax != Python || !p.afterWord(pos)) || start && p.calls == 0 {
		is = p.looksLikeCall(rest)
	}
	switch {
	case is == no:
		p.text(p.eat(pos + 1))
		return true
	case is == maybe || p.f.Syntax == Object && !p.settled(pos):
		if !start {
			p.text(p.eat(pos))
		}
		return false
	case p.f.Syntax == Python:
		p.openBare(pos, start)
		return true
	}
	size := p.bareRead
	p.bareScan, p.bareRead = extent{}, 0
	if p.f.Bare == Whole {
		if !p.areCalls(rest) {
			p.text(p.eat(pos + 1))
			return true
		}
		p.openBare(pos, start)
		return true
	}
	if !p.areCalls(rest[:size]) {
		p.text(p.eat(pos + size))
		return true
	}
	p.openBare(pos, start)
	p.readOnly(size)
	return true
}

// settled scans the object or list at pos and reports whether enough text has arrived to decide
// whether it is a call.
func (p *Parser) settled(pos int) bool {
	rest := p.buf[pos:]
	n, complete := p.bareScan.read(rest[p.bareRead:])
	if p.bareScan.depth > 0 || !p.bareScan.begun {
		p.bareRead += n
		return p.done
	}
	if complete {
		p.bareRead += n
	}
	if p.f.Bare == Anywhere {
		return true
	}
	after := rest[p.bareRead:]
	after = after[spaces(after):]
	if after == "" {
		return p.done
	}
	if strings.IndexByte(";,[{", after[0]) < 0 {
		return true
	}
	p.bareRead = len(rest) - len(after)
	if after[0] == ';' || after[0] == ',' {
		p.bareRead++
	}
	p.bareScan = extent{}
	return p.settled(pos)
}

// openBare begins a section of calls at pos.
func (p *Parser) openBare(pos int, start bool) {
	if !start {
		p.text(p.eat(pos))
	}
	p.record, p.raw, p.opened, p.inside = true, p.raw[:0], p.calls, true
	p.call = call{}
	p.eat(spaces(p.buf))
	p.step = (*Parser).section
}

// readOnly reads the calls in the next size bytes, and then leaves the section.
func (p *Parser) readOnly(size int) {
	tail := p.buf[size:]
	p.buf = p.buf[:size]
	for p.buf != "" && p.step(p) {
	}
	if p.buf == "" && !p.call.begun && p.record {
		p.leave()
	}
	p.buf += tail
	if tail != "" {
		p.joined = strings.Builder{}
	}
}

// An answer is yes, no, or not decided yet.
type answer uint8

const (
	no answer = iota
	maybe
	yes
)

// looksLikeCall reports whether a text, which begins with a bracket, may be a call.
func (p *Parser) looksLikeCall(s string) answer {
	wait := no
	if p.more() {
		wait = maybe
	}
	rest := s[1:]
	rest = rest[spaces(rest):]
	switch {
	case rest == "":
		return wait
	case p.f.Syntax == Python:
		return p.looksLikePython(rest, wait)
	case s[0] == '[' && rest[0] == '{':
		return p.looksLikeCall(rest)
	case s[0] != '{' || rest[0] != '"':
		return no
	}
	key, _, whole := strings.Cut(rest[1:], `"`)
	for _, list := range [][]string{nameKeys, argsKeys, idKeys, {"type"}} {
		for _, k := range list {
			if whole && k == key {
				return yes
			}
			if !whole && strings.HasPrefix(k, key) {
				return wait
			}
		}
	}
	return no
}

// afterWord reports whether the byte before pos is part of a word or a closing bracket. If so, a
// bracket at pos begins an index, not a list.
func (p *Parser) afterWord(pos int) bool {
	c := p.before
	if pos > 0 {
		c = p.buf[pos-1]
	}
	return c >= 0x80 || c == '_' || c == ')' || c == ']' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// looksLikePython reports whether s begins with the name of a function, followed by the name of an
// argument or by an empty list of arguments.
func (p *Parser) looksLikePython(s string, wait answer) answer {
	end := strings.IndexAny(s, "( \n\t\r[]{},:;'\"")
	switch {
	case !isWord(s):
		return no
	case end < 0 && len(s) <= maxName:
		return wait
	case end < 0 || s[end] != '(':
		return no
	}
	if p.known(s[:end]) == no {
		return no
	}
	args := s[end+1:]
	args = args[spaces(args):]
	if args == "" {
		return wait
	}
	if args[0] == ')' {
		return yes
	}
	eq := strings.IndexAny(args, "= \n\t\r()[]{},:;'\"")
	switch {
	case !isWord(args) && whole(args) > 0:
		return no
	case eq < 0 && len(args) <= maxName:
		return wait
	case eq < 0:
		return no
	}
	args = args[eq+spaces(args[eq:]):]
	switch {
	case args == "":
		return wait
	case args[0] == '=':
		return yes
	}
	return no
}

// known reports whether a function of this name may be called.
func (p *Parser) known(name string) answer {
	if !isName(name) || p.types != nil && p.types[name] == nil {
		return no
	}
	return yes
}

// isCall reports whether a complete object or list is a call, or a list of calls.
func (p *Parser) isCall(s string) bool {
	v, err := jsontree.Parse([]byte(s))
	if err != nil {
		return false
	}
	if v.Kind == jsontree.Array {
		return len(v.Items) > 0 && !slices.ContainsFunc(v.Items, func(v *jsontree.Value) bool { return !p.isCallObject(v) })
	}
	return p.isCallObject(v)
}

// isCallObject reports whether an object has the name of a function and arguments.
func (p *Parser) isCallObject(v *jsontree.Value) bool {
	if v.Kind != jsontree.Object {
		return false
	}
	if f := v.Get("function"); f != nil && f.Kind == jsontree.Object {
		v = f
	}
	name, args := "", false
	for _, m := range v.Members {
		if isOneOf(m.Key, nameKeys) && m.Value.Kind == jsontree.String && name == "" {
			name = m.Value.Text()
		}
		args = args || isOneOf(m.Key, argsKeys)
	}
	return args && p.known(strings.TrimSpace(name)) == yes
}

// areCalls reports whether a text consists only of calls, the last of which may be cut off.
func (p *Parser) areCalls(s string) bool {
	for {
		s = s[spaces(s):]
		if s == "" {
			return true
		}
		if s[0] == ';' || s[0] == ',' {
			s = s[1:]
			continue
		}
		if s[0] != '{' && s[0] != '[' {
			return false
		}
		var e extent
		n, complete := e.read(s)
		if !complete {
			return p.looksLikeCall(s) == yes
		}
		if !p.isCall(s[:n]) {
			return false
		}
		s = s[n:]
	}
}
