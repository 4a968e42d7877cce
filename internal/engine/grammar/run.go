package grammar

// The phases of objects and arrays, which determine the part that comes next. The pos of such a
// frame holds the phase, the state of the white space before it and, for objects, the label of the
// name just read.
const (
	phaseOpen  = iota // the opening bracket
	phaseFirst        // after the opening bracket: a first member or the closing bracket
	phaseColon        // after a name
	phaseValue        // after the colon
	phaseAfter        // after a value: a comma or the closing bracket
	phaseNext         // after a comma: another member
)

func position(phase, ws, label int32) int32 { return phase | ws<<3 | label<<11 }

func phaseOf(pos int32) (phase, ws, label int32) { return pos & 7, pos >> 3 & 0xff, pos >> 11 }

// separated reports whether the white space before this phase follows a comma or a colon.
func separated(phase int32) bool { return phase == phaseValue || phase == phaseNext }

// enter starts an operation; the parent frame continues when it ends.
func (m *machine) enter(id, parent int32) {
	if m.deeper() {
		m.start(id, parent)
	}
	m.deep--
}

// deeper counts a call of enter or finish and reports whether it may go on. A machine in which one
// byte takes too many calls, as rules of many parts that match the empty text can ask for, accepts
// nothing more.
func (m *machine) deeper() bool {
	m.deep++
	m.steps++
	m.broken = m.broken || m.deep > maxDeep || m.steps > maxSteps
	return !m.broken
}

func (m *machine) start(id, parent int32) {
	o := &m.p.ops[id]
	switch o.kind {
	case opLit:
		if len(o.lit) == 0 {
			m.finish(parent)
			return
		}
		m.emit(m.frame(id, 0, 0, parent))
	case opString:
		m.enterString(id, o, 0, 0, parent)
	case opSeq:
		m.sequence(id, 0, parent)
	case opAlt:
		for _, k := range o.kids {
			m.enter(k, parent)
		}
	case opRepeat:
		m.repeat(id, 0, parent)
	case opSet:
		m.enterSet(id, parent, make([]uint64, o.set.words))
	case opToken, opObject, opArray:
		m.emit(m.frame(id, 0, 0, parent))
	}
}

func (m *machine) enterString(id int32, o *op, lex, n, parent int32) {
	if a := o.lex.acc[lex]; a >= 0 && n >= o.min {
		m.finish(parent)
	}
	if *o.lex.firsts(lex) != (byteSet{}) {
		m.emit(m.frame(id, lex, n, parent))
	}
}

// sequence continues with child i of a sequence.
func (m *machine) sequence(id, i, parent int32) {
	kids := m.p.ops[id].kids
	switch int(i) {
	case len(kids):
		m.finish(parent)
	case len(kids) - 1:
		m.enter(kids[i], parent)
	default:
		if f := m.frame(id, i+1, 0, parent); f >= 0 {
			m.enter(kids[i], f)
		}
	}
}

// repeat continues after n repetitions.
func (m *machine) repeat(id, n, parent int32) {
	o := &m.p.ops[id]
	if n >= o.min {
		m.finish(parent)
	}
	if o.max >= 0 && n >= o.max {
		return
	}
	next := n + 1
	if o.max < 0 {
		next = min(next, o.min)
	}
	if f := m.frame(id, next, 0, parent); f >= 0 {
		m.enter(o.kids[0], f)
	}
}

// finish continues after a frame has ended, with the frame's parent. Finishing a frame twice for
// the same byte has no effect, which also ends the repetition of a part that matched the empty
// text.
func (m *machine) finish(f int32) {
	if f == bottom {
		m.outAcc = true
		return
	}
	if m.finStamp[f] == m.epoch {
		return
	}
	m.finStamp[f] = m.epoch
	if m.deeper() {
		m.resume(f)
	}
	m.deep--
}

// resume continues with the part of an operation that follows the one that has ended.
func (m *machine) resume(f int32) {
	fr := m.frames[f]
	switch o := &m.p.ops[fr.op]; o.kind {
	case opSeq:
		m.sequence(fr.op, fr.pos, fr.parent)
	case opRepeat:
		m.repeat(fr.op, fr.pos, fr.parent)
	case opSet:
		m.finishSet(fr)
	case opObject, opArray:
		m.emit(f) // the frame is already after the value
	}
}

