package toolformat

import (
	"errors"
	"fmt"
	"strings"
)

// Parser parses one message of a model as it streams. However the text is split, the events add up
// to the same result. The parser holds back only text that may be the beginning of a marker, and
// the text of a call until it is known to be valid.
//
// A Parser is for one message and one goroutine.
type Parser struct {
	f     *Format
	c     *compiled
	o     ParserOptions
	types map[string]*types // of the arguments of each tool; nil if the tools are unknown

	buf    string             // text not parsed yet
	joined strings.Builder    // if not empty, ends with buf
	done   bool               // no more text will come
	step   func(*Parser) bool // the state: reads from buf and reports whether it made progress
	events []Event
	merge  strings.Builder // text of the last event, if merged is true
	merged bool
	err    error

	fresh  bool   // only white space was read since the message or the answer began
	skip   bool   // that white space is dropped
	fenced bool   // the answer is in a Markdown fence
	silent bool   // events are not reported, because the prompt is being read
	opens  bool   // the prompt opened the reasoning
	lead   string // if reasoning is kept: the marker with which the prompt opened it
	last   byte   // last byte of the reasoning
	before byte   // last byte of the answer

	inside bool   // a section is open
	opened int    // number of calls begun when the section was opened
	record bool   // raw is being recorded
	raw    []byte // text since the call, or its section, began
	calls  int    // number of calls begun
	call   call

	bareScan extent // of a possible call without markers
	bareRead int    // number of its bytes that have been scanned
}

// NewParser returns a parser for one message. The parameter tools provides the types of arguments,
// for formats that do not write types. If tools is nil, the types are guessed.
func (f *Format) NewParser(tools []Tool, o ParserOptions) *Parser {
	if o.NewID == nil {
		o.NewID = func(n int) string { return fmt.Sprintf("call%05d", n) }
	}
	p := &Parser{f: f, c: f.compile(o), o: o, types: typesOf(tools), fresh: true, step: (*Parser).content}
	p.skip = o.JSON
	p.readPrompt()
	return p
}

// readPrompt brings the parser to the state it has after the prompt.
func (p *Parser) readPrompt() {
	text, found := p.f.afterHeader(p.o.Prompt)
	if !found && !p.o.Continue {
		text = ""
	}
	if ch := p.f.Channels; ch != nil {
		p.step = (*Parser).firstHeader
	}
	if text == "" {
		return
	}
	p.silent = !p.o.Continue
	p.opens = p.f.opensThinking(text)
	p.push(text)
	p.run()
	if p.silent { // text that is not reported must not reappear later
		p.raw = p.raw[:0]
	}
	p.silent = false
}

// Feed parses the next piece of text and returns the events that are now certain. The returned
// slice is valid until the next call.
func (p *Parser) Feed(text string) []Event {
	if p.done {
		return nil
	}
	p.push(text)
	p.run()
	return p.take()
}

// push appends text to what is not parsed yet. Text is copied only if some text was held back, and
// in that case not much more than once.
func (p *Parser) push(text string) {
	const slack = 4096
	switch old := p.buf; {
	case old == "":
		p.joined = strings.Builder{}
		p.buf = text
	case p.joined.Len() == 0 || p.joined.Len() > 2*len(old)+slack:
		p.joined = strings.Builder{}
		p.joined.WriteString(old)
		p.joined.WriteString(text)
		p.buf = p.joined.String()
	default:
		p.joined.WriteString(text)
		s := p.joined.String()
		p.buf = s[len(s)-len(old)-len(text):]
	}
}

// Close ends the message and returns the events that were held back. The error lists the calls that
// cannot be run; each of them is also reported with its Problem.
func (p *Parser) Close() ([]Event, error) {
	if p.done {
		return nil, p.err
	}
	p.done = true
	p.run()
	p.finish()
	return p.take(), p.err
}

// take returns the collected events.
func (p *Parser) take() []Event {
	events := p.events
	p.events = p.events[:0]
	p.merged = false
	return events
}

