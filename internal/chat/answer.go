package chat

import "encoding/json"

// AnswerGrammar describes the messages of a format whose answer is JSON text of
// a schema, with reasoning in front where the format has any.
func (f *Format) AnswerGrammar(schema json.RawMessage, c Choice) *Grammar {
	b := &grammarBuilder{f: f, c: c, g: &Grammar{Rules: map[string]*Rule{}}}
	if ch := f.Channels; ch != nil {
		b.g.Root = seq(b.thoughts(), lit(ch.Answer+ch.Message), schemaRule(schema))
	} else {
		b.g.Root = seq(b.reasoning(), b.answerHead(f.Head.Answer), b.before(), schemaRule(schema), b.after())
	}
	return b.g
}

// JSONArguments reports whether the arguments of a call are written as JSON, so
// that texts in them are escaped.
func (f *Format) JSONArguments() bool { return f.Syntax == Object || f.Syntax == JSON }
