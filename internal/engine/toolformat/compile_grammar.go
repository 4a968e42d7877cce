package toolformat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/grammar"
)

// Compile compiles the grammar for a vocabulary. control maps the text of each control token, which
// normal text never produces, to its id. Where a marker of the format contains a control token, the
// grammar requires the token itself.
func (g *Grammar) Compile(v *grammar.Vocab, control map[string]int32) (*grammar.Grammar, error) {
	c := newControls(control)
	rules := make(map[string]grammar.Node, len(g.Rules)+1)
	for name, r := range g.Rules {
		rules[name] = c.node(r)
	}
	const root = "\x00root" // no tool has this name
	rules[root] = c.node(g.Root)
	compiled, err := grammar.CompileRules(root, rules, v)
	if err != nil {
		return nil, fmt.Errorf("toolformat: compile grammar of calls: %w", err)
	}
	return compiled, nil
}

// TriggerTokens returns the control tokens with which only calls begin. A trigger that is plain
// text contributes none.
func (g *Grammar) TriggerTokens(control map[string]int32) []int32 {
	c := newControls(control)
	var ids []int32
	for _, t := range g.Triggers {
		if _, m := c.marks.find(t, false); m != nil && !slices.Contains(ids, control[m.text]) {
			ids = append(ids, control[m.text])
		}
	}
	return ids
}

// controls finds control tokens in text.
type controls struct {
	ids   map[string]int32
	marks marks
}

func newControls(ids map[string]int32) *controls {
	c := &controls{ids: ids}
	for text := range ids {
		c.marks.add(text, actDrop, 0)
	}
	return c
}

// node converts a rule to a node of the grammar package.
func (c *controls) node(r *Rule) grammar.Node {
	switch r.Kind {
	case Lit:
		return c.literal(r.Text)
	case Seq:
		return grammar.Seq(c.nodes(r.Parts)...)
	case Alt:
		return grammar.Alt(c.nodes(r.Parts)...)
	case Repeat:
		return grammar.Repeat(c.node(r.Parts[0]), r.Min, r.Max)
	case Set:
		var sep grammar.Node
		if r.Sep != nil {
			sep = c.node(r.Sep)
		}
		return grammar.Set(c.nodes(r.Parts), r.Needs, sep, r.Min > 0)
	case Free:
		if r.Min > 0 || r.Max > 0 {
			return grammar.Limited(r.Min, cmp.Or(r.Max, -1), c.textOnly(r.Stops)...)
		}
		return grammar.Without(c.textOnly(r.Stops)...)
	case Regex:
		return grammar.Regex("^(?:" + r.Text + ")$")
	case Schema:
		return grammar.JSON(r.Schema, grammar.SchemaOptions{})
	}
	return grammar.Rule(r.Text)
}

func (c *controls) nodes(rules []*Rule) []grammar.Node {
	all := make([]grammar.Node, len(rules))
	for i, r := range rules {
		all[i] = c.node(r)
	}
	return all
}

// literal matches text that may contain control tokens.
func (c *controls) literal(s string) grammar.Node {
	var parts []grammar.Node
	for s != "" {
		pos, m := c.marks.find(s, false)
		if pos > 0 {
			parts = append(parts, grammar.Lit(s[:pos]))
		}
		if m == nil {
			break
		}
		parts = append(parts, grammar.Token(c.ids[m.text]))
		s = s[pos+len(m.text):]
	}
	return grammar.Seq(parts...)
}

// textOnly removes stops that free text cannot contain anyway, because a control token is part of
// them, and stops that are redundant because of other stops.
func (c *controls) textOnly(stops []string) []string {
	var out []string
	for i, s := range stops {
		_, m := c.marks.find(s, false)
		covered := slices.ContainsFunc(stops, func(t string) bool { return t != s && strings.Contains(s, t) })
		if m == nil && !covered && !slices.Contains(stops[:i], s) {
			out = append(out, s)
		}
	}
	return out
}
