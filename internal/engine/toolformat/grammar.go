package toolformat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Mode specifies whether the model may, must or must not call tools.
type Mode uint8

// The modes.
const (
	Auto     Mode = iota // it may
	Required             // it must
	NoCalls              // it must not
)

// Choice specifies the messages that a grammar allows.
type Choice struct {
	Mode     Mode
	Name     string // if not empty, only this tool may be called
	Parallel bool   // several calls in one message
	Exact    bool   // calls only in the exact form in which the format writes them: no other white space, arguments in order, and no reasoning unless the prompt opened it

	// Prompt is the opening of the assistant's message, which the grammar continues: see [Prompt].
	Prompt string
}

// Grammar describes the messages of a format, with calls whose arguments are valid. It never allows
// more than the parser accepts. It allows less if models do not need the freedom: white space
// between markers is as models write it, or absent.
type Grammar struct {
	Root  *Rule
	Rules map[string]*Rule // by the name used in Ref rules

	// Triggers lists the texts that begin calls. If the mode is Auto, any text is allowed before
	// the first of them.
	Triggers []string
}

// UnsupportedError reports a part of a schema that a grammar cannot enforce.
type UnsupportedError struct {
	Tool, Param, Keyword string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("toolformat: make grammar of tool %s: parameter %s: %s cannot be enforced in unquoted text: drop it, or leave the calls unconstrained",
		e.Tool, e.Param, e.Keyword)
}

// Grammar returns the grammar of the messages that a choice allows.
func (f *Format) Grammar(tools []Tool, c Choice) (*Grammar, error) {
	b := &grammarBuilder{f: f, c: c, g: &Grammar{Rules: map[string]*Rule{}}}
	for _, t := range tools {
		if c.Name == "" || c.Name == t.Name {
			b.tools = append(b.tools, t)
		}
	}
	if len(b.tools) == 0 && c.Mode == Required {
		return nil, fmt.Errorf("toolformat: make grammar: no tool called %q to require", c.Name)
	}
	b.triggers()
	var err error
	if f.Channels != nil {
		b.g.Root, err = b.channels()
	} else {
		b.g.Root, err = b.root()
	}
	if err != nil {
		return nil, err
	}
	if c.Exact {
		b.g.fixLayout()
	}
	return b.g, nil
}

// grammarBuilder builds one grammar.
type grammarBuilder struct {
	f     *Format
	c     Choice
	g     *Grammar
	tools []Tool

	values *notation // of values that are not JSON
	white  *Rule     // see space
	tags   *Rule     // see anyTags
	next   *Rule     // a call with its opening marker, if the prompt contains the opening marker of the first call
}

// triggers collects the texts that begin calls.
func (b *grammarBuilder) triggers() {
	if b.f.Channels != nil {
		b.g.Triggers = []string{" " + b.f.Channels.To + b.f.Channels.Prefix}
		return
	}
	for _, m := range b.f.compile(ParserOptions{}).content.list {
		if m.act == actSection || m.act == actCall {
			b.g.Triggers = append(b.g.Triggers, m.text)
		}
	}
}

// root matches a message.
func (b *grammarBuilder) root() (*Rule, error) {
	stops := b.contentStops()
	if b.c.Mode == NoCalls || len(b.tools) == 0 {
		return b.thought(b.plain(stops), nil), nil
	}
	calls, err := b.anyCalls()
	if err != nil {
		return nil, err
	}
	if a := b.f.Head.Answer; a != "" && b.c.Mode == Auto {
		return b.answered(a, calls, stops), nil
	}
	if b.c.Mode == Required && b.c.Exact {
		return seq(b.reasoning(), calls), nil
	}
	marked := b.marked(calls)
	calls = b.named(calls)
	if b.c.Mode == Required {
		return seq(layout(b.f.Layout.Begin), b.thought(seq(b.before(), calls, b.after()), calls)), nil
	}
	if b.f.Bare == Whole {
		return seq(b.reasoning(), alt(calls, seq(b.plain(stops), opt(marked)))), nil
	}
	if b.f.Bare == Anywhere && b.f.Syntax == Python { // after a word, a bracket is an index
		return seq(b.reasoning(), alt(b.plain(stops), seq(opt(seq(b.plain(stops), lit("\n"))), calls))), nil
	}
	return b.thought(seq(b.plain(stops), opt(seq(calls, b.after()))), calls), nil
}

