package grammar

import "math/bits"

// fill computes the mask of state s. A token is allowed if any frame of the state reads it, so the
// mask is the union of the masks of the frames. For frames inside strings it is computed in bulk,
// for others by a walk over the token trie.
func (m *machine) fill(s int32, mask []uint64) {
	frames := append(make([]int32, 0, 16), m.set(s)...)
	if m.accepts[s] {
		for i, w := range m.p.v.endMask {
			mask[i] |= w
		}
	}
	rest := make([]int32, 0, 16)
	for _, f := range frames {
		fr := m.frames[f]
		switch o := &m.p.ops[fr.op]; o.kind {
		case opString:
			m.fillString(fr, o, mask)
		case opKey:
			m.fillKey(fr, o, mask)
		case opToken:
			mask[o.token>>6] |= 1 << (o.token & 63)
		default:
			rest = append(rest, f)
		}
	}
	if len(rest) == 0 {
		return
	}
	if len(rest) < len(frames) || m.accepts[s] {
		m.begin()
		for _, f := range rest {
			m.emit(f)
		}
		s = m.close()
	}
	if s >= 0 {
		m.walk(0, s, mask)
	}
}

// walk sets the bits of the tokens under trie node n that state s reads.
func (m *machine) walk(n, s int32, mask []uint64) {
	v := m.p.v
	first := *m.firsts(s)
	if n == 0 {
		for i, w := range first {
			for ; w != 0; w &= w - 1 {
				if c := v.root[64*i+bits.TrailingZeros64(w)]; c >= 0 {
					m.walkChild(c, s, mask)
				}
			}
		}
		return
	}
	nd := v.nodes[n]
	for c := nd.first; c < nd.first+int32(nd.count); c++ {
		if first.has(v.nodes[c].label) {
			m.walkChild(c, s, mask)
		}
	}
}

func (m *machine) walkChild(c, s int32, mask []uint64) {
	v := m.p.v
	t := m.step(s, v.nodes[c].label)
	if t < 0 {
		return
	}
	v.allow(c, mask)
	if v.nodes[c].count > 0 {
		m.walk(c, t, mask)
	}
}

// after returns the state after the value that parent waits for has ended.
func (m *machine) after(parent int32) int32 {
	m.begin()
	m.finish(parent)
	return m.close()
}

// suffixHits returns the suffixes of string-closing tokens that state s reads.
func (m *machine) suffixHits(s int32) []int32 {
	if h, ok := m.hits[s]; ok {
		return h
	}
	h := m.suffixWalk(0, s, nil)
	if len(m.hits) > 1<<14 {
		clear(m.hits)
	}
	m.hits[s] = h
	return h
}

func (m *machine) suffixWalk(n, s int32, h []int32) []int32 {
	h = append(h, n)
	first := *m.firsts(s)
	for _, e := range m.p.v.plain.suffixes.nodes[n].kids {
		if !first.has(e.label) {
			continue
		}
		if t := m.step(s, e.label); t >= 0 {
			h = m.suffixWalk(e.node, t, h)
		}
	}
	return h
}

// plainState returns the state of the plain string lexer that reads the same text as lexer state s,
// or -1.
func (m *machine) plainState(l *lexer, s int32) int32 {
	if l.univ[s] == 0 || !l.json {
		return -1
	}
	if l.plain[s] < 0 {
		st := l.states[s]
		st.q = 0
		if id, ok := m.p.v.plain.lex.index[st]; ok {
			l.plain[s] = id
		}
	}
	return l.plain[s]
}

// reader is a string or a name being read: its lexer, the states that are not dead ends, and the
// continuation after its end.
type reader struct {
	lex   *lexer
	o     *op // if not nil, its code points are counted
	alive func(q int32) bool
	end   func(label int32) int32
	after int32 // the state after label 0, for strings; -2: not known yet
	stay  bool  // only tokens that stay inside are needed
}

func (m *machine) fillString(fr frame, o *op, mask []uint64) {
	r := reader{lex: o.lex, after: -2}
	r.end = func(int32) int32 {
		if r.after == -2 {
			r.after = m.after(fr.parent)
		}
		return r.after
	}
	s := m.plainState(o.lex, fr.pos)
	const longest = 255
	if s < 0 && (o.min > fr.aux || o.max >= 0 && o.max-fr.aux < longest) {
		r.o = o
		m.walkReader(&r, 0, fr.pos, fr.aux, mask)
		return
	}
	if s < 0 {
		m.fillReader(&r, fr.pos, mask)
		return
	}
	switch {
	case fr.aux >= o.min && (o.max < 0 || o.max-fr.aux >= longest):
		m.fillPlain(s, r.end(0), mask)
	case o.lex.states[fr.pos].kind == lexBase:
		m.fillCounted(s, fr.aux, o, r.end(0), mask)
	default:
		r.o = o
		m.walkReader(&r, 0, fr.pos, fr.aux, mask)
	}
}