// stepFrame reads one byte in one frame.
func (m *machine) stepFrame(f int32, b byte) {
	fr := m.frames[f]
	o := &m.p.ops[fr.op]
	switch o.kind {
	case opLit:
		if o.lit[fr.pos] != b {
			return
		}
		if int(fr.pos)+1 == len(o.lit) {
			m.finish(fr.parent)
			return
		}
		m.emit(m.frame(fr.op, fr.pos+1, 0, fr.parent))
	case opString:
		m.stepString(fr, o, b)
	case opKey:
		m.stepKey(fr, b)
	case opObject:
		m.stepObject(fr, o, b)
	case opArray:
		m.stepArray(fr, o, b)
	}
}

func (m *machine) stepString(fr frame, o *op, b byte) {
	n, ok := o.advance(fr.pos, fr.aux, b)
	if !ok {
		return
	}
	switch t := o.lex.row(fr.pos)[b]; {
	case t >= 0:
		m.enterString(fr.op, o, t, n, fr.parent)
	case t != dead:
		m.finish(fr.parent)
	}
}

// advance counts code points: n have begun before byte b is read in lexer state s. It refuses a
// code point beyond the maximum and a closing quote before the minimum.
func (o *op) advance(s, n int32, b byte) (int32, bool) {
	if o.min == 0 && o.max < 0 {
		return 0, true
	}
	if o.lex.states[s].kind != lexBase {
		return n, true
	}
	if b == '"' && o.lex.json {
		return n, n >= o.min
	}
	if o.max < 0 {
		return min(n+1, o.min), true
	}
	return n + 1, n < o.max
}

func (m *machine) stepObject(fr frame, o *op, b byte) {
	phase, ws, lab := phaseOf(fr.pos)
	switch {
	case phase == phaseOpen:
		if b == '{' {
			none := m.remember(make([]uint64, o.object.words), 0)
			m.emit(m.frame(fr.op, position(phaseFirst, 0, 0), none, fr.parent))
		}
	case isBlank(b):
		if next := o.space.ws(ws, b, separated(phase)); next >= 0 {
			m.emit(m.frame(fr.op, position(phase, next, lab), fr.aux, fr.parent))
			if phase == phaseValue {
				m.value(fr, o, next, lab)
			}
		}
	case !o.space.done(ws, separated(phase)):
	case phase == phaseColon:
		if b == ':' {
			m.emit(m.frame(fr.op, position(phaseValue, 0, lab), fr.aux, fr.parent))
			m.value(fr, o, 0, lab)
		}
	case b == '"' && (phase == phaseFirst || phase == phaseNext):
		if m.mayAdd(o.object, fr.aux) {
			start := o.object.keys.row(0)['"']
			m.emit(m.frame(fr.op+1, start, fr.aux, fr.parent))
		}
	case b == ',' && phase == phaseAfter:
		if m.mayAdd(o.object, fr.aux) {
			m.emit(m.frame(fr.op, position(phaseNext, 0, 0), fr.aux, fr.parent))
		}
	case b == '}' && (phase == phaseFirst || phase == phaseAfter):
		if m.mayClose(o.object, fr.aux) {
			m.finish(fr.parent)
		}
	}
}

func isBlank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

// value starts the value of the property with the label lab.
func (m *machine) value(fr frame, o *op, ws, lab int32) {
	if !o.space.done(ws, true) {
		return
	}
	if f := m.frame(fr.op, position(phaseAfter, 0, 0), fr.aux, fr.parent); f >= 0 {
		m.enter(o.object.values[lab], f)
	}
	if o.object.wanted == nil {
		return
	}
	for _, w := range o.object.wanted[lab] {
		names, others := m.names(fr.aux, o.object.words)
		if names[w.bit>>6]&(1<<(w.bit&63)) != 0 {
			continue
		}
		next := append(make([]uint64, 0, 8), names...)
		next[w.bit>>6] |= 1 << (w.bit & 63)
		if f := m.frame(fr.op, position(phaseAfter, 0, 0), m.remember(next, others), fr.parent); f >= 0 {
			m.enter(w.value, f)
		}
	}
}

