package chat

import (
	"slices"
	"strings"
)

// firstHeader reads the beginning of a message whose opening the prompt holds:
// the rest of a header, or an answer without one.
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

// channel begins what a header announces.
func (p *Parser) channel(head string) bool {
	ch := p.f.Channels
	to := field(head, ch.To)
	if to != "" && !slices.Contains(ch.Users, to) && !p.o.NoCalls {
		p.call.name = strings.TrimPrefix(to, ch.Prefix)
		p.inside = true
		p.step = (*Parser).body
		return true
	}
	p.record, p.raw = false, p.raw[:0]
	if ch.Channel == "" || ch.Thinking == "" || field(head, ch.Channel) != ch.Thinking {
		p.fresh = true
		return true
	}
	if p.o.KeepReasoning {
		p.text(head[strings.Index(head, ch.Channel):])
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

// body reads the beginning of a message to a function: its arguments, or calls
// in the format's own markers.
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
	p.begin()
	p.step = (*Parser).arguments
	return true
}