// fillCounted allows the tokens that an unconstrained string with limited length reads after n code
// points have begun.
func (m *machine) fillCounted(s, n int32, o *op, after int32, mask []uint64) {
	p := m.p.v.plain
	left := int32(255)
	if o.max >= 0 {
		left = min(left, o.max-n)
	}
	for i, w := range p.within[min(left, withinMax)] {
		mask[i] |= w
	}
	if left > withinMax {
		for _, t := range p.long {
			if int32(p.runes[t]) <= left {
				mask[t>>6] |= 1 << (t & 63)
			}
		}
	}
	if after < 0 {
		return
	}
	for _, h := range m.suffixHits(after) {
		for _, t := range p.slices[s].exits[h] {
			if k := int32(p.runes[t]); k <= left && n+k >= o.min {
				mask[t>>6] |= 1 << (t & 63)
			}
		}
	}
}

// fillPlain allows the tokens that a plain string in lexer state s reads; The parameter after is
// the state that follows the closing quote.
func (m *machine) fillPlain(s, after int32, mask []uint64) {
	sl := &m.p.v.plain.slices[s]
	for i, w := range sl.inside {
		mask[i] |= w
	}
	if after < 0 {
		return
	}
	for _, h := range m.suffixHits(after) {
		for _, t := range sl.exits[h] {
			mask[t>>6] |= 1 << (t & 63)
		}
	}
}

// fillReader allows the tokens that a reader in lexer state s reads, by the fastest method for its
// content.
func (m *machine) fillReader(r *reader, s int32, mask []uint64) {
	v := m.p.v
	st := r.lex.states[s]
	if st.kind != lexBase {
		m.walkReader(r, 0, s, 0, mask)
		return
	}
	if r.lex.json && r.lex.c.total(st.q) {
		for i, w := range v.plain.slices[v.plain.base()].inside {
			mask[i] |= w
		}
		m.readerExits(r, 0, s, mask)
		return
	}
	q, left := st.q, groupLongest
	d, ok := r.lex.c.(*dfa)
	if b, limited := r.lex.c.(*bounded); limited {
		var n int32
		q, n = b.split(q)
		d, ok, left = b.d, true, int(b.max-n-b.far)
	}
	if !ok {
		m.walkReader(r, 0, s, 0, mask)
		return
	}
	if !r.lex.json {
		r.stay = m.leave(r, s, mask)
	}
	for i := range v.groups {
		g := &v.groups[i]
		if g.first < 0 || r.alive != nil || !r.lex.json && !r.stay && d.survives(r.lex, q, g, true) < g.longest {
			m.walkReader(r, g.root, s, 0, mask)
			continue
		}
		if r.lex.json && !g.json || d.dies(q, g.first) {
			continue
		}
		sure := min(left, d.survives(r.lex, q, g, false))
		switch {
		case sure >= g.longest:
			g.allow(mask)
		case sure < enough:
			m.walkReader(r, g.root, s, 0, mask)
		default: // short tokens are allowed; long ones are checked one by one
			g.allowUpTo(sure, mask)
			for _, t := range g.between(sure, groupLongest) {
				if r.stays(s, v.pieces[t]) {
					mask[t>>6] |= 1 << (t & 63)
				}
			}
		}
	}
}

// enough is the number of characters that a group must survive so that its long tokens are checked
// one by one.
const enough = 5

// stays reports whether the whole text can be read from state s without reaching the end of the
// string.
func (r *reader) stays(s int32, text []byte) bool {
	for _, b := range text {
		if s = r.lex.row(s)[b]; s < 0 {
			return false
		}
	}
	return true
}

// leave allows the tokens in which unquoted text ends and the following text begins. It examines
// only tokens that contain a byte with which the following text can begin. If there are too many
// such tokens, it does nothing and returns false.
func (m *machine) leave(r *reader, s int32, mask []uint64) bool {
	v := m.p.v
	after := r.end(0)
	if after < 0 {
		return true
	}
	first := *m.firsts(after)
	total := 0
	for b := range 256 {
		if first.has(byte(b)) {
			if v.with[b] == nil {
				return false
			}
			total += len(v.with[b])
		}
	}
	if total > maxLeave {
		return false
	}
	for b := range 256 {
		if first.has(byte(b)) {
			for _, t := range v.with[b] {
				if mask[t>>6]&(1<<(t&63)) == 0 && m.leaves(r, s, after, byte(b), v.pieces[t]) {
					mask[t>>6] |= 1 << (t & 63)
				}
			}
		}
	}
	return true
}