// thought matches reasoning and then a message. Where the format's models do so, a call or another
// marker may end the reasoning in place of the closing marker. The parameter calls is nil if there
// are none.
func (b *grammarBuilder) thought(message, calls *Rule) *Rule {
	t := b.f.Think
	if b.c.Exact || len(t.Open) == 0 || len(t.Ends) == 0 && (!t.CallEnds || calls == nil) {
		return seq(b.reasoning(), message)
	}
	message = b.named(message)
	open := seq(free(b.thinkStops()...))
	if !b.f.opensThinking(b.c.Prompt) {
		open = seq(lit(t.Open[0]), open)
	}
	all := alt()
	if t.CallEnds && calls != nil {
		all.Parts = append(all.Parts, seq(calls, b.after()))
	}
	for _, end := range t.Ends {
		all.Parts = append(all.Parts, seq(lit(end), message))
	}
	return alt(seq(b.reasoning(), message), seq(open, all))
}

// thinkStops returns the texts that must not occur in reasoning.
func (b *grammarBuilder) thinkStops() []string {
	stops := slices.Clone(b.f.Think.Close)
	for _, m := range b.f.compile(ParserOptions{}).thinking.list {
		if m.act == actPeek {
			stops = append(stops, m.text)
		}
	}
	return stops
}

// contentStops returns the texts that must not occur in an answer without calls.
func (b *grammarBuilder) contentStops() []string {
	stops := slices.Clone(b.g.Triggers)
	switch {
	case b.f.Bare != Anywhere:
	case b.f.Syntax == Python:
		for _, t := range b.tools {
			stops = append(stops, "["+t.Name+"(")
		}
	default:
		stops = append(stops, `{"`, "{ ", "{\n", "{\t", "{\r")
	}
	return stops
}

// plain matches an answer without calls.
func (b *grammarBuilder) plain(stops []string) *Rule {
	if b.f.Bare == Whole { // it must not begin like a call
		return opt(seq(regex(`[^\s{\[]`), free(stops...)))
	}
	text := free(stops...)
	if w := b.wrappers(); w != nil {
		return seq(text, many(seq(w, text)))
	}
	return text
}

// wrappers matches the markers around answers. If they are control tokens, free text cannot contain
// them.
func (b *grammarBuilder) wrappers() *Rule {
	all := alt()
	for _, d := range b.f.Drop {
		if !contains(b.f.Stops, d) {
			all.Parts = append(all.Parts, lit(d))
		}
	}
	if len(all.Parts) == 0 {
		return nil
	}
	return all
}

// after matches what may follow an answer.
func (b *grammarBuilder) after() *Rule {
	if w := b.wrappers(); w != nil {
		return many(w)
	}
	return nil
}

// before matches the markers that may precede required calls.
func (b *grammarBuilder) before() *Rule {
	w := b.wrappers()
	if w == nil {
		return nil
	}
	const most = 4
	return &Rule{Kind: Repeat, Parts: []*Rule{w}, Max: most}
}

// marked matches only those calls that need markers, which are the ones that may follow an answer.
func (b *grammarBuilder) marked(calls *Rule) *Rule {
	if calls.Kind == Alt {
		marked := slices.DeleteFunc(slices.Clone(calls.Parts), func(r *Rule) bool { return r.Kind == Ref && r.Text == "bare" })
		return alt(marked...)
	}
	return calls
}

// answered matches messages of a format in which the answer is written as a call of the function
// with the given name.
func (b *grammarBuilder) answered(name string, calls *Rule, stops []string) *Rule {
	return alt(seq(b.answerHead(name), free(stops...), opt(b.again(calls))), calls)
}

// answerHead matches the text before an answer that is written as a call of the function with the
// given name.
func (b *grammarBuilder) answerHead(name string) *Rule {
	if name == "" {
		return nil
	}
	open := b.f.callWrap().Open
	if strings.HasSuffix(b.c.Prompt, open) {
		open = ""
	}
	return lit(open + name + b.f.Head.End[0])
}