// mayAdd reports whether another property may follow.
func (m *machine) mayAdd(o *objectOp, seen int32) bool {
	names, others := m.names(seen, o.words)
	more := m.room(o, names, others)
	if o.others && more == roomAny {
		return true
	}
	for i, w := range o.allowed(more) {
		if w&^names[i] != 0 {
			return true
		}
	}
	return false
}

const (
	roomNone     = iota // no further property
	roomRequired        // only required ones that are still missing
	roomAny
)

// room returns the properties that the limit on their number still allows.
func (m *machine) room(o *objectOp, names []uint64, others int32) int {
	if o.max < 0 {
		return roomAny
	}
	left := o.max - o.count(names) - others
	switch need := missing(o.required, names); {
	case left <= 0:
		return roomNone
	case left <= need:
		return roomRequired
	}
	return roomAny
}

func (o *objectOp) allowed(room int) []uint64 {
	switch room {
	case roomAny:
		return o.welcome
	case roomRequired:
		return o.required
	}
	return nil
}

func (m *machine) mayClose(o *objectOp, seen int32) bool {
	names, others := m.names(seen, o.words)
	return missing(o.required, names) == 0 && o.count(names)+others >= o.min
}

// keyAlive reports whether a name in content state q can still become an allowed name.
func (m *machine) keyAlive(o *objectOp, q int32, names []uint64, room int) bool {
	if o.reachMore[q] && room == roomAny {
		return true
	}
	row := o.reach[int(q)*o.words:]
	for i, w := range o.allowed(room) {
		if row[i]&w&^names[i] != 0 {
			return true
		}
	}
	return false
}

// keyEnds reports whether the name with the label lab is allowed.
func (o *objectOp) keyEnds(lab int32, names []uint64, room int) bool {
	if int(lab) >= o.names {
		return room == roomAny && o.values[lab] >= 0
	}
	allowed := o.allowed(room)
	return allowed != nil && (allowed[lab>>6]&^names[lab>>6])&(1<<(lab&63)) != 0
}

func (m *machine) stepKey(fr frame, b byte) {
	o := m.p.ops[fr.op].object
	names, others := m.names(fr.aux, o.words)
	room := m.room(o, names, others)
	switch t := o.keys.row(fr.pos)[b]; {
	case t >= 0:
		if m.keyAlive(o, o.keys.states[t].q, names, room) {
			m.emit(m.frame(fr.op, t, fr.aux, fr.parent))
		}
	case t != dead:
		if lab := label(t); o.keyEnds(lab, names, room) {
			m.emit(m.frame(fr.op-1, position(phaseColon, 0, lab), m.keySeen(o, fr.aux, lab), fr.parent))
		}
	}
}

// keySeen adds a name to the set of names that have been read.
func (m *machine) keySeen(o *objectOp, seen, lab int32) int32 {
	names, others := m.names(seen, o.words)
	next := append(make([]uint64, 0, 8), names...)
	switch {
	case int(lab) < o.names:
		next[lab>>6] |= 1 << (lab & 63)
	case o.max >= 0:
		others++
	default:
		others = min(others+1, o.min)
	}
	return m.remember(next, others)
}

func (m *machine) stepArray(fr frame, o *op, b byte) {
	phase, ws, _ := phaseOf(fr.pos)
	switch {
	case phase == phaseOpen:
		if b == '[' {
			aux := int32(0)
			if o.array.holds != nil {
				aux = m.remember(make([]uint64, len(o.array.holds)), 0)
			}
			m.emit(m.frame(fr.op, position(phaseFirst, 0, 0), aux, fr.parent))
			m.item(fr, o, aux)
		}
	case isBlank(b):
		if next := o.space.ws(ws, b, separated(phase)); next >= 0 {
			m.emit(m.frame(fr.op, position(phase, next, 0), fr.aux, fr.parent))
			if (phase == phaseFirst || phase == phaseNext) && o.space.done(next, separated(phase)) {
				m.item(fr, o, fr.aux)
			}
		}
	case !o.space.done(ws, separated(phase)):
	case b == ',' && phase == phaseAfter:
		if m.mayItem(o.array, fr.aux) {
			m.emit(m.frame(fr.op, position(phaseNext, 0, 0), fr.aux, fr.parent))
			if o.space.done(0, true) {
				m.item(fr, o, fr.aux)
			}
		}
	case b == ']' && (phase == phaseFirst || phase == phaseAfter):
		if m.mayEnd(o.array, fr.aux) {
			m.finish(fr.parent)
		}
	}
}

