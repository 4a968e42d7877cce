package toolformat

import (
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// param is an argument of the Params syntax that is being read.
type param struct {
	key    string
	kinds  kinds
	end    *marks // its closing markers
	begun  bool   // the first byte of the value was examined
	quoted bool   // the opening quote was reported
	text   []byte // text of a value that is reported only when it is complete
	json   extent // of a value that may be an object or a list
	whole  bool   // whether the end of that object or list has been read
}

// The markers around a value that contains markup.
const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

// params reads the text between the arguments of a call.
func (p *Parser) params() bool {
	p.eat(spaces(p.buf))
	if p.buf == "" {
		return false
	}
	m, wait := p.c.call.at(p.buf, p.more())
	if wait {
		return false
	}
	if m == nil { // a remark by the model
		pos, next := p.c.call.find(p.buf, p.more())
		p.eat(pos)
		return next != nil
	}
	switch m.act {
	case actParam:
		p.eat(len(m.text))
		p.step = (*Parser).paramHead
		return true
	case actUncall:
		p.eat(len(m.text))
	}
	if p.call.keys > 0 {
		p.delta("}")
	}
	p.endCall(None)
	return true
}

// paramHead reads the key of an argument.
func (p *Parser) paramHead() bool {
	pos, m := p.c.paramHead.find(p.buf, p.more())
	if pos > maxName {
		return p.broken()
	}
	if m == nil {
		return false
	}
	head := p.eat(pos)
	p.eat(len(m.text))
	key, attrs := head, ""
	if cut := p.f.Param.Cut; cut != "" {
		key, attrs, _ = strings.Cut(head, cut)
	}
	if key = strings.TrimSpace(key); key == "" {
		return p.broken()
	}
	c := &p.call
	c.param = param{key: key, end: &p.c.value, kinds: c.types.of(key), json: extent{python: true}}
	if strings.Contains(p.f.Param.Close, "$") {
		c.param.end = &marks{}
		p.f.Param.addClosers(c.param.end, key)
	}
	if is := p.f.Param.IsString; is != "" && strings.TrimSpace(attrs) != "" {
		if c.param.kinds = notString; strings.Contains(attrs, is) {
			c.param.kinds = isString
		}
	}
	lead := "{"
	if c.keys > 0 {
		lead = ", "
	}
	c.keys++
	p.delta(lead + string(jsontree.AppendQuoted(nil, key)) + ": ")
	p.step = (*Parser).paramValue
	return true
}

// paramValue reads the value of an argument up to its closing marker. So that a value may contain
// the marker, the marker is recognised only if another argument or the end of the call follows it,
// and not inside a string of a JSON value.
func (p *Parser) paramValue() bool {
	v := &p.call.param
	if !v.begun {
		if p.buf == "" {
			return false
		}
		if p.f.Param.CDATA && p.more() && len(p.buf) < len(cdataOpen) && strings.HasPrefix(cdataOpen, p.buf) {
			return false
		}
		v.begun = true
		switch {
		case p.f.Param.Lines && p.buf[0] == '\n':
			p.eat(1)
		case p.f.Param.CDATA && strings.HasPrefix(p.buf, cdataOpen):
			p.eat(len(cdataOpen))
			v.end = &marks{}
			v.end.add(cdataClose+p.f.Param.closing(v.key), actDrop, 0)
		}
	}
	pos, m := v.end.find(p.buf, p.more())
	if m == nil {
		if !p.done {
			pos = whole(p.buf[:pos])
		}
		p.paramText(p.eat(pos))
		return false
	}
	p.paramText(p.eat(pos))
	rest := p.buf[len(m.text):]
	n := spaces(rest)
	rest = rest[n:]
	next, wait := p.c.call.at(rest, p.more())
	if n > maxSpace {
		next, wait, rest = nil, false, ""
	}
	switch {
	case v.inString() || next == nil && !wait && rest != "":
		p.paramText(p.eat(1))
		return true
	case wait:
		return false
	}
	p.eat(len(m.text))
	p.endParam()
	p.step = (*Parser).params
	return true
}

// inString reports whether the end of the text read so far is inside a string of a value that is an
// object or a list.
func (v *param) inString() bool {
	return v.kinds&(isObject|isArray) != 0 && v.json.begun && v.json.str && v.json.quote == '"' && !v.whole
}

// paramText reports a piece of a value that is certainly a string, and buffers a piece of any other
// value.
func (p *Parser) paramText(s string) {
	v := &p.call.param
	switch {
	case s == "":
	case v.kinds != isString:
		v.text = append(v.text, s...)
		if first := spaces(string(v.text[:min(len(v.text), maxSpace)])); !v.json.begun && first < len(v.text) && v.text[first] != '{' && v.text[first] != '[' {
			v.whole = true // not an object or list: brackets and quotes have no special meaning
		}
		if !v.whole {
			_, v.whole = v.json.read(s)
		}
	default:
		if !v.quoted {
			v.quoted = true
			p.delta(`"`)
		}
		p.delta(escape(s))
	}
}

// endParam reports the rest of a value.
func (p *Parser) endParam() {
	v := &p.call.param
	switch {
	case v.kinds != isString:
		p.delta(p.convert(v))
		v.text = nil
	case !v.quoted:
		p.delta(`""`)
	default:
		p.delta(`"`)
	}
}

// convert returns the complete value of an argument as JSON.
func (p *Parser) convert(v *param) string {
	text := string(v.text)
	nests := v.kinds == 0 || v.kinds&(isObject|isArray) != 0
	if open := p.f.Param.Nested; nests && open != "" && strings.HasPrefix(strings.TrimSpace(text), open) {
		n := nested{open: open}
		var schema *jsontree.Value
		if t := p.call.types; t != nil {
			n.root, schema = t.root, t.root.Get("properties").Get(v.key)
		}
		if value, ok := n.value(text, schema); ok {
			return value
		}
	}
	return v.kinds.convert(text)
}

// escape returns s as the contents of a JSON string, without the quotes.
func escape(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return s
	}
	q := jsontree.AppendQuoted(nil, s)
	return string(q[1 : len(q)-1])
}