// again returns the rule for calls after other text, with the opening marker, which for the first
// call is in the prompt.
func (b *grammarBuilder) again(calls *Rule) *Rule {
	if b.next == nil {
		return calls
	}
	if b.c.Parallel {
		return seq(b.next, many(b.next))
	}
	return b.next
}

// reasoning matches thinking in front of a message, or the rest of the thinking if the prompt began
// it.
func (b *grammarBuilder) reasoning() *Rule {
	think := b.f.Think
	if len(think.Open) == 0 || len(think.Close) == 0 {
		return nil
	}
	end := think.Close[0]
	rest := seq(free(b.thinkStops()...), lit(end), space())
	if b.f.opensThinking(b.c.Prompt) {
		return rest
	}
	if b.c.Exact {
		return nil
	}
	return opt(seq(lit(think.Open[0]), rest))
}

// anyCalls matches the calls of a message, in any of the format's sections.
func (b *grammarBuilder) anyCalls() (*Rule, error) {
	sections := b.f.Sections
	if len(sections) == 0 {
		sections = []Wrap{{}}
	}
	all := alt()
	if b.f.Bare != Never {
		calls, err := b.calls(Wrap{})
		if err != nil {
			return nil, err
		}
		b.g.Rules["bare"] = calls
		all.Parts = append(all.Parts, ref("bare"))
		if len(b.f.Sections) == 0 {
			return all, nil
		}
	}
	for _, w := range sections {
		calls, err := b.calls(w)
		if err != nil {
			return nil, err
		}
		all.Parts = append(all.Parts, calls)
	}
	return all, nil
}

// calls matches the calls of one section.
func (b *grammarBuilder) calls(w Wrap) (*Rule, error) {
	one := alt()
	for _, t := range b.tools {
		r, err := b.call(t)
		if err != nil {
			return nil, err
		}
		one.Parts = append(one.Parts, r)
	}
	f := b.f
	next := one
	if len(f.Sections) == 0 && f.Syntax != Object && strings.HasSuffix(b.c.Prompt, f.callWrap().Open) && f.Head.Answer != "" {
		b.next = next
		one = b.withoutOpen(one)
	}
	if !b.c.Parallel {
		return b.listOrNot(w, one, one), nil
	}
	sep := layout(f.Layout.Sep)
	switch {
	case f.Layout.Sep == "":
		sep = space()
	case f.Syntax == Object && f.Layout.List && !b.c.Exact:
		sep = seq(b.space(), lit(strings.TrimSpace(f.Layout.Sep)), b.space())
	}
	if f.Layout.One {
		section := f.inSection(w, one)
		if b.c.Exact {
			return seq(section, many(seq(lit(f.Layout.Sep), section))), nil
		}
		return seq(section, many(seq(space(), section))), nil
	}
	all := b.listOrNot(w, one, seq(one, many(seq(sep, next))))
	if w.Close != "" && f.Layout.List {
		return seq(all, many(seq(space(), all))), nil
	}
	return all, nil
}

// listOrNot matches the calls of a section as a list. For markers that models also put around a
// single call, it also matches a single call.
func (b *grammarBuilder) listOrNot(w Wrap, one, all *Rule) *Rule {
	r := b.f.inSection(w, all)
	if !b.f.Layout.List || b.f.Syntax != Object || w.Open == "" || w.Close == "" {
		return r
	}
	return alt(r, seq(lit(w.Open), space(), one, space(), lit(w.Close)))
}

// withoutOpen drops the opening marker of a first call, because the prompt already contains it.
func (b *grammarBuilder) withoutOpen(calls *Rule) *Rule {
	open := b.f.callWrap().Open
	out := alt()
	for _, r := range calls.Parts {
		first := *r.Parts[0]
		first.Text = strings.TrimPrefix(first.Text, open)
		out.Parts = append(out.Parts, seq(append([]*Rule{&first}, r.Parts[1:]...)...))
	}
	return out
}

// call matches a call of one tool.
func (b *grammarBuilder) call(t Tool) (*Rule, error) {
	args, err := b.arguments(t)
	if err != nil {
		return nil, err
	}
	pattern := b.f.Layout.IDs
	if pattern == "" {
		pattern = anyID
	}
	id := seq(lit(`"`), regex(pattern), lit(`"`))
	if b.f.Syntax == Object && !b.c.Exact {
		return b.object(t.Name, args, id), nil
	}
	return b.f.callRule(b.f.callWrap(), t.Name, args, regex(`[0-9]{1,4}`), id), nil
}

