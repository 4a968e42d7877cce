package grammar

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// builder turns nodes into operations.
type builder struct {
	p     *program
	rules map[string]Node
	ids   map[string]int32
	deep  int
	folds int // folds that failed
}

// Limits of a grammar.
const (
	maxOps    = 500_000
	maxNest   = 500
	maxFold   = 4000 // states of the DFA that replaces a regular part of a grammar
	maxFailed = 3    // number of DFAs that may be too large before no more are tried
	maxRound  = 1000 // repetitions of a part that may match the empty text
)

var errTooLarge = errors.New("grammar is too large: simplify it or split it")

func newBuilder(v *Vocab, rules map[string]Node) *builder {
	return &builder{p: &program{v: v}, rules: rules, ids: map[string]int32{}}
}

// rule returns the operation of a named rule.
func (b *builder) rule(name string) (int32, error) {
	if id, ok := b.ids[name]; ok {
		return id, nil
	}
	n, ok := b.rules[name]
	if !ok {
		return 0, fmt.Errorf("no rule %q", name)
	}
	id := b.p.add(op{kind: opSeq}) // a sequence of one, so that the rule has an id before it is built
	b.ids[name] = id
	kid, err := b.node(n)
	if err != nil {
		return 0, fmt.Errorf("rule %q: %w", name, err)
	}
	b.p.ops[id].kids = []int32{kid}
	return id, nil
}

// node returns the operation of a node.
func (b *builder) node(n Node) (int32, error) {
	if b.deep++; b.deep > maxNest {
		return 0, errors.New("grammar is nested too deeply")
	}
	defer func() { b.deep-- }()
	if len(b.p.ops) > maxOps {
		return 0, errTooLarge
	}
	if id, ok, err := b.fold(n); ok || err != nil {
		return id, err
	}
	switch n := n.(type) {
	case litNode:
		return b.p.add(op{kind: opLit, lit: []byte(n.text)}), nil
	case seqNode:
		return b.list(opSeq, n.kids)
	case altNode:
		return b.list(opAlt, n.kids)
	case repeatNode:
		return b.repeat(n)
	case setNode:
		return b.set(n)
	case limitNode:
		return b.limited(n)
	case tokenNode:
		if n.id < 0 || int(n.id) >= b.p.v.size {
			return 0, fmt.Errorf("no token %d: the vocabulary has %d", n.id, b.p.v.size)
		}
		return b.p.add(op{kind: opToken, token: n.id}), nil
	case ruleNode:
		return b.rule(n.name)
	case schemaNode:
		return b.schema(n.schema, n.opts)
	case nil:
		return 0, errors.New("a nil node")
	}
	return 0, fmt.Errorf("cannot compile %T", n)
}

func (b *builder) list(kind opKind, nodes []Node) (int32, error) {
	kids := make([]int32, len(nodes))
	for i, n := range nodes {
		id, err := b.node(n)
		if err != nil {
			return 0, err
		}
		kids[i] = id
	}
	return b.p.add(op{kind: kind, kids: kids}), nil
}

func (b *builder) repeat(n repeatNode) (int32, error) {
	if n.min < 0 || n.max >= 0 && n.max < n.min || n.min > 1<<20 || n.max > 1<<20 {
		return 0, fmt.Errorf("cannot repeat %d to %d times", n.min, n.max)
	}
	kid, err := b.node(n.kid)
	if err != nil {
		return 0, err
	}
	return b.p.add(op{kind: opRepeat, kids: []int32{kid}, min: int32(n.min), max: int32(n.max)}), nil
}

