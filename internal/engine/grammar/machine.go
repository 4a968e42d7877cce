package grammar

import (
	"math/bits"
	"slices"
)

// machine holds the parse states of one or more texts read with a program. A frame is one entry of
// a stack, linked to its parent and hash-consed, so that equal stacks have the same number. A state
// is a set of frames (the grammar may be ambiguous), also hash-consed. Frames and states are
// immutable, so to go back to an earlier state, only its number is needed.
type machine struct {
	p *program

	frames []frame
	depth  []int32
	ftab   []int32

	setOff   []int32 // set i is items[setOff[i]:setOff[i+1]]
	items    []int32
	accepts  []bool
	first    []byteSet
	hasFirst []bool
	stab     []int32

	trans transTable

	seen    []uint64 // sets of property names: objectOp.words words each, plus one word for the number of other names
	seenOff []int32
	seenTab map[string]int32

	out      []int32 // frames of the state under construction
	outAcc   bool
	epoch    uint32
	outStamp []uint32
	finStamp []uint32

	hitSet    []bool
	masks     map[int32][]uint64
	hits      map[int32][]int32
	maskLimit int
	soft      int // number of states beyond which exploration is discarded
	full      bool
	deep      int  // calls of enter and finish inside each other
	steps     int  // such calls since begin
	broken    bool // one byte took too many of them
}

// frame is one entry of a stack. The meaning of pos and aux depends on the operation.
type frame struct{ op, pos, aux, parent int32 }

// Limits of a machine. Beyond softStates, the states created while exploring a mask are discarded
// afterwards; beyond hardStates, nothing more is accepted.
const (
	softStates = 1 << 17
	hardStates = 1 << 21
	maxDepth   = 10000
	maxDeep    = 100_000
	maxSteps   = 2_000_000
	maskBytes  = 32 << 20
	bottom     = int32(-1)
)

func newMachine(p *program) *machine {
	m := &machine{p: p, soft: softStates, seenTab: map[string]int32{}, masks: map[int32][]uint64{}, hits: map[int32][]int32{}}
	m.maskLimit = max(64, maskBytes/(8*p.v.words+1))
	m.setOff = []int32{0}
	m.ftab = newTable(256)
	m.stab = newTable(256)
	m.trans.init(256)
	m.begin()
	m.enter(p.root, bottom)
	m.close() // state 0 is the start
	return m
}

func newTable(n int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = -1
	}
	return t
}

