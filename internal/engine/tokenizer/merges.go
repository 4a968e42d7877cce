package tokenizer

import (
	"math/bits"
	"math/rand/v2"
)

// A sym is an operand of merges. It is a token id, or an id beyond the vocabulary for a
// character that occurs in pieces but is not a piece itself. For a character of the word that
// occurs in no piece, it is the complement of an offset, and thus negative.
type sym = int32

// merge is the result of merging a pair of symbols: its priority in the upper half (the lowest is
// merged first), and the resulting token in the lower half.
type merge = uint64

// noMerge is the value of a pair that is not merged; it comes after all others.
const noMerge merge = 1<<64 - 1

// pairTable maps pairs of symbols to merges. It is an open-addressing hash table with a
// multiplicative hash and a random factor.
type pairTable struct {
	factor uint64
	shift  int
	mask   uint64
	slots  []pairSlot
}

type pairSlot struct {
	key   uint64 // the pair; 0 marks a free slot, which no pair has: see pairKey
	value merge
}

// pairKey returns a pair as one number, which is never 0 for symbols that are not negative.
func pairKey(l, r sym) uint64 { return uint64(uint32(l))<<32 | uint64(uint32(r)) + 1 }

// newPairTable returns a table for up to n pairs.
func newPairTable(n int) *pairTable {
	size := 1 << bits.Len(uint(n+n/2)|15)
	return &pairTable{
		factor: rand.Uint64() | 1,
		shift:  64 - bits.Len(uint(size-1)),
		mask:   uint64(size - 1),
		slots:  make([]pairSlot, size),
	}
}

// set adds a pair unless it is already present: the first merge of a pair is kept.
func (t *pairTable) set(l, r sym, m merge) {
	key := pairKey(l, r)
	at := key * t.factor >> t.shift
	for t.slots[at].key != 0 {
		if t.slots[at].key == key {
			return
		}
		at = (at + 1) & t.mask
	}
	t.slots[at] = pairSlot{key, m}
}

// get returns the merge of a pair, or noMerge.
func (t *pairTable) get(l, r sym) merge {
	key := pairKey(l, r)
	at := key * t.factor >> t.shift
	for {
		switch slot := &t.slots[at]; slot.key {
		case 0:
			return noMerge
		case key:
			return slot.value
		}
		at = (at + 1) & t.mask
	}
}

// shortWord is the largest number of symbols for which scanning all pairs for the best one is
// faster than using a heap.
const shortWord = 32

// scratch has the buffers for merging a long word. They are reused from word to word.
type scratch struct {
	symbols    []sym
	merges     []merge
	prev, next []int32
	heap       []uint64
}

// apply merges symbols in place until no pair has a merge, and returns the remaining symbols. It
// always merges the best pair first, and of equally good pairs the leftmost.
func (t *pairTable) apply(s *scratch, symbols []sym) []sym {
	if len(symbols) <= shortWord {
		return t.applyShort(symbols)
	}
	return t.applyLong(s, symbols)
}

func (t *pairTable) applyShort(symbols []sym) []sym {
	var merges [shortWord]merge // of each sym with the next
	n := len(symbols)
	for i := 0; i+1 < n; i++ {
		merges[i] = t.get(symbols[i], symbols[i+1])
	}
	for n > 1 {
		best, at := noMerge>>32, -1
		for i, m := range merges[:n-1] {
			if m>>32 < best {
				best, at = m>>32, i
			}
		}
		if at < 0 {
			break
		}
		symbols[at] = sym(uint32(merges[at]))
		copy(symbols[at+1:n-1], symbols[at+2:n])
		copy(merges[at:n-2], merges[at+1:n-1])
		n--
		if at > 0 {
			merges[at-1] = t.get(symbols[at-1], symbols[at])
		}
		if at+1 < n {
			merges[at] = t.get(symbols[at], symbols[at+1])
		}
	}
	return symbols[:n]
}

// applyLong is like apply, with the pairs in a heap ordered by priority and position. Entries that
// a merge makes stale stay in the heap; they are recognised because their position now has a
// different priority.
func (t *pairTable) applyLong(s *scratch, symbols []sym) []sym {
	n := len(symbols)
	s.prev, s.next, s.merges, s.heap = s.prev[:0], s.next[:0], s.merges[:0], s.heap[:0]
	for i := range n {
		m := noMerge
		if i+1 < n {
			m = t.get(symbols[i], symbols[i+1])
		}
		s.prev, s.next, s.merges = append(s.prev, int32(i-1)), append(s.next, int32(i+1)), append(s.merges, m)
		s.push(int32(i), m)
	}
	for len(s.heap) > 0 {
		top := s.pop()
		at := int32(uint32(top))
		m := s.merges[at]
		if m == noMerge || m>>32 != top>>32 {
			continue
		}
		gone := s.next[at]
		symbols[at] = sym(uint32(m))
		s.merges[gone] = noMerge
		s.next[at] = s.next[gone]
		if after := s.next[at]; int(after) < n {
			s.prev[after] = at
			s.update(t, symbols, at, after)
		} else {
			s.merges[at] = noMerge
		}
		if before := s.prev[at]; before >= 0 {
			s.update(t, symbols, before, at)
		}
	}
	out := symbols[:0]
	for i := int32(0); int(i) < n; i = s.next[i] {
		out = append(out, symbols[i])
	}
	return out
}

// update looks up the pair of two neighbours again.
func (s *scratch) update(t *pairTable, symbols []sym, at, after int32) {
	s.merges[at] = t.get(symbols[at], symbols[after])
	s.push(at, s.merges[at])
}

// push puts the merge at a position into the heap.
func (s *scratch) push(at int32, m merge) {
	if m == noMerge {
		return
	}
	s.heap = append(s.heap, m>>32<<32|uint64(uint32(at)))
	h := s.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up] <= h[i] {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

// pop removes and returns the smallest entry of the heap.
func (s *scratch) pop() uint64 {
	h := s.heap
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	s.heap = h[:last]
	h = s.heap
	for i := 0; ; {
		least := 2*i + 1
		if least >= last {
			return top
		}
		if least+1 < last && h[least+1] < h[least] {
			least++
		}
		if h[i] <= h[least] {
			return top
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
