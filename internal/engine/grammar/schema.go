package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
)

// schemaBuilder converts forms to operations.
type schemaBuilder struct {
	b     *builder
	s     *schemas
	space spacing
	ops   map[*expr]int32
	lex   map[content]*lexer
	deep  int
	lits  map[string]int32
}

func (b *builder) schema(schema json.RawMessage, opts SchemaOptions) (int32, error) {
	if opts.Space < SpaceAny || opts.Space > SpaceUniform {
		return 0, fmt.Errorf("unknown layout %d", opts.Space)
	}
	sb := &schemaBuilder{b: b, s: newSchemas(b.p.v), space: spacing(opts.Space), ops: map[*expr]int32{},
		lex: map[content]*lexer{}, lits: map[string]int32{}}
	root, err := sb.s.document(schema)
	if err != nil {
		return 0, err
	}
	return sb.expr(root)
}

// expr returns the operation of an expression.
func (sb *schemaBuilder) expr(e *expr) (int32, error) {
	if id, ok := sb.ops[e]; ok {
		return id, nil
	}
	if sb.deep++; sb.deep > 4*maxNest {
		return 0, errSchemaDeep
	}
	defer func() { sb.deep-- }()
	f, err := sb.s.norm(e)
	if err != nil {
		return 0, err
	}
	if len(sb.b.p.ops) > maxOps {
		return 0, errTooLarge
	}
	id := sb.b.p.add(op{kind: opAlt})
	sb.ops[e] = id
	kids, err := sb.form(f)
	if err != nil {
		return 0, err
	}
	if len(kids) == 0 {
		sb.b.p.ops[id].kind = opFail
	}
	sb.b.p.ops[id].kids = kids
	return id, nil
}

func (sb *schemaBuilder) form(f *form) ([]int32, error) {
	var kids []int32
	add := func(id int32, err error) error {
		if err == nil && id >= 0 {
			kids = append(kids, id)
		}
		return err
	}
	for _, l := range []struct {
		on   bool
		text string
	}{{f.null, "null"}, {f.yes, "true"}, {f.no, "false"}} {
		if l.on {
			kids = append(kids, sb.literal(l.text))
		}
	}
	for _, c := range f.nums {
		if err := add(sb.number(c)); err != nil {
			return nil, err
		}
	}
	for _, c := range f.strs {
		if err := add(sb.string(c)); err != nil {
			return nil, err
		}
	}
	for _, c := range f.arrs {
		if err := add(sb.array(c)); err != nil {
			return nil, err
		}
	}
	for _, c := range f.objs {
		if err := add(sb.object(c)); err != nil {
			return nil, err
		}
	}
	return kids, nil
}

func (sb *schemaBuilder) literal(text string) int32 {
	id, ok := sb.lits[text]
	if !ok {
		id = sb.b.p.add(op{kind: opLit, lit: []byte(text)})
		sb.lits[text] = id
	}
	return id
}

func (sb *schemaBuilder) lexer(c content, json bool) *lexer {
	l, ok := sb.lex[c]
	if !ok {
		l = newLexer(c, json)
		sb.lex[c] = l
	}
	return l
}

func (sb *schemaBuilder) number(c *numC) (int32, error) {
	d, err := sb.s.number(c)
	if err != nil || d == nil {
		return -1, err
	}
	return sb.b.p.add(op{kind: opString, lex: sb.lexer(d, false), max: -1}), nil
}

func (sb *schemaBuilder) string(c *strC) (int32, error) {
	if len(c.pos) == 0 && len(c.neg) == 0 {
		return sb.b.p.add(op{kind: opString, lex: sb.lexer(anyContent{}, true), min: int32(c.min), max: int32(c.max)}), nil
	}
	d, err := c.content(sb.s.v)
	if errors.Is(err, errRxSize) {
		err = &UnsupportedError{Keyword: "pattern", Reason: "the combination of patterns needs too large an automaton"}
	}
	if err != nil || d == nil {
		return -1, err
	}
	return sb.b.p.add(op{kind: opString, lex: sb.lexer(d, true), max: -1}), nil
}

