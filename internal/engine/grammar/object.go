package grammar

import (
	"errors"
	"slices"
)

// objectBuilder collects the possible names of one set of objects.
type objectBuilder struct {
	sb     *schemaBuilder
	c      *objC
	names  []string
	index  map[string]int
	values []*expr // by label: names first, then classes of other names
	class  []*nameClass
}

// nameClass describes one class of unlisted names.
type nameClass struct {
	pats  map[string]bool // keys of the pattern languages that the names are in
	exprs map[*expr]bool  // name expressions that the names match
}

const maxNames = 20_000

// object returns the operation of a set of objects, or -1 for the empty set.
func (sb *schemaBuilder) object(c *objC) (int32, error) {
	ob := &objectBuilder{sb: sb, c: c, index: map[string]int{}}
	ob.list()
	if len(ob.names) > maxNames {
		return 0, errTooLarge
	}
	for _, n := range ob.names {
		v, err := sb.s.property(c, n)
		if err != nil {
			return 0, err
		}
		if none, err := sb.s.never(v); err != nil {
			return 0, err
		} else if none {
			v = sb.s.none
		}
		ob.values = append(ob.values, v)
	}
	keys, err := ob.keys()
	if err != nil {
		if errors.Is(err, errRxSize) {
			err = ob.c.src.unsupported("patternProperties", "the patterns together need too large an automaton")
		}
		return 0, err
	}
	if done, id, err := ob.expand(); done || err != nil {
		return id, err
	}
	return ob.build(keys)
}

// list collects the names that must be distinguished.
func (ob *objectBuilder) list() {
	add := func(n string) {
		if _, ok := ob.index[n]; !ok {
			ob.index[n] = len(ob.names)
			ob.names = append(ob.names, n)
		}
	}
	for _, l := range ob.c.layers {
		for _, n := range l.order {
			add(n)
		}
	}
	for _, n := range ob.c.required {
		add(n)
	}
	for _, so := range ob.c.some {
		if so.of != nil {
			for _, n := range so.of.order {
				add(n)
			}
		}
	}
	for _, n := range ob.c.names { // a list of names is treated like properties
		if f, err := ob.sb.s.norm(n); err == nil {
			for _, sc := range f.strs {
				if vals, ok, err := sc.list(ob.sb.s.v); ok && err == nil {
					for _, v := range vals {
						add(v)
					}
				}
			}
		}
	}
}

// languages returns the pattern languages by which the names must be classified.
func (ob *objectBuilder) languages() []*lang {
	var out []*lang
	add := func(l *lang) { out = mergeLangs(out, []*lang{l}) }
	for _, l := range ob.c.layers {
		for _, p := range l.pats {
			add(p.names)
		}
	}
	for _, so := range ob.c.some {
		if so.in != nil {
			add(so.in)
		}
		if so.of != nil {
			for _, p := range so.of.pats {
				add(p.names)
			}
		}
	}
	return out
}

// keys builds the automaton of the names. It returns nil if there is none.
func (ob *objectBuilder) keys() (content, error) {
	langs := ob.languages()
	exprs := slices.Clone(ob.c.names)
	for _, so := range ob.c.some {
		if so.name != nil && !slices.Contains(exprs, so.name) {
			exprs = append(exprs, so.name)
		}
	}
	if len(langs) == 0 && len(exprs) == 0 {
		return ob.plainKeys()
	}
	s := ob.sb.s
	trie := newTrie(ob.names, func(i int) int32 { return int32(i) }, -1)
	parts, alphas := []content{trie}, []*alphabet{trie.alphabet()}
	var owner []any // the language or expression to which each further part belongs
	add := func(c content, of any) {
		if c == nil {
			return
		}
		parts, owner = append(parts, c), append(owner, of)
		switch c := c.(type) {
		case *dfa:
			alphas = append(alphas, c.alpha)
		case *bounded:
			alphas = append(alphas, c.d.alpha)
		case *trieContent:
			alphas = append(alphas, c.alphabet())
		}
	}
	for _, l := range langs {
		c, err := l.content(s.v)
		if err != nil {
			return nil, err
		}
		add(c, l.key)
	}
	for _, e := range exprs {
		f, err := s.norm(e)
		if err != nil {
			return nil, err
		}
		for _, sc := range f.strs {
			c, err := sc.content(s.v)
			if err != nil {
				return nil, err
			}
			add(c, e)
		}
	}
	var failed error
	known := map[string]int32{}
	d, err := product(parts, alphas, nil, func(labels []int32) int32 {
		if i := labels[0]; i >= 0 {
			if ob.values[i] == s.none {
				return -1
			}
			return i
		}
		key := make([]byte, len(labels))
		for i, l := range labels[1:] {
			if l >= 0 {
				key[i] = 1
			}
		}
		lab, ok := known[string(key)]
		if !ok {
			var err error
			if lab, err = ob.classify(labels[1:], owner); err != nil && failed == nil {
				failed = err
			}
			known[string(key)] = lab
		}
		return lab
	})
	if failed != nil {
		err = failed
	}
	if err != nil || d.empty() {
		return nil, err
	}
	return d, nil
}

