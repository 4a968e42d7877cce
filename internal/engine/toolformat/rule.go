package toolformat

import (
	"encoding/json"
	"strings"
)

// RuleKind is the kind of text that a Rule matches.
type RuleKind uint8

// The kinds of rules.
const (
	Lit    RuleKind = iota // the text Text
	Seq                    // Parts, one after the other
	Alt                    // one of Parts
	Repeat                 // Parts[0], Min to Max times; a negative Max means no limit
	Set                    // Parts in any order, each at most once, with Sep between them; at least Min of them, which is 0 or 1
	Free                   // any text in which none of Stops occurs, of Min to Max characters; a Max of 0 means no limit
	Regex                  // text that matches the pattern Text as a whole
	Schema                 // JSON that is valid for Schema
	Ref                    // the rule named Text
)

// Rule is a part of a grammar. It is plain data, so that it can be compiled, printed or walked.
type Rule struct {
	Kind     RuleKind
	Text     string
	Parts    []*Rule
	Min, Max int
	Sep      *Rule  // nil means none
	Needs    []bool // by part: whether it must occur
	Stops    []string
	Schema   json.RawMessage
}

// anyOrder matches parts in any order; needs tells the ones that must occur.
func anyOrder(parts []*Rule, needs []bool, sep *Rule, least int) *Rule {
	return &Rule{Kind: Set, Parts: parts, Needs: needs, Sep: sep, Min: least}
}

func lit(s string) *Rule                 { return &Rule{Kind: Lit, Text: s} }
func alt(parts ...*Rule) *Rule           { return &Rule{Kind: Alt, Parts: parts} }
func many(r *Rule) *Rule                 { return &Rule{Kind: Repeat, Parts: []*Rule{r}, Max: -1} }
func opt(r *Rule) *Rule                  { return &Rule{Kind: Repeat, Parts: []*Rule{r}, Max: 1} }
func free(stops ...string) *Rule         { return &Rule{Kind: Free, Stops: stops} }
func regex(p string) *Rule               { return &Rule{Kind: Regex, Text: p} }
func schemaRule(s json.RawMessage) *Rule { return &Rule{Kind: Schema, Schema: s} }
func ref(name string) *Rule              { return &Rule{Kind: Ref, Text: name} }

// seq matches its parts in order; nil parts and empty texts are left out.
func seq(parts ...*Rule) *Rule {
	r := &Rule{Kind: Seq}
	for _, p := range parts {
		if p == nil || p.Kind == Lit && p.Text == "" {
			continue
		}
		if p.Kind == Seq {
			r.Parts = append(r.Parts, p.Parts...)
		} else {
			r.Parts = append(r.Parts, p)
		}
	}
	return r
}

// layout matches text of a layout; the white space around the text may be absent.
func layout(s string) *Rule {
	text := strings.TrimSpace(s)
	if text == "" && s != "" {
		return opt(lit(s))
	}
	before, after, _ := strings.Cut(s, text)
	r := lit(text)
	if before != "" {
		r = seq(opt(lit(before)), r)
	}
	if after != "" {
		r = seq(r, opt(lit(after)))
	}
	return r
}

// space matches a small amount of white space, or none. White space for it is never written.
func space() *Rule {
	const most = 2
	return &Rule{Kind: Repeat, Parts: []*Rule{alt(lit("\n"), lit(" "))}, Max: most}
}

// written returns the text that is written for a rule of literals and layout.
func (r *Rule) written() string {
	switch r.Kind {
	case Lit:
		return r.Text
	case Seq:
		var b strings.Builder
		for _, p := range r.Parts {
			b.WriteString(p.written())
		}
		return b.String()
	case Repeat:
		if r.Max != 1 {
			return ""
		}
		return r.Parts[0].written()
	case Alt:
		return r.Parts[0].written()
	}
	return ""
}

// fixLayout makes the optional white space of a layout mandatory, as it is written.
func (g *Grammar) fixLayout() {
	g.Root = g.Root.asWritten()
	for name, r := range g.Rules {
		g.Rules[name] = r.asWritten()
	}
}

// asWritten returns the rule with its layout fixed as it is written; the rule itself is not
// changed.
func (r *Rule) asWritten() *Rule {
	if r.Kind == Repeat && r.Parts[0].blank() {
		return lit(r.written())
	}
	if len(r.Parts) == 0 {
		return r
	}
	out := *r
	out.Parts = make([]*Rule, len(r.Parts))
	for i, p := range r.Parts {
		out.Parts[i] = p.asWritten()
	}
	return &out
}

// blank reports whether a rule matches only white space.
func (r *Rule) blank() bool {
	switch r.Kind {
	case Lit:
		return r.Text != "" && strings.TrimSpace(r.Text) == ""
	case Seq, Alt:
		for _, p := range r.Parts {
			if !p.blank() {
				return false
			}
		}
		return len(r.Parts) > 0
	}
	return false
}
