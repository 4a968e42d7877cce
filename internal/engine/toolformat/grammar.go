package toolformat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/json/jsontree"
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

	one    *Rule     // a call
	values *notation // of values that are not JSON
	white  *Rule     // see space
	tags   *Rule     // see anyTags

	deep     int                       // schemas inside arguments that were followed
	tagTexts map[*jsontree.Value]*Rule // see tagText
	next     *Rule                     // a call with its opening marker, if the prompt contains the opening marker of the first call
}

// maxFollowed limits the schemas inside arguments that a grammar follows. References can make them
// many more than the schema's text has. Behind the limit, values are written as JSON.
const maxFollowed = 2000

// follows reports whether another schema inside an argument is followed.
func (b *grammarBuilder) follows() bool {
	b.deep++
	return b.deep <= maxFollowed
}

// room reports whether n more schemas can be followed.
func (b *grammarBuilder) room(n int) bool { return b.deep+n <= maxFollowed }

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
	inSections := calls
	if loose := b.looseCalls(); loose != nil {
		if calls = b.named(alt(calls, loose)); isControl(b.f.callWrap().Open) {
			inSections = calls
		}
	}
	if b.c.Mode == Required {
		return seq(layout(b.f.Layout.Begin), b.thought(seq(b.before(), calls, b.afterCalls()), inSections)), nil
	}
	if b.f.Bare == Whole {
		return seq(b.reasoning(), alt(calls, seq(b.plain(stops), opt(marked)))), nil
	}
	if b.f.Bare == Anywhere && b.f.Syntax == Python { // after a word, a bracket is an index
		return seq(b.reasoning(), alt(b.plain(stops), seq(opt(seq(b.plain(stops), lit("\n"))), calls))), nil
	}
	return b.thought(seq(b.plain(stops), opt(seq(calls, b.afterCalls()))), inSections), nil
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

// afterCalls matches what may follow calls.
func (b *grammarBuilder) afterCalls() *Rule {
	if b.f.Remarks && !b.c.Exact {
		return b.plain(b.contentStops())
	}
	return b.after()
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

// arguments matches the arguments of a tool in the format's syntax.
func (b *grammarBuilder) arguments(t Tool) (*Rule, error) {
	schema := t.Parameters
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`)
	}
	switch b.f.Syntax {
	case Object:
		return schemaRule(objectSchema(schema)), nil
	case JSON:
		args := schemaRule(objectSchema(schema))
		if b.c.Exact || b.f.Fence || b.f.callWrap().Close == "" || needsArguments(schema) {
			return args, nil
		}
		return alt(args, lit("")), nil // the parser reads no arguments as an empty object
	}
	return b.members(t.Name, schema)
}