// classify returns the label of the unlisted names for which the further parts of the automaton
// reach the given labels, or -1 if such names are refused.
func (ob *objectBuilder) classify(labels []int32, owner []any) (int32, error) {
	nc := &nameClass{pats: map[string]bool{}, exprs: map[*expr]bool{}}
	for i, l := range labels {
		if l < 0 {
			continue
		}
		switch o := owner[i].(type) {
		case string:
			nc.pats[o] = true
		case *expr:
			nc.exprs[o] = true
		}
	}
	return ob.other(nc)
}

// other makes a label for a class of unlisted names.
func (ob *objectBuilder) other(nc *nameClass) (int32, error) {
	s := ob.sb.s
	for _, n := range ob.c.names {
		if !nc.exprs[n] {
			return -1, nil
		}
	}
	v := s.any
	for _, l := range ob.c.layers {
		matched := false
		for _, p := range l.pats {
			if nc.pats[p.names.key] {
				matched = true
				v = s.both(v, p.value)
			}
		}
		if !matched && l.extra != nil {
			v = s.both(v, l.extra)
		}
	}
	if none, err := s.never(v); none || err != nil {
		return -1, err
	}
	ob.class = append(ob.class, nc)
	ob.values = append(ob.values, v)
	return int32(len(ob.values) - 1), nil
}

