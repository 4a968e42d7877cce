package toolformat

import (
	"slices"
	"strings"
)

// firstHeader reads the beginning of a message whose opening is in the prompt: the rest of a
// header, or an answer without a header.
func (p *Parser) firstHeader() bool {
	if p.buf == "" {
		return false
	}
	ch := p.f.Channels
	rest := p.buf[spaces(p.buf):]
	if p.more() && strings.HasPrefix(ch.To, rest) {
		return false
	}
	m, wait := p.c.content.at(rest, p.more())
	if wait {
		return false
	}
	if strings.HasPrefix(rest, ch.To) || m != nil && m.act == actHeader {
		p.step = (*Parser).header
	} else {
		p.step = (*Parser).content
	}
	return true
}

// header reads the header of a channel.
func (p *Parser) header() bool {
	pos, m := p.c.channel.find(p.buf, p.more())
	if pos > maxName {
		p.text(p.eat(pos))
		p.step = (*Parser).content
		return true
	}
	if m == nil {
		return false
	}
	p.record, p.raw, p.opened = true, p.raw[:0], p.calls
	p.call = call{}
	head := p.eat(pos)
	p.step = (*Parser).content
	if m.act == actPeek {
		p.record = false
		return true
	}
	head += p.eat(len(m.text))
	return p.channel(head)
}

// channel begins the part of the message that follows a header.
func (p *Parser) channel(head string) bool {
	ch := p.f.Channels
	to := field(head, ch.To)
	if to != "" && to != ch.Self && !slices.Contains(ch.Users, to) && !p.o.NoCalls {
		p.call.name = strings.TrimPrefix(to, ch.Prefix)
		p.inside = true
		p.step = (*Parser).body
		return true
	}
	p.record, p.raw = false, p.raw[:0]
	thought := ch.Self != "" && to == ch.Self
	if ch.Channel != "" && ch.Thinking != "" && field(head, ch.Channel) == ch.Thinking {
		thought = true
		head = head[strings.Index(head, ch.Channel):]
	}
	if !thought {
		p.fresh = true
		return true
	}
	if p.o.KeepReasoning {
		p.text(head)
	}
	p.think()
	return true
}

// field returns the word after the last mark in a header.
func field(head, mark string) string {
	i := strings.LastIndex(head, mark)
	if mark == "" || i < 0 {
		return ""
	}
	word := head[i+len(mark):]
	if end := strings.IndexAny(word, " <\n\t\r"); end >= 0 {
		word = word[:end]
	}
	return word
}

// body reads the beginning of a message to a function: its arguments, or calls with the markers of
// the format.
func (p *Parser) body() bool {
	p.eat(spaces(p.buf))
	if p.buf == "" {
		return false
	}
	m, wait := p.c.body.at(p.buf, p.more())
	if wait {
		return false
	}
	if m != nil {
		p.call = call{}
		p.eat(len(m.text))
		p.step = (*Parser).section
		if m.act == actCall {
			p.step = (*Parser).head
		}
		return true
	}
	name := p.call.name
	if !isName(name) {
		p.release()
		return true
	}
	if p.types[name] == nil && p.buf[0] != '{' && p.buf[0] != '`' {
		p.emit(Event{Kind: Trailing, Text: string(p.raw)})
		p.record, p.raw, p.inside = false, p.raw[:0], false
		p.call = call{}
		p.step = (*Parser).aside
		return true
	}
	p.begin()
	p.step = (*Parser).arguments
	return true
}

// aside reads the rest of a message that is addressed neither to the user nor to a function, for
// example code for an interpreter that does not exist.
func (p *Parser) aside() bool {
	pos, m := p.c.content.find(p.buf, p.more())
	if m == nil && !p.done {
		pos = whole(p.buf[:pos])
	}
	if s := p.eat(pos); s != "" {
		p.emit(Event{Kind: Trailing, Text: s})
	}
	if m != nil {
		p.step = (*Parser).content
	}
	return m != nil
}