func (f frame) hash() uint32 {
	h := uint64(uint32(f.op))*0x9e3779b97f4a7c15 ^ uint64(uint32(f.pos))*0xc2b2ae3d27d4eb4f
	h ^= uint64(uint32(f.aux))*0x165667b19e3779f9 ^ uint64(uint32(f.parent))*0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// frame interns a stack entry. It returns -1 if the stack is too deep.
func (m *machine) frame(op, pos, aux, parent int32) int32 {
	f := frame{op, pos, aux, parent}
	mask := uint32(len(m.ftab) - 1)
	i := f.hash() & mask
	for m.ftab[i] >= 0 {
		if m.frames[m.ftab[i]] == f {
			return m.ftab[i]
		}
		i = (i + 1) & mask
	}
	d := int32(0)
	if parent >= 0 {
		d = m.depth[parent] + 1
	}
	if d > maxDepth || len(m.frames) >= hardStates {
		m.full = m.full || d <= maxDepth
		return -1
	}
	id := int32(len(m.frames))
	m.frames = append(m.frames, f)
	m.depth = append(m.depth, d)
	m.outStamp = append(m.outStamp, 0)
	m.finStamp = append(m.finStamp, 0)
	m.ftab[i] = id
	if 2*len(m.frames) > len(m.ftab) {
		m.ftab = newTable(2 * len(m.ftab))
		mask := uint32(len(m.ftab) - 1)
		for id, f := range m.frames {
			i := f.hash() & mask
			for m.ftab[i] >= 0 {
				i = (i + 1) & mask
			}
			m.ftab[i] = int32(id)
		}
	}
	return id
}

func (m *machine) begin() {
	m.out, m.outAcc, m.steps = m.out[:0], false, 0
	m.epoch++
}

// emit adds a frame that waits for input to the state under construction.
func (m *machine) emit(f int32) {
	if f >= 0 && m.outStamp[f] != m.epoch {
		m.outStamp[f] = m.epoch
		m.out = append(m.out, f)
	}
}

func (m *machine) set(s int32) []int32 { return m.items[m.setOff[s]:m.setOff[s+1]] }

func hashSet(items []int32, acc bool) uint32 {
	h := uint64(len(items))*0x9e3779b97f4a7c15 + 1
	if acc {
		h ^= 0xabcdef
	}
	for _, x := range items {
		h = (h ^ uint64(uint32(x))) * 0xbf58476d1ce4e5b9
		h ^= h >> 31
	}
	return uint32(h >> 16)
}

// close interns the state under construction since begin; it returns -1 for the dead state.
func (m *machine) close() int32 {
	if len(m.out) == 0 && !m.outAcc && len(m.accepts) > 0 {
		return dead
	}
	if len(m.out) > 1 {
		slices.Sort(m.out)
	}
	mask := uint32(len(m.stab) - 1)
	i := hashSet(m.out, m.outAcc) & mask
	for m.stab[i] >= 0 {
		if s := m.stab[i]; m.accepts[s] == m.outAcc && slices.Equal(m.set(s), m.out) {
			return s
		}
		i = (i + 1) & mask
	}
	if len(m.accepts) >= hardStates {
		m.full = true
		return dead
	}
	id := int32(len(m.accepts))
	m.items = append(m.items, m.out...)
	m.setOff = append(m.setOff, int32(len(m.items)))
	m.accepts = append(m.accepts, m.outAcc)
	m.first = append(m.first, byteSet{})
	m.hasFirst = append(m.hasFirst, false)
	m.stab[i] = id
	if 2*len(m.accepts) > len(m.stab) {
		m.stab = newTable(2 * len(m.stab))
		mask := uint32(len(m.stab) - 1)
		for id := range m.accepts {
			i := hashSet(m.set(int32(id)), m.accepts[id]) & mask
			for m.stab[i] >= 0 {
				i = (i + 1) & mask
			}
			m.stab[i] = int32(id)
		}
	}
	return id
}

// step reads one byte.
func (m *machine) step(s int32, b byte) int32 {
	key := uint64(s)<<8 | uint64(b)
	if t, ok := m.trans.get(key); ok {
		return t
	}
	m.begin()
	for i := m.setOff[s]; i < m.setOff[s+1]; i++ {
		m.stepFrame(m.items[i], b)
	}
	t := m.close()
	m.trans.put(key, t)
	return t
}

// firsts returns the bytes that may follow in state s.
func (m *machine) firsts(s int32) *byteSet {
	if !m.hasFirst[s] {
		var set byteSet
		for _, f := range m.set(s) {
			m.frameFirsts(f, &set)
		}
		m.first[s], m.hasFirst[s] = set, true
	}
	return &m.first[s]
}

// transTable maps (state, byte) to a state.
type transTable struct {
	keys []uint64 // key+1, 0 is free
	vals []int32
	log  []uint64
}

func (t *transTable) init(n int) { t.keys, t.vals = make([]uint64, n), make([]int32, n) }

func transHash(key uint64) uint64 {
	h := key * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

func (t *transTable) get(key uint64) (int32, bool) {
	mask := uint64(len(t.keys) - 1)
	for i := transHash(key) & mask; t.keys[i] != 0; i = (i + 1) & mask {
		if t.keys[i] == key+1 {
			return t.vals[i], true
		}
	}
	return 0, false
}

func (t *transTable) put(key uint64, val int32) {
	if 2*len(t.log) >= len(t.keys) {
		old := *t
		t.init(2 * len(old.keys))
		for _, k := range old.log {
			v, _ := old.get(k)
			t.place(k, v)
		}
	}
	t.log = append(t.log, key)
	t.place(key, val)
}

func (t *transTable) place(key uint64, val int32) {
	mask := uint64(len(t.keys) - 1)
	i := transHash(key) & mask
	for t.keys[i] != 0 {
		i = (i + 1) & mask
	}
	t.keys[i], t.vals[i] = key+1, val
}

// mark is a point in the history of a machine to which it can be rewound.
type mark struct{ frames, sets, trans int }

func (m *machine) mark() mark { return mark{len(m.frames), len(m.accepts), len(m.trans.log)} }

// rewind discards everything created since the mark. Entries are removed from the open-addressing
// tables in reverse order of insertion, so no probe sequence is broken.
func (m *machine) rewind(k mark) {
	for len(m.trans.log) > k.trans {
		key := m.trans.log[len(m.trans.log)-1]
		m.trans.log = m.trans.log[:len(m.trans.log)-1]
		mask := uint64(len(m.trans.keys) - 1)
		i := transHash(key) & mask
		for m.trans.keys[i] != key+1 {
			i = (i + 1) & mask
		}
		m.trans.keys[i] = 0
	}
	for id := len(m.accepts) - 1; id >= k.sets; id-- {
		mask := uint32(len(m.stab) - 1)
		i := hashSet(m.set(int32(id)), m.accepts[id]) & mask
		for m.stab[i] != int32(id) {
			i = (i + 1) & mask
		}
		m.stab[i] = -1
		m.items = m.items[:m.setOff[id]]
		delete(m.masks, int32(id))
		delete(m.hits, int32(id))
	}
	m.setOff = m.setOff[:k.sets+1]
	m.accepts, m.first, m.hasFirst = m.accepts[:k.sets], m.first[:k.sets], m.hasFirst[:k.sets]
	for id := len(m.frames) - 1; id >= k.frames; id-- {
		mask := uint32(len(m.ftab) - 1)
		i := m.frames[id].hash() & mask
		for m.ftab[i] != int32(id) {
			i = (i + 1) & mask
		}
		m.ftab[i] = -1
	}
	m.frames, m.depth = m.frames[:k.frames], m.depth[:k.frames]
	m.outStamp, m.finStamp = m.outStamp[:k.frames], m.finStamp[:k.frames]
	m.full = false
}

// names returns the set of names with this id, and the number of other names.
func (m *machine) names(id int32, words int) ([]uint64, int32) {
	s := m.seen[m.seenOff[id] : int(m.seenOff[id])+words+1]
	return s[:words], int32(s[words])
}

// remember interns a set of names and a number of others.
func (m *machine) remember(names []uint64, others int32) int32 {
	var buf [64]byte
	key := buf[:0]
	for _, w := range names {
		key = appendWord(key, w)
	}
	key = appendWord(key, uint64(others))
	if id, ok := m.seenTab[string(key)]; ok {
		return id
	}
	id := int32(len(m.seenOff))
	m.seenOff = append(m.seenOff, int32(len(m.seen)))
	m.seen = append(append(m.seen, names...), uint64(others))
	m.seenTab[string(key)] = id
	return id
}

func appendWord(b []byte, w uint64) []byte {
	for range 8 {
		b = append(b, byte(w))
		w >>= 8
	}
	return b
}

func missing(required, seen []uint64) (n int32) {
	for i, r := range required {
		n += int32(bits.OnesCount64(r &^ seen[i]))
	}
	return n
}

// count returns the number of single names in a set.
func (o *objectOp) count(set []uint64) (n int32) {
	for i, w := range set {
		n += int32(bits.OnesCount64(w & o.welcome[i]))
	}
	return n
}
