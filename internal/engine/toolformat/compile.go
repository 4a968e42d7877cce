package toolformat

import "strings"

// compiled holds the markers of a format, grouped by the parser state in which they are recognised.
type compiled struct {
	content   marks // in the answer
	thinking  marks // in reasoning
	section   marks // between calls
	call      marks // between the arguments of a call
	head      marks // ends of the head of a call
	paramHead marks // end of the head of an argument
	value     marks // end of an argument, unless the marker contains the key
	channel   marks // ends of a channel's header
	body      marks // beginnings of calls in a channel for calls
}

// compile groups the markers of f by state, for a parser with options o.
func (f *Format) compile(o ParserOptions) *compiled {
	c := &compiled{}
	calls := !o.NoCalls
	if ch := f.Channels; ch != nil {
		f.compileChannels(c, ch, calls)
	} else if calls || f.Head.Answer != "" {
		f.addCalls(&c.content)
		if calls && f.Bare != Never && !o.JSON {
			if f.Syntax == Object {
				c.content.add("{", actBare, 0)
			}
			c.content.add("[", actBare, 0)
		}
	}
	if o.JSON {
		c.content.add("```json", actFence, 0)
		c.content.add("```", actFence, 0)
	}
	c.content.addAll(f.Think.Open, actThink)
	c.content.addAll(f.Think.Close, actUnthink)
	c.content.addAll(f.Drop, actDrop)
	for _, t := range f.Think.Close {
		c.thinking.add("\n"+t, actUnthink, 0)
		c.thinking.add(t, actUnthink, 0)
	}
	c.thinking.addAll(f.Think.Ends, actPeek)
	if calls && f.Think.CallEnds {
		f.addPeeks(&c.thinking)
	}
	f.compileCalls(c)
	return c
}

// addCalls adds the markers that begin calls in the answer.
func (f *Format) addCalls(m *marks) {
	for i, w := range f.Sections {
		m.add(w.Open, actSection, i)
	}
	if len(f.Sections) == 0 || f.LooseCalls {
		for i, w := range f.Calls {
			m.add(w.Open, actCall, i)
		}
	}
}

// addPeeks adds the same markers as the ends of reasoning.
func (f *Format) addPeeks(m *marks) {
	for _, w := range f.Sections {
		m.add("\n"+w.Open, actPeek, 0) // the line break is not part of the reasoning
		m.add(w.Open, actPeek, 0)
	}
	for _, w := range f.Calls {
		if len(f.Sections) == 0 || f.LooseCalls && isControl(w.Open) {
			m.add("\n"+w.Open, actPeek, 0)
			m.add(w.Open, actPeek, 0)
		}
	}
}

// compileCalls groups the markers inside a section of calls.
func (f *Format) compileCalls(c *compiled) {
	for i, w := range f.Sections {
		c.section.add(w.Close, actUnsection, i)
	}
	for i, w := range f.Calls {
		c.section.add(w.Open, actCall, i)
		c.section.add(w.Close, actDrop, i)
		c.call.add(w.Close, actUncall, i)
	}
	c.section.addAll(f.Junk, actDrop)
	if f.Fence {
		c.section.add("```", actDrop, 0)
	}
	c.call.add(f.Param.Open, actParam, 0)
	for _, w := range f.Sections {
		c.call.add(w.Close, actPeek, 0)
	}
	c.head.addAll(f.Head.End, actDrop)
	c.head.addAll(f.Head.Peek, actPeek)
	if f.Syntax == Python {
		c.head.add("(", actDrop, 0)
	}
	for _, w := range f.Calls {
		c.call.add(w.Open, actPeek, 0)
	}
	c.paramHead.add(f.Param.End, actDrop, 0)
	f.Param.addClosers(&c.value, "")
}

// addClosers adds the closing markers of an argument called key.
func (p Param) addClosers(m *marks, key string) {
	end := p.closing(key)
	if p.Lines {
		m.add("\n"+end, actDrop, 0)
	}
	m.add(end, actDrop, 0)
}

// compileChannels groups the markers of a format whose messages have headers.
func (f *Format) compileChannels(c *compiled, ch *Channels, calls bool) {
	for _, m := range []*marks{&c.content, &c.thinking} {
		m.add(ch.Start, actHeader, 0)
		m.add(ch.Channel, actHeader, 0)
		m.add(ch.Message, actHeader, 0)
	}
	c.content.addAll(ch.End, actDrop)
	c.thinking.addAll(ch.End, actUnthink)
	c.channel.add(ch.Message, actDrop, 0)
	if calls {
		f.addCalls(&c.body)
	}
	for _, e := range ch.End {
		c.section.add(e, actUnsection, 0)
		c.channel.add(e, actPeek, 0)
	}
}

// closing returns the closing marker of an argument called key.
func (p Param) closing(key string) string { return strings.ReplaceAll(p.Close, "$", key) }
