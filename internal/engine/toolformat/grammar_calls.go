package toolformat

import (
	"cmp"
	"slices"
	"strings"
)

// marked matches only those calls that need markers, which are the ones that may follow an answer.
func (b *grammarBuilder) marked(calls *Rule) *Rule {
	if calls.Kind == Alt {
		marked := slices.DeleteFunc(slices.Clone(calls.Parts), func(r *Rule) bool { return r.Kind == Ref && r.Text == "bare" })
		return alt(marked...)
	}
	return calls
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
	f := b.f
	one, err := b.oneCall()
	if err != nil {
		return nil, err
	}
	next := one
	if len(f.Sections) == 0 && f.Syntax != Object && strings.HasSuffix(b.c.Prompt, f.callWrap().Open) && f.Head.Answer != "" {
		b.next = next
		one = b.withoutOpen(b.g.Rules[one.Text])
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

// oneCall matches a call of one of the tools.
func (b *grammarBuilder) oneCall() (*Rule, error) {
	if b.one != nil {
		return b.one, nil
	}
	one := alt()
	for _, t := range b.tools {
		r, err := b.call(t)
		if err != nil {
			return nil, err
		}
		one.Parts = append(one.Parts, r)
	}
	b.one = b.named(one)
	return b.one, nil
}

// looseCalls matches calls for which the model left out the opening marker of the section. It
// returns nil if the parser does not read them.
func (b *grammarBuilder) looseCalls() *Rule {
	f := b.f
	if !f.LooseCalls || len(f.Sections) == 0 || b.c.Exact || b.one == nil {
		return nil
	}
	one := seq(b.one, opt(seq(space(), lit(f.section().Close))))
	if !b.c.Parallel {
		return one
	}
	return seq(one, many(seq(space(), one)))
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
