package grammar

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// The dialect of patterns is that of ECMA-262 with the u flag, as JSON Schema requires: classes,
// groups, alternation, greedy and lazy repetition, anchors, \d \w \s and their complements,
// \p{...}, \u and \x escapes, and lookahead outside repetitions. Lookbehind, word boundaries and
// backreferences are refused.

// reNode is the syntax tree of a pattern.
type reNode struct {
	kind     reKind
	set      []span
	kids     []*reNode
	min, max int
	not      bool // negative lookahead
	looks    bool // contains a lookahead
}

type reKind uint8

const (
	reSet reKind = iota
	reCat
	reAlt
	reRep
	reBegin
	reEnd
	reLook
)

const maxPattern = 1 << 16

// compilePattern compiles a pattern to a DFA over the text. If whole is true, the pattern must
// match the whole text; otherwise a match anywhere in the text is enough.
func compilePattern(pattern string, whole bool) (*dfa, error) {
	p := newRxPool()
	x, err := p.pattern(pattern, whole)
	if err != nil {
		return nil, err
	}
	return p.automaton(x)
}

// pattern returns the expression of the texts, including marks, that the pattern matches.
func (p *rxPool) pattern(pattern string, whole bool) (*rx, error) {
	ps := &reParser{src: pattern}
	n, err := ps.parse()
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", clip(pattern), err)
	}
	begin, end := p.class(span{markBegin, markBegin}), p.class(span{markEnd, markEnd})
	if whole {
		// Anchors may also appear at the ends of a whole pattern: the marks are consumed either by
		// the anchors or next to them.
		return p.cat(p.alt(begin, p.empty), p.regex(n, p.alt(end, p.empty))), p.spent()
	}
	after := p.alt(p.empty, p.cat(p.all, end))
	return p.cat(p.alt(p.empty, p.cat(begin, p.all)), p.regex(n, after)), p.spent()
}