const maxLeave = 8000

// leaves reports whether the reader's text ends within text, before some byte b, such that the
// state after reads the rest.
func (m *machine) leaves(r *reader, s, after int32, b byte, text []byte) bool {
	for i, c := range text {
		if c == b && i > 0 && r.lex.acc[s] >= 0 {
			t := after
			for _, x := range text[i:] {
				if t = m.step(t, x); t < 0 {
					break
				}
			}
			if t >= 0 {
				return true
			}
		}
		if s = r.lex.row(s)[c]; s < 0 {
			return false
		}
	}
	return false
}

// readerExits allows the closing tokens whose text before the quote leads to an end of the string.
func (m *machine) readerExits(r *reader, n, s int32, mask []uint64) {
	p := &m.p.v.plain.prefixes
	row := r.lex.row(s)
	if exits := p.exits[n]; len(exits) > 0 {
		if t := row['"']; t < dead {
			m.allowExits(exits, r.end(label(t)), mask)
		}
	}
	for _, e := range p.nodes[n].kids {
		if t := row[e.label]; t >= 0 {
			m.readerExits(r, e.node, t, mask)
		}
	}
}

func (m *machine) allowExits(exits []exitToken, after int32, mask []uint64) {
	if after < 0 {
		return
	}
	if m.hitSet == nil {
		m.hitSet = make([]bool, len(m.p.v.plain.suffixes.nodes))
	}
	hits := m.suffixHits(after)
	for _, h := range hits {
		m.hitSet[h] = true
	}
	for _, e := range exits {
		if m.hitSet[e.suffix] {
			mask[e.token>>6] |= 1 << (e.token & 63)
		}
	}
	for _, h := range hits {
		m.hitSet[h] = false
	}
}

// walkReader allows the tokens under trie node n that a reader in lexer state s reads.
func (m *machine) walkReader(r *reader, n, s, chars int32, mask []uint64) {
	v := m.p.v
	row := r.lex.row(s)
	nd := v.nodes[n]
	for c := nd.first; c < nd.first+int32(nd.count); c++ {
		b := v.nodes[c].label
		t := row[b]
		if t == dead {
			continue
		}
		k := chars
		if r.o != nil {
			var ok bool
			if k, ok = r.o.advance(s, chars, b); !ok {
				continue
			}
		}
		after := dead
		if t < dead {
			if after = r.end(label(t)); after < 0 {
				continue
			}
		} else if r.alive != nil && !r.alive(r.lex.states[t].q) {
			continue
		} else if !r.stay && r.lex.acc[t] >= 0 && v.nodes[c].count > 0 && (r.o == nil || k >= r.o.min) {
			after = r.end(r.lex.acc[t])
		}
		v.allow(c, mask)
		if v.nodes[c].count == 0 {
			continue
		}
		if t >= 0 {
			m.walkReader(r, c, t, k, mask)
		}
		if after >= 0 {
			m.walk(c, after, mask)
		}
	}
}

func (m *machine) fillKey(fr frame, op *op, mask []uint64) {
	o := op.object
	names, others := m.names(fr.aux, o.words)
	room := m.room(o, names, others)
	free := o.others && room == roomAny
	if s := m.plainState(o.keys, fr.pos); s >= 0 && free {
		m.fillPlain(s, m.afterKey(fr, o, o.keys.univ[fr.pos]-1), mask)
		return
	}
	r := reader{lex: o.keys}
	r.end = func(label int32) int32 {
		if !o.keyEnds(label, names, room) {
			return dead
		}
		return m.afterKey(fr, o, label)
	}
	if free && o.keys.c.total(o.keys.states[fr.pos].q) {
		m.fillReader(&r, fr.pos, mask)
		return
	}
	r.alive = func(q int32) bool { return m.keyAlive(o, q, names, room) }
	if free && o.reachAll {
		r.alive = nil
	}
	if r.alive == nil {
		m.fillReader(&r, fr.pos, mask)
		return
	}
	m.walkReader(&r, 0, fr.pos, 0, mask)
}

// afterKey returns the state after the name with the label lab.
func (m *machine) afterKey(fr frame, o *objectOp, lab int32) int32 {
	m.begin()
	m.emit(m.frame(fr.op-1, position(phaseColon, 0, lab), m.keySeen(o, fr.aux, lab), fr.parent))
	return m.close()
}