// fold turns a regular node into a single DFA. The result ok is false if the node is not regular or
// its DFA would be too large.
func (b *builder) fold(n Node) (id int32, ok bool, err error) {
	switch n := n.(type) {
	case litNode, setNode, limitNode, tokenNode, ruleNode, schemaNode, nil:
		return 0, false, nil
	case regexNode:
		d, err := compilePattern(n.pattern, true)
		if err != nil {
			return 0, false, err
		}
		return b.raw(d), true, nil
	case seqNode, altNode, repeatNode:
		if b.folds >= maxFailed || regularSize(n, maxFold) < 0 {
			return 0, false, nil
		}
	}
	p := newRxPool()
	x := p.node(n)
	if x == nil {
		return 0, false, errors.New("the texts to stop at must be valid UTF-8 and not empty")
	}
	d, err := p.automaton(p.cat(p.class(span{markBegin, markBegin}), x, p.class(span{markEnd, markEnd})))
	if err == nil {
		return b.raw(d), true, nil
	}
	switch n.(type) {
	case seqNode, altNode, repeatNode:
		b.folds++ // the parts of n are then compiled one by one
		return 0, false, nil
	}
	return 0, false, err
}

// limited returns the operation of text of limited length.
func (b *builder) limited(n limitNode) (int32, error) {
	const most = 1 << 20
	if n.min < 0 || n.min > most || n.max > most || n.max >= 0 && n.max < n.min {
		return 0, fmt.Errorf("cannot limit text to %d to %d characters", n.min, n.max)
	}
	id, err := b.node(untilNode{n.stops, false})
	if err != nil {
		return 0, err
	}
	if o := &b.p.ops[id]; o.kind == opString {
		o.min, o.max = int32(n.min), int32(n.max)
	}
	return id, nil
}

func (b *builder) raw(d *dfa) int32 {
	if d.empty() {
		return b.p.add(op{kind: opFail})
	}
	return b.p.add(op{kind: opString, lex: newLexer(d, false), max: -1})
}

// regularSize returns the number of code points in a regular node, with repetitions written out. It
// returns -1 if the node is not regular or exceeds the budget.
func regularSize(n Node, budget int) int {
	size := 0
	switch n := n.(type) {
	case litNode:
		if !utf8.ValidString(n.text) {
			return -1
		}
		size = len(n.text)
	case classNode:
		size = 1
	case untilNode:
		for _, s := range n.stops {
			if s == "" || !utf8.ValidString(s) {
				return -1
			}
			size += len(s)
		}
	case seqNode:
		size = regularSum(n.kids, budget)
	case altNode:
		size = regularSum(n.kids, budget)
	case repeatNode:
		one := regularSize(n.kid, budget)
		if one < 0 || n.min < 0 || n.max >= 0 && n.max < n.min || n.max > budget || n.min > budget {
			return -1
		}
		size = max(one, 1) * max(n.min, n.max, 1)
	default:
		return -1
	}
	if size > budget {
		return -1
	}
	return size
}

func regularSum(kids []Node, budget int) int {
	sum := 0
	for _, k := range kids {
		n := regularSize(k, budget)
		if n < 0 || sum+n > budget {
			return -1
		}
		sum += n
	}
	return sum
}

// node returns the regular expression of a regular node.
func (p *rxPool) node(n Node) *rx {
	switch n := n.(type) {
	case litNode:
		return p.text(n.text)
	case classNode:
		return p.class(n.set...)
	case untilNode:
		stops := make([]*rx, len(n.stops))
		for i, s := range n.stops {
			if s == "" || !utf8.ValidString(s) {
				return nil
			}
			stops[i] = p.text(s)
		}
		found := p.cat(p.all, p.alt(stops...))
		if !n.consume {
			return p.and(p.all, p.not(p.cat(found, p.all)))
		}
		return p.and(found, p.not(p.cat(found, p.class(span{0, runeMax}), p.all)))
	case seqNode:
		return p.cat(p.nodes(n.kids)...)
	case altNode:
		return p.alt(p.nodes(n.kids)...)
	case repeatNode:
		return p.rep(p.node(n.kid), int32(n.min), int32(n.max))
	}
	return nil
}

func (p *rxPool) nodes(kids []Node) []*rx {
	xs := make([]*rx, len(kids))
	for i, k := range kids {
		xs[i] = p.node(k)
	}
	return xs
}