func (p *rxPool) spent() error {
	if p.fuel < 0 {
		return errRxSize
	}
	return nil
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// regex returns the expression of n followed by rest. Lookaheads need the rest; any other
// expression is built once and prepended to it.
func (p *rxPool) regex(n *reNode, rest *rx) *rx {
	if !n.looks {
		return p.cat2(p.simple(n), rest)
	}
	switch n.kind {
	case reCat:
		for i := len(n.kids) - 1; i >= 0; i-- {
			rest = p.regex(n.kids[i], rest)
		}
		return rest
	case reAlt:
		xs := make([]*rx, len(n.kids))
		for i, k := range n.kids {
			xs[i] = p.regex(k, rest)
		}
		return p.alt(xs...)
	}
	look := p.regex(n.kids[0], p.rep(p.class(span{0, markEnd}), 0, -1))
	if n.not {
		look = p.not(look)
	}
	return p.and(look, rest)
}

func (p *rxPool) simple(n *reNode) *rx {
	switch n.kind {
	case reSet:
		return p.class(n.set...)
	case reBegin:
		return p.class(span{markBegin, markBegin})
	case reEnd:
		return p.class(span{markEnd, markEnd})
	case reRep:
		return p.rep(p.simple(n.kids[0]), int32(n.min), int32(n.max))
	}
	xs := make([]*rx, len(n.kids))
	for i, k := range n.kids {
		xs[i] = p.simple(k)
	}
	if n.kind == reAlt {
		return p.alt(xs...)
	}
	return p.cat(xs...)
}

type reParser struct {
	src   string
	pos   int
	depth int
}

func (ps *reParser) parse() (*reNode, error) {
	if len(ps.src) > maxPattern {
		return nil, errors.New("too long")
	}
	if !utf8.ValidString(ps.src) {
		return nil, errors.New("not valid UTF-8")
	}
	n, err := ps.alternation()
	if err == nil && ps.pos < len(ps.src) {
		err = errors.New("unmatched )")
	}
	return n, err
}

func (ps *reParser) peek() byte {
	if ps.pos < len(ps.src) {
		return ps.src[ps.pos]
	}
	return 0
}

func (ps *reParser) more() bool { return ps.pos < len(ps.src) }

func (ps *reParser) accept(s string) bool {
	if len(ps.src)-ps.pos >= len(s) && ps.src[ps.pos:ps.pos+len(s)] == s {
		ps.pos += len(s)
		return true
	}
	return false
}

func (ps *reParser) alternation() (*reNode, error) {
	if ps.depth++; ps.depth > 200 {
		return nil, errors.New("nested too deeply")
	}
	defer func() { ps.depth-- }()
	alt := &reNode{kind: reAlt}
	for {
		cat := &reNode{kind: reCat}
		for ps.more() && ps.peek() != '|' && ps.peek() != ')' {
			k, err := ps.term()
			if err != nil {
				return nil, err
			}
			cat.kids = append(cat.kids, k)
			cat.looks = cat.looks || k.looks
		}
		for i, k := range cat.kids {
			if k.kind == reBegin && i+1 < len(cat.kids) {
				cat.kids[i+1] = cat.kids[i+1].without(reBegin)
			}
			if k.kind == reEnd && i > 0 {
				cat.kids[i-1] = cat.kids[i-1].without(reEnd)
			}
		}
		alt.kids = append(alt.kids, cat)
		alt.looks = alt.looks || cat.looks
		if !ps.accept("|") {
			break
		}
	}
	if len(alt.kids) == 1 {
		return alt.kids[0], nil
	}
	return alt, nil
}

// without returns n without the anchors of one kind at its beginning or end, for use where there is
// already such an anchor, because a mark can be consumed only once.
func (n *reNode) without(anchor reKind) *reNode {
	switch n.kind {
	case anchor:
		return &reNode{kind: reCat}
	case reAlt, reCat:
	default:
		return n
	}
	out := *n
	out.kids = append([]*reNode(nil), n.kids...)
	for i := range out.kids {
		edge := n.kind == reAlt || anchor == reBegin && i == 0 || anchor == reEnd && i == len(out.kids)-1
		if edge {
			out.kids[i] = out.kids[i].without(anchor)
		}
	}
	return &out
}

func (ps *reParser) term() (*reNode, error) {
	n, err := ps.atom()
	if err != nil {
		return nil, err
	}
	for ps.more() {
		lo, hi, ok, err := ps.quantifier()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if n.looks {
			return nil, errors.New("lookahead inside a repetition is not supported")
		}
		if n.kind == reBegin || n.kind == reEnd {
			return nil, errors.New("an anchor cannot be repeated")
		}
		ps.accept("?") // a lazy quantifier, which has the same language
		n = &reNode{kind: reRep, kids: []*reNode{n}, min: lo, max: hi}
	}
	return n, nil
}

const maxCount = 20_000

func (ps *reParser) quantifier() (lo, hi int, ok bool, err error) {
	switch ps.peek() {
	case '*':
		ps.pos++
		return 0, -1, true, nil
	case '+':
		ps.pos++
		return 1, -1, true, nil
	case '?':
		ps.pos++
		return 0, 1, true, nil
	case '{':
	default:
		return 0, 0, false, nil
	}
	start := ps.pos
	ps.pos++
	lo, ok = ps.number()
	hi = lo
	if ok && ps.accept(",") {
		hi = -1
		if n, more := ps.number(); more {
			hi = n
		}
	}
	if !ok || !ps.accept("}") {
		ps.pos = start
		return 0, 0, false, nil // a brace that is not a quantifier is literal
	}
	if hi >= 0 && hi < lo {
		return 0, 0, false, errors.New("repetition with its limits out of order")
	}
	if lo > maxCount || hi > maxCount {
		return 0, 0, false, fmt.Errorf("repetition of more than %d times", maxCount)
	}
	return lo, hi, true, nil
}

func (ps *reParser) number() (int, bool) {
	start := ps.pos
	for ps.more() && ps.peek() >= '0' && ps.peek() <= '9' {
		ps.pos++
	}
	if start == ps.pos {
		return 0, false
	}
	n, err := strconv.Atoi(ps.src[start:ps.pos])
	if err != nil {
		n = maxCount + 1
	}
	return n, true
}

func (ps *reParser) rune() rune {
	r, n := utf8.DecodeRuneInString(ps.src[ps.pos:])
	ps.pos += n
	return r
}

func (ps *reParser) atom() (*reNode, error) {
	switch r := ps.rune(); r {
	case '^':
		return &reNode{kind: reBegin}, nil
	case '$':
		return &reNode{kind: reEnd}, nil
	case '.':
		return &reNode{set: outside([]span{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}})}, nil
	case '(':
		return ps.group()
	case '[':
		set, err := ps.class()
		return &reNode{set: set}, err
	case '\\':
		set, err := ps.escape(false)
		return &reNode{set: set}, err
	case '*', '+', '?':
		return nil, errors.New("nothing to repeat")
	default:
		return &reNode{set: []span{{r, r}}}, nil
	}
}

func (ps *reParser) group() (*reNode, error) {
	look, not := false, false
	switch {
	case ps.accept("?:"):
	case ps.accept("?="):
		look = true
	case ps.accept("?!"):
		look, not = true, true
	case ps.accept("?<=") || ps.accept("?<!"):
		return nil, errors.New("lookbehind is not supported")
	case ps.accept("?<") || ps.accept("?P<"):
		for ps.more() && ps.peek() != '>' {
			ps.pos++
		}
		if !ps.accept(">") {
			return nil, errors.New("group name without >")
		}
	case ps.peek() == '?':
		return nil, errors.New("unknown kind of group")
	}
	n, err := ps.alternation()
	if err != nil {
		return nil, err
	}
	if !ps.accept(")") {
		return nil, errors.New("missing )")
	}
	if look {
		n = &reNode{kind: reLook, kids: []*reNode{n}, not: not, looks: true}
	}
	return n, nil
}
