package toolformat

import (
	"slices"
)

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
		all.Parts = append(all.Parts, seq(calls, b.afterCalls()))
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

// reasoning matches thinking in front of a message, or the rest of the thinking if the prompt began
// it.
func (b *grammarBuilder) reasoning() *Rule {
	think := b.f.Think
	if len(think.Open) == 0 || len(think.Close) == 0 {
		return nil
	}
	end := think.Close[0]
	rest := seq(free(b.thinkStops()...), lit(end), &Rule{Kind: Repeat, Parts: space().Parts, Max: 4})
	if b.f.opensThinking(b.c.Prompt) {
		return rest
	}
	if b.c.Exact {
		return nil
	}
	return opt(seq(lit(think.Open[0]), rest))
}