// run lets the states parse until one needs more text.
func (p *Parser) run() {
	for p.step(p) {
	}
}

// finish ends the parts that are still open at the end of the text.
func (p *Parser) finish() {
	switch {
	case p.call.begun || p.call.name != "":
		if !p.call.begun {
			p.begin()
			p.delta(string(p.call.obj.held))
		}
		p.delta(string(p.call.param.text))
		p.eat(len(p.buf))
		p.endCall(Truncated)
	case p.record:
		p.eat(len(p.buf))
		p.release()
	default:
		p.text(p.buf)
	}
	p.buf = ""
}

// more reports whether more text may come.
func (p *Parser) more() bool { return !p.done }

// eat consumes n bytes of the text.
func (p *Parser) eat(n int) string {
	s := p.buf[:n]
	p.buf = p.buf[n:]
	if p.record {
		p.raw = append(p.raw, s...)
	}
	return s
}

// emit reports an event. Adjacent pieces of the same text are merged.
func (p *Parser) emit(e Event) {
	if p.silent {
		return
	}
	if n := len(p.events); n > 0 && e.Kind != CallStart && e.Kind != CallEnd {
		if l := &p.events[n-1]; l.Kind == e.Kind && l.Index == e.Index {
			if !p.merged {
				p.merged = true
				p.merge = strings.Builder{}
				p.merge.WriteString(l.Text)
			}
			p.merge.WriteString(e.Text)
			l.Text = p.merge.String()
			return
		}
	}
	p.merged = false
	p.events = append(p.events, e)
}

// text reports a piece of the answer, or of the text that follows the calls.
func (p *Parser) text(s string) {
	if p.fresh && p.skip {
		s = s[spaces(s):]
	}
	if s == "" {
		return
	}
	if len(s) > maxSpace || spaces(s) < len(s) {
		p.fresh = false
	}
	p.before = s[len(s)-1]
	kind := Content
	if p.calls > 0 && !p.f.TextAfter {
		kind = Trailing
	}
	p.emit(Event{Kind: kind, Text: s})
}

// held returns the number of bytes of the answer in buf[:n] that may be reported now. White space
// is held back if a marker after it would remove it.
func (p *Parser) held(n int) int {
	if p.done {
		return n
	}
	n = whole(p.buf[:n])
	if p.fresh && !p.skip && n <= maxSpace && spaces(p.buf[:n]) == n {
		return 0
	}
	if p.o.JSON {
		return len(p.unfenced(p.buf[:n]))
	}
	return n
}

// unfenced returns the part of s that is certainly text of an answer that is a JSON document: it
// excludes white space at the end, and a closing fence if one was opened.
func (p *Parser) unfenced(s string) string {
	const space = " \t\r\n"
	s = strings.TrimRight(s, space)
	if p.fenced {
		s = strings.TrimRight(strings.TrimRight(s, "`"), space)
	}
	return s
}

// content reads the answer up to a marker.
func (p *Parser) content() bool {
	pos, m := p.c.content.find(p.buf, p.more())
	if m == nil {
		n := p.held(pos)
		if p.done && p.o.JSON {
			p.buf = p.unfenced(p.buf)
			n = len(p.buf)
		}
		p.text(p.eat(n))
		return false
	}
	before := p.buf[:pos]
	start := p.fresh && (p.skip || pos <= maxSpace) && spaces(before) == pos
	if !p.counts(m, start) {
		switch {
		case m.act == actUnthink && contains(p.f.Drop, m.text):
			p.text(p.eat(pos))
			p.eat(len(m.text))
		case m.act == actFence && p.fenced && strings.TrimSpace(p.buf[pos+len(m.text):]) == "": // perhaps the end
			p.text(p.eat(len(p.unfenced(p.buf[:pos]))))
			if p.done {
				p.eat(len(p.buf))
			}
			return false
		default:
			p.text(p.eat(pos + len(m.text)))
		}
		return true
	}
	if m.act == actBare {
		return p.bare(pos, start)
	}
	if !start {
		p.text(before)
	}
	p.eat(pos)
	p.act(m)
	return true
}