// plainKeys is like keys, for the case in which names only need to be compared.
func (ob *objectBuilder) plainKeys() (content, error) {
	others, err := ob.other(&nameClass{})
	if err != nil {
		return nil, err
	}
	if others >= 0 {
		return newTrie(ob.names, func(i int) int32 { return int32(i) }, others), nil
	}
	var names []string
	var labels []int32
	for i, n := range ob.names {
		if ob.values[i] != ob.sb.s.none {
			names, labels = append(names, n), append(labels, int32(i))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return newTrie(names, func(i int) int32 { return labels[i] }, -1), nil
}

// satisfies reports whether the property with the label lab can be the one that so requires,
// ignoring its value.
func (ob *objectBuilder) satisfies(so *some, lab int) (bool, error) {
	s := ob.sb.s
	if lab < len(ob.names) {
		name := ob.names[lab]
		switch {
		case so.name != nil:
			return s.matchesName(so.name, name)
		case so.in != nil:
			return so.in.has(s.v, name)
		}
		if _, listed := so.of.props[name]; listed {
			return false, nil
		}
		for _, p := range so.of.pats {
			if in, err := p.names.has(s.v, name); in || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	nc := ob.class[lab-len(ob.names)]
	switch {
	case so.name != nil:
		return nc.exprs[so.name], nil
	case so.in != nil:
		return nc.pats[so.in.key], nil
	}
	for _, p := range so.of.pats {
		if nc.pats[p.names.key] {
			return false, nil
		}
	}
	return true, nil
}

// choices returns the labels of the properties that can be the one that so requires, each with the
// value that it must have in that case.
func (ob *objectBuilder) choices(so *some) (map[int]*expr, error) {
	out := map[int]*expr{}
	for lab := range ob.values {
		if ob.values[lab] == ob.sb.s.none {
			continue
		}
		ok, err := ob.satisfies(so, lab)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		v := ob.sb.s.both(ob.values[lab], so.value)
		none, err := ob.sb.s.never(v)
		if err != nil {
			return nil, err
		}
		if !none {
			out[lab] = v
		}
	}
	return out, nil
}

// expand replaces a required property that only listed names can satisfy with a choice among those
// names.
func (ob *objectBuilder) expand() (done bool, id int32, err error) {
	for i, so := range ob.c.some {
		ch, err := ob.choices(so)
		if err != nil {
			return false, 0, err
		}
		free := false
		for lab := range ch {
			free = free || lab >= len(ob.names)
		}
		if free {
			continue
		}
		var kids []int32
		for lab := range len(ob.names) {
			if ch[lab] == nil {
				continue
			}
			name := ob.names[lab]
			c := *ob.c
			c.some = append(slices.Clone(ob.c.some[:i]), ob.c.some[i+1:]...)
			d, err := ob.sb.s.andObj(&c, &objC{max: -1, required: []string{name},
				layers: []*layer{{props: map[string]*expr{name: so.value}, order: []string{name}}}})
			if err != nil {
				return false, 0, err
			}
			if d == nil {
				continue
			}
			if ob.sb.s.fuel--; ob.sb.s.fuel < 0 {
				return false, 0, errSchemaSize
			}
			kid, err := ob.sb.object(d)
			if err != nil {
				return false, 0, err
			}
			if kid >= 0 {
				kids = append(kids, kid)
			}
		}
		if len(kids) == 0 {
			return true, -1, nil
		}
		return true, ob.sb.b.p.add(op{kind: opAlt, kids: kids}), nil
	}
	return false, 0, nil
}

// build makes the operation.
func (ob *objectBuilder) build(keys content) (int32, error) {
	c, n := ob.c, len(ob.names)
	words := max(1, (n+len(c.some)+63)/64)
	o := &objectOp{names: n, words: words, min: int32(c.min), max: int32(c.max)}
	o.required, o.welcome = make([]uint64, words), make([]uint64, words)
	for _, r := range c.required {
		i := ob.index[r]
		o.required[i>>6] |= 1 << (i & 63)
	}
	welcome := 0
	for i := range n {
		if ob.values[i] != ob.sb.s.none {
			o.welcome[i>>6] |= 1 << (i & 63)
			welcome++
		}
	}
	o.others = len(ob.values) > n
	if missing(o.required, o.welcome) > 0 || !o.others && c.min > welcome {
		return -1, nil
	}
	if o.others && c.min > max(1, len(c.required)) {
		return 0, c.src.unsupported("minProperties", "above 1 it needs a closed list of names (additionalProperties false), since a name written twice counts once")
	}
	if len(c.some) > 0 && (c.max >= 0 || len(c.some) > 16) {
		return 0, c.src.unsupported("not", "a negated object cannot be enforced beside maxProperties")
	}
	id := ob.sb.b.p.add(op{kind: opObject, object: o, space: ob.sb.space})
	ob.sb.b.p.add(op{kind: opKey, object: o, space: ob.sb.space})
	if err := ob.fill(o, keys); err != nil {
		return 0, err
	}
	return id, nil
}

func (ob *objectBuilder) fill(o *objectOp, keys content) error {
	if keys == nil {
		keys = newTrie(nil, nil, -1)
		o.closed = true
	}
	o.keys = newLexer(keys, true)
	switch k := keys.(type) {
	case *trieContent:
		o.reach, o.reachMore = k.reach(o.names, o.words)
	case *dfa:
		o.reach, o.reachMore = k.reach(o.names, o.words)
	}
	o.reachAll = true
	for q, more := range o.reachMore { // states in which no name is possible are never entered
		for _, w := range o.reach[q*o.words : (q+1)*o.words] {
			o.reachAll = o.reachAll && (more || w == 0)
		}
	}
	for _, v := range ob.values {
		id := int32(-1)
		if v != ob.sb.s.none {
			var err error
			if id, err = ob.sb.expr(v); err != nil {
				return err
			}
		}
		o.values = append(o.values, id)
	}
	for j, so := range ob.c.some {
		bit := o.names + j
		o.required[bit>>6] |= 1 << (bit & 63)
		ch, err := ob.choices(so)
		if err != nil {
			return err
		}
		if o.wanted == nil {
			o.wanted = make([][]wanted, len(ob.values))
		}
		for lab := range ob.values {
			if ch[lab] == nil {
				continue
			}
			id, err := ob.sb.expr(ch[lab])
			if err != nil {
				return err
			}
			o.wanted[lab] = append(o.wanted[lab], wanted{int32(bit), id})
		}
	}
	return nil
}