// item returns the operation of item number n, or -1.
func (a *arrayOp) item(n int32) int32 {
	switch {
	case a.max >= 0 && n >= a.max:
		return -1
	case int(n) < len(a.prefix):
		return a.prefix[n]
	}
	return a.rest
}

func (m *machine) mayItem(a *arrayOp, aux int32) bool {
	if a.holds == nil {
		return a.item(aux) >= 0
	}
	for _, v := range a.variants {
		if m.held(a, aux, v.set) >= 0 {
			return true
		}
	}
	return false
}

func (m *machine) mayEnd(a *arrayOp, aux int32) bool {
	if a.holds == nil {
		return aux >= a.min
	}
	counts, n := m.names(aux, len(a.holds))
	return n >= a.min && a.lacking(counts) == 0
}

// lacking returns an upper bound on the number of further items needed for the kinds that contains
// requires.
func (a *arrayOp) lacking(counts []uint64) (n int32) {
	for i, h := range a.holds {
		n += max(h.min-int32(counts[i]), 0)
	}
	return n
}

// held returns the counts after an item that counts towards the kinds in set, or -1 if the item is
// not allowed.
func (m *machine) held(a *arrayOp, aux int32, set int) int32 {
	counts, n := m.names(aux, len(a.holds))
	next := append(make([]uint64, 0, 8), counts...)
	for i, h := range a.holds {
		if set>>i&1 == 0 {
			continue
		}
		if next[i]++; h.max < 0 {
			next[i] = min(next[i], uint64(h.min))
		} else if int32(next[i]) > h.max {
			return -1
		}
	}
	if a.max >= 0 && a.max-n-1 < a.lacking(next) {
		return -1
	}
	return m.remember(next, min(n+1, a.sat))
}

// item starts the item that follows the items counted in aux.
func (m *machine) item(fr frame, o *op, aux int32) {
	a := o.array
	start := func(value, next int32) {
		if f := m.frame(fr.op, position(phaseAfter, 0, 0), next, fr.parent); f >= 0 {
			m.enter(value, f)
		}
	}
	if a.holds == nil {
		if it := a.item(aux); it >= 0 {
			start(it, min(aux+1, a.sat))
		}
		return
	}
	for _, v := range a.variants {
		if next := m.held(a, aux, v.set); next >= 0 {
			start(v.value, next)
		}
	}
}

// frameFirsts adds the bytes that may follow in one frame.
func (m *machine) frameFirsts(f int32, set *byteSet) {
	fr := m.frames[f]
	o := &m.p.ops[fr.op]
	switch o.kind {
	case opLit:
		set.add(o.lit[fr.pos])
	case opString:
		fs := *o.lex.firsts(fr.pos)
		for i := range fs {
			set[i] |= fs[i]
		}
	case opKey:
		fs := *o.object.keys.firsts(fr.pos)
		for i := range fs {
			set[i] |= fs[i]
		}
	case opObject, opArray:
		m.bracketFirsts(fr, o, set)
	}
}

// bracketFirsts adds the bytes that may follow in the frame of an object or array. It may include a
// byte that is refused later (a comma after which nothing is possible), but never omits a possible
// byte.
func (m *machine) bracketFirsts(fr frame, o *op, set *byteSet) {
	phase, ws, _ := phaseOf(fr.pos)
	open, closing := byte('{'), byte('}')
	if o.kind == opArray {
		open, closing = '[', ']'
	}
	if phase == phaseOpen {
		set.add(open)
		return
	}
	blanks := o.space.blanks(ws, separated(phase))
	set.or(&blanks)
	switch phase {
	case phaseColon:
		set.add(':')
	case phaseAfter:
		set.add(',')
		set.add(closing)
	case phaseFirst:
		set.add(closing)
	}
	if o.kind == opObject && (phase == phaseFirst || phase == phaseNext) {
		set.add('"')
	}
}