// counts reports whether a marker in the answer is valid at its position. The parameter start
// reports whether only white space precedes it.
func (p *Parser) counts(m *mark, start bool) bool {
	switch m.act {
	case actThink:
		return p.f.Think.Anywhere || start && p.calls == 0
	case actUnthink:
		return start && p.calls == 0
	case actFence:
		return start && !p.fenced
	}
	return true
}

// act performs the action of the marker at the front of the text.
func (p *Parser) act(m *mark) {
	switch m.act {
	case actThink:
		s := p.eat(len(m.text))
		switch {
		case p.silent:
			p.lead = s
		case p.o.KeepReasoning:
			p.text(s)
		}
		p.think()
		if w := p.f.Think.Words; w != "" && strings.HasSuffix(s, w) && !p.o.KeepReasoning {
			p.silent = p.silent && !p.opens
			p.thought(w)
		}
	case actUnthink, actDrop:
		p.eat(len(m.text))
		p.fresh = true
		p.skip = p.skip || m.act == actUnthink || p.f.Channels == nil
	case actFence:
		p.eat(len(m.text))
		p.fenced = true
	case actHeader:
		p.step = (*Parser).header
	case actSection, actCall:
		p.open(m)
	}
}

// think begins reasoning.
func (p *Parser) think() {
	p.fresh, p.skip, p.last = !p.o.KeepReasoning, !p.o.KeepReasoning, 0
	p.step = (*Parser).thinking
}

// thinking reads reasoning up to its end.
func (p *Parser) thinking() bool {
	pos, m := p.c.thinking.find(p.buf, p.more())
	if m == nil {
		n := pos
		if !p.done {
			n = whole(p.buf[:n])
		}
		p.thought(p.eat(n))
		return false
	}
	p.thought(p.eat(pos))
	if m.act == actPeek && p.f.Think.UnlessClosed && !contains(p.f.Think.Ends, m.text) {
		if end := p.closing(); end > 0 {
			p.thought(p.eat(end))
			return true
		} else if !p.done {
			return false
		}
	}
	if m.act == actUnthink && m.text[0] == '\n' && p.last == '\n' {
		// One line break before the marker comes from the template; a blank line does not.
		p.thought("\n")
	}
	if m.act == actUnthink {
		s := p.eat(len(m.text))
		if p.o.KeepReasoning {
			p.text(p.kept() + s)
		}
	}
	p.lead = ""
	p.fresh, p.skip = true, !p.o.KeepReasoning
	p.step = (*Parser).content
	return true
}

// kept returns, once, the marker with which the prompt opened the reasoning, if the reasoning
// continues after the prompt.
func (p *Parser) kept() string {
	if p.silent {
		return ""
	}
	s := p.lead
	p.lead = ""
	return s
}

// closing returns the position at which the text closes the reasoning, or 0 if it does not.
func (p *Parser) closing() int {
	for at := 0; ; {
		pos, m := p.c.thinking.find(p.buf[at:], p.more())
		switch {
		case m == nil:
			return 0
		case m.act == actUnthink:
			return at + pos
		}
		at += pos + len(m.text)
	}
}

// thought reports a piece of reasoning. White space before the first word is dropped.
func (p *Parser) thought(s string) {
	if p.o.KeepReasoning {
		if s != "" {
			p.text(p.kept() + s)
		}
		return
	}
	if p.fresh {
		s = s[spaces(s):]
	}
	if s == "" {
		return
	}
	p.fresh, p.last = false, s[len(s)-1]
	p.emit(Event{Kind: Reasoning, Text: s})
}

// problem records that call n cannot be run.
func (p *Parser) problem(name string, why Problem) {
	p.err = errors.Join(p.err, fmt.Errorf("toolformat: read call %q: %s: ask the model to write it again", name, why))
}