// array returns the operation of a set of arrays.
func (sb *schemaBuilder) array(c *arrC) (int32, error) {
	if c.unique && (c.max < 0 || c.max > 1) {
		if id, ok, err := sb.distinct(c); ok || err != nil {
			return id, err
		}
		return 0, c.src.unsupported("uniqueItems", "items cannot be compared while they are written: use maxItems 1, or drop it and check the result")
	}
	a := &arrayOp{rest: -1, min: int32(c.min), max: int32(c.max)}
	id := sb.b.p.add(op{kind: opArray, array: a, space: sb.space})
	for i := range c.prefix {
		if c.max >= 0 && i >= c.max {
			break
		}
		for _, h := range c.holds {
			if i < h.from {
				return 0, c.src.unsupported("contains", "it cannot be enforced beside the negation of items after a prefix")
			}
		}
		it, err := sb.expr(c.prefix[i])
		if err != nil {
			return 0, err
		}
		a.prefix = append(a.prefix, it)
	}
	if c.max < 0 || c.max > len(c.prefix) {
		it, err := sb.expr(c.item(sb.s, len(c.prefix)))
		if err != nil {
			return 0, err
		}
		a.rest = it
	}
	a.sat = max(int32(len(a.prefix)), a.min)
	if c.max >= 0 {
		a.sat = int32(c.max)
	}
	return id, sb.holds(c, a)
}

// distinct returns the operation of an array of distinct items that all come from one short list of
// plain values; the result ok is false for other arrays. Each value is a kind of item that may
// occur once.
func (sb *schemaBuilder) distinct(c *arrC) (id int32, ok bool, err error) {
	if len(c.prefix) > 0 || len(c.holds) > 0 {
		return 0, false, nil
	}
	item := c.item(sb.s, 0)
	f, err := sb.s.norm(item)
	if err != nil || !sb.s.short(item) {
		return 0, false, err
	}
	var values []*form
	for _, one := range []*form{{null: f.null}, {yes: f.yes}, {no: f.no}} {
		if !one.empty() {
			values = append(values, one)
		}
	}
	for _, n := range f.nums {
		for _, v := range n.vals {
			values = append(values, &form{nums: []*numC{{integer: n.integer, vals: []numVal{v}}}})
		}
	}
	if len(f.nums) > 1 || len(f.strs) > 1 {
		return 0, false, nil // the same value might come from both lists
	}
	for _, sc := range f.strs {
		texts, _, err := sc.list(sb.s.v)
		if err != nil {
			return 0, false, err
		}
		for _, t := range texts {
			values = append(values, &form{strs: []*strC{{max: -1, pos: []*lang{listLang([]string{t})}}}})
		}
	}
	if len(values) > maxDistinct || repeats(f.nums) {
		return 0, false, nil
	}
	a := &arrayOp{rest: -1, min: int32(c.min), max: int32(len(values))}
	if c.max >= 0 {
		a.max = min(a.max, int32(c.max))
	}
	a.sat = a.max
	for i, v := range values {
		it, err := sb.expr(sb.s.add(&expr{form: v}))
		if err != nil {
			return 0, false, err
		}
		a.holds = append(a.holds, holdOp{0, 1})
		a.variants = append(a.variants, itemVariant{it, 1 << i})
	}
	if len(values) == 0 {
		a.holds = nil
	}
	return sb.b.p.add(op{kind: opArray, array: a, space: sb.space}), true, nil
}

const maxDistinct = 60

// repeats reports whether a list contains a number twice.
func repeats(nums []*numC) bool {
	for _, n := range nums {
		for i, v := range n.vals {
			if listed(n.vals[:i], v.v) {
				return true
			}
		}
	}
	return false
}

const maxHolds = 3

// holds adds the requirements of contains: each item may be one that counts towards it or one that
// does not.
func (sb *schemaBuilder) holds(c *arrC, a *arrayOp) error {
	if len(c.holds) == 0 {
		return nil
	}
	if len(c.holds) > maxHolds || len(c.prefix) > 0 {
		return c.src.unsupported("contains", "it cannot be enforced beside prefixItems or more than three times")
	}
	item := c.item(sb.s, 0)
	for set := range 1 << len(c.holds) {
		e := item
		for i, h := range c.holds {
			if set>>i&1 == 1 {
				e = sb.s.both(e, h.what)
			} else if h.max >= 0 {
				e = sb.s.both(e, sb.s.negated(h.what))
			}
		}
		none, err := sb.s.never(e)
		if err != nil {
			return err
		}
		if none {
			continue
		}
		it, err := sb.expr(e)
		if err != nil {
			return err
		}
		a.variants = append(a.variants, itemVariant{it, set})
	}
	for i, h := range c.holds {
		if h.min > 1<<12 || h.max > 1<<12 {
			return c.src.unsupported("minContains", "more than 4096 items cannot be counted")
		}
		a.holds = append(a.holds, holdOp{int32(h.min), int32(h.max)})
		alive := h.min == 0
		for _, v := range a.variants {
			alive = alive || v.set>>i&1 == 1
		}
		if !alive {
			a.min, a.max = 1, 0 // no item can match
		}
	}
	return nil
}