// object matches a call of the Object syntax: its members in any order, with any white space and
// with the type that some models add.
func (b *grammarBuilder) object(name string, args, id *Rule) *Rule {
	l := b.f.Layout
	if b.f.NameIsKey {
		return seq(lit("{"), b.space(), lit(quote(name)), b.colon(), args, b.space(), lit("}"))
	}
	pair := func(value *Rule, keys ...string) *Rule {
		names := alt()
		for _, k := range keys {
			if k != "" && !slices.ContainsFunc(names.Parts, func(r *Rule) bool { return r.Text == quote(k) }) {
				names.Parts = append(names.Parts, lit(quote(k)))
			}
		}
		return seq(names, b.colon(), value)
	}
	parts := []*Rule{
		pair(lit(quote(name)), cmp.Or(l.Name, "name")),
		pair(args, cmp.Or(l.Arguments, "arguments"), "arguments", "parameters"),
		pair(lit(`"function"`), "type"),
	}
	if l.ID != "" {
		parts = append(parts, pair(id, l.ID))
	}
	sep := seq(lit(","), b.space())
	return seq(lit("{"), b.space(), anyOrder(parts, []bool{true, true}, sep, 0), b.space(), lit("}"))
}

// colon matches the text between a key and its value.
func (b *grammarBuilder) colon() *Rule { return seq(lit(":"), b.space()) }

// space matches white space of JSON: none, blanks, or a line break and indentation.
func (b *grammarBuilder) space() *Rule {
	if b.white == nil {
		b.white = b.named(regex(`(?:\r?\n)?[ \t]{0,40}`))
	}
	return b.white
}

// stops returns the texts that must not occur in the text of a channel.
func (ch *Channels) stops() []string {
	stops := append([]string{ch.Start, ch.Message}, ch.End...)
	if ch.Channel != "" {
		stops = append(stops, ch.Channel)
	}
	return stops
}

// thoughts matches the reasoning in front of a message with channels, and what the model says to
// the user before it calls.
func (b *grammarBuilder) thoughts(preambles bool) *Rule {
	ch := b.f.Channels
	if ch.Thought == "" {
		return nil
	}
	head := alt(lit(ch.Thought + ch.Message))
	if preambles && ch.Preamble != "" && !b.c.Exact {
		head.Parts = append(head.Parts, lit(ch.Preamble+ch.Message))
	}
	return many(seq(head, free(ch.stops()...), lit(ch.Next)))
}

// channels matches a message of a format with channels.
func (b *grammarBuilder) channels() (*Rule, error) {
	ch := b.f.Channels
	head := alt(lit(ch.Answer + ch.Message))
	if ch.Preamble != "" && !b.c.Exact {
		head.Parts = append(head.Parts, lit(ch.Preamble+ch.Message))
	}
	say := seq(head, free(ch.stops()...))
	think := b.thoughts(true)
	if b.c.Mode == NoCalls || len(b.tools) == 0 {
		return seq(think, say), nil
	}
	one := alt()
	for _, t := range b.tools {
		args, err := b.arguments(t)
		if err != nil {
			return nil, err
		}
		call := b.f.callRule(b.f.callWrap(), t.Name, args, lit("1"), lit(`""`))
		one.Parts = append(one.Parts, b.f.channelRule(t.Name, call))
	}
	calls := seq(one)
	if b.c.Parallel {
		calls = seq(one, many(seq(lit(ch.Next), one)))
	}
	if b.c.Mode == Required {
		return seq(think, calls), nil
	}
	return seq(think, alt(say, calls, seq(say, lit(ch.Next), calls))), nil
}

// arguments matches the arguments of a tool in the format's syntax.
func (b *grammarBuilder) arguments(t Tool) (*Rule, error) {
	schema := t.Parameters
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`)
	}
	switch b.f.Syntax {
	case Object, JSON:
		return schemaRule(objectSchema(schema)), nil
	}
	return b.members(t.Name, schema)
}
