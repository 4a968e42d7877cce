package grammar

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// strC is the set of strings of min to max code points that are in every language of pos and in no
// language of neg.
type strC struct {
	min, max int // max < 0 means no limit
	pos, neg []*lang
}

// lang is a language of strings: a pattern, a format, or a list.
type lang struct {
	key     string
	pattern string
	and     []*lang  // if not empty, the language is the intersection of these
	values  []string // if not nil, the language has exactly these strings
	set     map[string]bool
	max     int // maximum number of code points; 0 means no limit other than the pattern's
}

func newStrC() *strC { return &strC{max: -1} }

func (a *strC) and(b *strC) *strC {
	c := &strC{min: max(a.min, b.min), max: a.max, pos: mergeLangs(a.pos, b.pos), neg: mergeLangs(a.neg, b.neg)}
	if c.max < 0 || b.max >= 0 && b.max < c.max {
		c.max = b.max
	}
	if c.max >= 0 && c.max < c.min {
		return nil
	}
	for _, l := range c.pos {
		if slices.ContainsFunc(c.neg, func(n *lang) bool { return n.key == l.key }) {
			return nil
		}
	}
	return c
}

func mergeLangs(a, b []*lang) []*lang {
	out := slices.Clone(a)
	for _, l := range b {
		if !slices.ContainsFunc(out, func(o *lang) bool { return o.key == l.key }) {
			out = append(out, l)
		}
	}
	return out
}

func (a *strC) complement() []*strC {
	var out []*strC
	if a.min > 0 {
		out = append(out, &strC{max: a.min - 1})
	}
	if a.max >= 0 {
		out = append(out, &strC{min: a.max + 1, max: -1})
	}
	for _, l := range a.pos {
		out = append(out, &strC{max: -1, neg: []*lang{l}})
	}
	for _, l := range a.neg {
		out = append(out, &strC{max: -1, pos: []*lang{l}})
	}
	return out
}

func (a *strC) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "str %d %d", a.min, a.max)
	for _, l := range a.pos {
		fmt.Fprintf(&b, "\x00+%s", l.key)
	}
	for _, l := range a.neg {
		fmt.Fprintf(&b, "\x00-%s", l.key)
	}
	return b.String()
}

// content returns the automaton of the set; nil without an error means the empty set.
func (a *strC) content(v *Vocab) (content, error) {
	if len(a.pos) == 0 && len(a.neg) == 0 {
		if a.min == 0 && a.max < 0 {
			return anyContent{}, nil
		}
		return lengths{int32(a.min), int32(a.max)}, nil
	}
	if vals, ok, err := a.list(v); ok || err != nil {
		if len(vals) == 0 || err != nil {
			return nil, err
		}
		return newTrie(vals, func(int) int32 { return 0 }, -1), nil
	}
	return v.cached(a.key(), func() (content, error) { return a.build(v) })
}

// list enumerates the set if one of its languages is a list.
func (a *strC) list(v *Vocab) (vals []string, ok bool, err error) {
	for _, l := range a.pos {
		if l.values == nil {
			continue
		}
		for _, s := range l.values {
			in, err := a.has(v, s)
			if err != nil {
				return nil, false, err
			}
			if in {
				vals = append(vals, s)
			}
		}
		return vals, true, nil
	}
	return nil, false, nil
}

// has reports whether s is in the set.
func (a *strC) has(v *Vocab, s string) (bool, error) {
	if n := utf8.RuneCountInString(s); n < a.min || a.max >= 0 && n > a.max {
		return false, nil
	}
	for i, l := range append(slices.Clone(a.pos), a.neg...) {
		in, err := l.has(v, s)
		if err != nil || in != (i < len(a.pos)) {
			return false, err
		}
	}
	return true, nil
}

func (l *lang) has(v *Vocab, s string) (bool, error) {
	if l.values != nil {
		return l.set[s], nil
	}
	c, err := l.content(v)
	if err != nil {
		return false, err
	}
	return c != nil && reads(c, s) >= 0, nil
}

// content returns the automaton of a language, or nil for the empty language.
func (l *lang) content(v *Vocab) (content, error) {
	if l.values != nil {
		if len(l.values) == 0 {
			return nil, nil
		}
		return newTrie(l.values, func(int) int32 { return 0 }, -1), nil
	}
	return v.cached(l.key, func() (content, error) {
		if len(l.and) > 0 {
			max := -1
			if l.max > 0 {
				max = l.max
			}
			return (&strC{max: max, pos: l.and}).build(v)
		}
		d, err := compilePattern(l.pattern, false)
		if err != nil || d.empty() {
			return nil, err
		}
		return d, nil
	})
}

// build multiplies the automata of all conditions. An upper limit on the length is kept outside the
// product if possible.
func (a *strC) build(v *Vocab) (content, error) {
	var parts []content
	var alphas []*alphabet
	add := func(c content) {
		parts = append(parts, c)
		switch c := c.(type) {
		case *dfa:
			alphas = append(alphas, c.alpha)
		case *bounded:
			alphas = append(alphas, c.d.alpha)
		case *trieContent:
			alphas = append(alphas, c.alphabet())
		}
	}
	want, limit := 0, a.max
	if a.min > 0 {
		add(lengths{int32(a.min), -1})
		want++
	}
	for i, l := range append(slices.Clone(a.pos), a.neg...) {
		c, err := l.content(v)
		if err != nil {
			return nil, err
		}
		if c == nil {
			if i < len(a.pos) {
				return nil, nil
			}
			continue
		}
		if i < len(a.pos) {
			want++
			if b, ok := c.(*bounded); ok {
				c = b.d
				if limit < 0 || int(b.max) < limit {
					limit = int(b.max)
				}
			}
		}
		add(c)
	}
	d, ok := parts[0].(*dfa)
	if !ok || len(parts) > 1 || want == 0 {
		var err error
		d, err = product(parts, alphas, nil, func(labels []int32) int32 {
			for i, l := range labels {
				if (l >= 0) != (i < want) {
					return -1
				}
			}
			return 0
		})
		if err != nil || d.empty() {
			return nil, err
		}
	}
	if limit < 0 {
		return d, nil
	}
	return newBounded(d, int32(limit)), nil
}
