package toolformat

import "encoding/json"

// AnswerGrammar describes messages whose answer is JSON text that matches a schema, after reasoning
// if the format has any.
func (f *Format) AnswerGrammar(schema json.RawMessage, c Choice) *Grammar {
	b := &grammarBuilder{f: f, c: c, g: &Grammar{Rules: map[string]*Rule{}}}
	if ch := f.Channels; ch != nil {
		b.g.Root = seq(b.thoughts(false), lit(ch.Answer+ch.Message), schemaRule(schema))
	} else {
		b.g.Root = seq(b.reasoning(), b.answerHead(f.Head.Answer), b.before(), schemaRule(schema), b.after())
	}
	return b.g
}

// CallsOrAnswerGrammar describes messages that call tools or, if they do not, whose answer is JSON
// text matching a schema. If a format writes calls without a marker, calls could not be
// distinguished from the answer; then the grammar describes only the answer.
func (f *Format) CallsOrAnswerGrammar(tools []Tool, schema json.RawMessage, c Choice) (*Grammar, error) {
	answer := f.AnswerGrammar(schema, c)
	marked := *f
	if f.Bare != Never {
		if len(f.Sections) == 0 {
			return answer, nil
		}
		marked.Bare = Never
	}
	c.Mode = Required
	calls, err := marked.Grammar(tools, c)
	if err != nil {
		return nil, err
	}
	for name, r := range answer.Rules {
		calls.Rules[name] = r
	}
	calls.Root = alt(answer.Root, calls.Root)
	return calls, nil
}

// JSONArguments reports whether the arguments of a call are written as JSON, so that strings in
// them are escaped.
func (f *Format) JSONArguments() bool { return f.Syntax == Object || f.Syntax == JSON }
