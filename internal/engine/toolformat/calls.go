package toolformat

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/luthier-dev/luthier/internal/json/jsonrepair"
)

// maxName is the length in bytes of the longest accepted head of a call.
const maxName = 1024

// maxSpace is the maximum length of white space that is held back until the text after it is known.
const maxSpace = 1024

// call is the call that is being read.
type call struct {
	begun bool // CallStart was reported
	id    string
	late  string // an id that arrived after the start
	name  string
	args  []byte // all arguments text reported so far
	types *types // of its arguments; nil when the tool is unknown

	json  extent // of the JSON value that is being read
	obj   object
	param param
	value literal
	keys  int // number of arguments begun
}

// open begins a section, or a call without one.
func (p *Parser) open(m *mark) {
	p.record, p.raw, p.opened = true, p.raw[:0], p.calls
	p.call = call{}
	p.eat(len(m.text))
	p.inside = m.act == actSection
	switch {
	case p.inside:
		p.step = (*Parser).section
	case p.f.Syntax == Object:
		p.step = (*Parser).section
	default:
		p.step = (*Parser).head
	}
}

// section reads the text between calls.
func (p *Parser) section() bool {
	n := spaces(p.buf)
	if n > maxSpace {
		return p.stray()
	}
	rest := p.buf[n:]
	if rest == "" {
		return false
	}
	m, wait := p.c.section.at(rest, p.more())
	if wait {
		return false
	}
	if m != nil {
		p.eat(n + len(m.text))
		switch m.act {
		case actUnsection:
			p.leave()
		case actCall:
			p.step = (*Parser).head
		default:
			p.passed()
		}
		return true
	}
	switch p.f.Syntax {
	case Object:
		return p.listed(n, "{", (*Parser).members)
	case Python:
		if isWord(rest) {
			p.eat(n)
			p.step = (*Parser).head
			return true
		}
		return p.listed(n, "", nil)
	}
	if rest[0] == '{' && p.calls == p.opened { // the object syntax, used by mistake
		p.eat(n)
		p.step = (*Parser).members
		return true
	}
	return p.stray()
}

// listed reads the punctuation of a list of calls, each of which begins with the text open.
func (p *Parser) listed(n int, open string, call func(*Parser) bool) bool {
	switch c := p.buf[n]; {
	case open != "" && c == open[0]:
		p.eat(n)
		p.step = call
	case c == '[' || c == ',' || c == ']' || c == ';':
		p.eat(n + 1)
		p.passed()
	default:
		return p.stray()
	}
	return true
}

// passed discards punctuation after a call.
func (p *Parser) passed() {
	if p.calls > p.opened {
		p.raw = p.raw[:0]
	}
}

// stray handles text that is not allowed between calls. It means that the section has ended, or
// that there was no section.
func (p *Parser) stray() bool {
	if p.calls > p.opened {
		p.leave()
		return true
	}
	p.release()
	return true
}

// leave ends a section.
func (p *Parser) leave() {
	if p.calls == p.opened {
		p.release()
		return
	}
	p.record, p.raw, p.inside = false, p.raw[:0], false
	p.step = (*Parser).content
}

// release reports text that was mistaken for a call as text of the answer.
func (p *Parser) release() {
	s := string(p.raw)
	p.record, p.raw, p.inside = false, p.raw[:0], false
	p.call = call{}
	p.step = (*Parser).content
	p.text(s)
}

// head reads the name of a call.
func (p *Parser) head() bool {
	if n := spaces(p.buf); n < len(p.buf) && p.takesObject(p.buf[n]) {
		p.step = (*Parser).section // the object syntax, used by mistake
		p.eat(n)
		if p.buf[0] == '{' {
			p.step = (*Parser).members
		} else {
			p.eat(1)
		}
		return true
	}
	lead := spaces(p.buf)
	pos, m := p.c.head.find(p.buf[lead:], p.more())
	pos += lead
	if pos > maxName {
		p.release()
		return true
	}
	if m == nil {
		return false
	}
	head := p.eat(pos)
	if m.act == actDrop {
		p.eat(len(m.text))
	}
	return p.named(head)
}

