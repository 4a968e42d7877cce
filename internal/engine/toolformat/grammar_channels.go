package toolformat

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
