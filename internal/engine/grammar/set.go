package grammar

// setOp accepts the children of its operation in any order, each at most once. A frame of it is
// never waiting for input: it is the parent of the child that is read, and its memory is the set of
// the children read so far, including that one.
type setOp struct {
	next     []int32 // by child: the separator and the child
	required []uint64
	words    int
	some     bool // at least one child
}

func (b *builder) set(n setNode) (int32, error) {
	o := &setOp{words: max(1, (len(n.kids)+63)/64), some: n.some}
	o.required = make([]uint64, o.words)
	kids := make([]int32, len(n.kids))
	sep := int32(-1)
	if n.sep != nil {
		var err error
		if sep, err = b.node(n.sep); err != nil {
			return 0, err
		}
	}
	for i, kid := range n.kids {
		id, err := b.node(kid)
		if err != nil {
			return 0, err
		}
		kids[i] = id
		if sep >= 0 {
			id = b.p.add(op{kind: opSeq, kids: []int32{sep, id}})
		}
		o.next = append(o.next, id)
		if i < len(n.required) && n.required[i] {
			o.required[i>>6] |= 1 << (i & 63)
		}
	}
	return b.p.add(op{kind: opSet, kids: kids, set: o}), nil
}

// needs reports whether child i is required.
func (o *setOp) needs(i int) bool { return o.required[i>>6]>>(i&63)&1 != 0 }

// enterSet continues a set after the children in the set seen.
func (m *machine) enterSet(id, parent int32, seen []uint64) {
	o := &m.p.ops[id]
	first := true
	for _, w := range seen {
		first = first && w == 0
	}
	if missing(o.set.required, seen) == 0 && !(first && o.set.some) {
		m.finish(parent)
	}
	next := make([]uint64, o.set.words)
	for i, kid := range o.kids {
		if kid < 0 || seen[i>>6]>>(i&63)&1 != 0 {
			continue
		}
		copy(next, seen)
		next[i>>6] |= 1 << (i & 63)
		if !first {
			kid = o.set.next[i]
		}
		if f := m.frame(id, 0, m.remember(next, 0), parent); f >= 0 {
			m.enter(kid, f)
		}
	}
}

// finishSet continues a set after a child.
func (m *machine) finishSet(fr frame) {
	seen, _ := m.names(fr.aux, m.p.ops[fr.op].set.words)
	m.enterSet(fr.op, fr.parent, append(make([]uint64, 0, 8), seen...))
}

// liveSet reports whether the children that a set needs match some text.
func (o *op) liveSet(live []bool) bool {
	any := !o.set.some
	for i, kid := range o.kids {
		if kid >= 0 && live[kid] {
			any = true
		} else if o.set.needs(i) {
			return false
		}
	}
	return any
}

// pruneSet removes the children that match no text. The ones after a separator are live if the
// separator is, so that a set whose separator is not live keeps its children as first ones.
func (o *op) pruneSet(live []bool) {
	for i, kid := range o.kids {
		if kid >= 0 && !live[kid] {
			o.kids[i] = -1
		}
	}
}

// emptySet reports whether a set matches the empty text.
func (o *op) emptySet(empty []bool) bool {
	any := !o.set.some
	for i, kid := range o.kids {
		if kid >= 0 && empty[kid] {
			any = true
		} else if o.set.needs(i) {
			return false
		}
	}
	return any
}