// takesObject reports whether c begins a call in the object syntax in place of a name.
func (p *Parser) takesObject(c byte) bool {
	return c == '{' && p.f.Syntax != Loose || c == '[' && p.f.Syntax == JSON
}

// named begins the call whose head has been read.
func (p *Parser) named(head string) bool {
	h := p.f.Head
	name, attrs := head, ""
	if h.Cut != "" {
		name, attrs, _ = strings.Cut(head, h.Cut)
	}
	name = strings.TrimSpace(name)
	c := &p.call
	if h.IsID {
		c.id = name
	}
	if h.CutID {
		c.id = strings.TrimSpace(attrs)
	}
	name = strings.TrimPrefix(name, h.Prefix)
	if h.Index != "" {
		if i := strings.LastIndex(name, h.Index); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
			name = name[:i]
		}
	}
	if h.Answer != "" && name == h.Answer {
		p.record, p.raw = false, p.raw[:0]
		p.fresh = true
		p.step = (*Parser).content
		return true
	}
	if p.o.NoCalls || !isName(name) || !p.inside && p.f.LooseCalls && p.types != nil && p.types[name] == nil {
		p.release()
		return true
	}
	c.name = name
	p.begin()
	switch p.f.Syntax {
	case Params:
		p.step = (*Parser).params
	case Python, Loose:
		c.value = p.newLiteral()
		p.step = (*Parser).literal
	default:
		p.step = (*Parser).arguments
	}
	return true
}

// isName reports whether a text may be the name of a function.
func isName(s string) bool {
	if s == "" || !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>{}[]()"'|`+"`", r)
	}) < 0
}

// isWord reports whether s begins with a letter.
func isWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

// begin reports the start of a call.
func (p *Parser) begin() {
	c := &p.call
	c.begun = true
	if c.id == "" {
		c.id = p.o.NewID(p.calls)
	}
	c.types = p.types[c.name]
	p.emit(Event{Kind: CallStart, Index: p.calls, ID: c.id, Name: c.name})
	p.calls++
}

// delta reports a piece of the arguments.
func (p *Parser) delta(s string) {
	if s == "" {
		return
	}
	p.call.args = append(p.call.args, s...)
	p.emit(Event{Kind: CallDelta, Index: p.calls - 1, Text: s})
}

// endCall reports the end of the call.
func (p *Parser) endCall(why Problem) {
	c := &p.call
	if why == None {
		if len(c.args) == 0 {
			p.delta("{}")
		}
		if !readable(c.args) {
			why = Malformed
		}
	}
	e := Event{Kind: CallEnd, Index: p.calls - 1, ID: c.late, Problem: why}
	if why != None {
		e.Raw = string(p.raw)
		p.problem(c.name, why)
	}
	p.emit(e)
	p.call = call{}
	p.raw = p.raw[:0]
	p.step = (*Parser).section
}

// readable reports whether the arguments are an object, possibly after repair.
func readable(args []byte) bool {
	if json.Valid(args) {
		return args[spaces(string(args[:min(len(args), 64)]))] == '{'
	}
	r, err := jsonrepair.Repair(args)
	return err == nil && r.Risk <= jsonrepair.Medium && len(r.JSON) > 0 && r.JSON[0] == '{'
}

// broken abandons a call that cannot be read and looks for the next call.
func (p *Parser) broken() bool {
	if p.call.begun {
		p.endCall(Malformed)
	} else if p.calls == p.opened {
		p.release()
		return true
	} else {
		p.emit(Event{Kind: Trailing, Text: string(p.raw)})
		p.call = call{}
	}
	p.step = (*Parser).recover
	return true
}

// recover skips the rest of a broken call.
func (p *Parser) recover() bool {
	pos, m := p.c.section.find(p.buf, p.more())
	if s := p.eat(pos); s != "" {
		p.emit(Event{Kind: Trailing, Text: s})
	}
	p.raw = p.raw[:0]
	if m == nil {
		return false
	}
	p.step = (*Parser).section
	return true
}
