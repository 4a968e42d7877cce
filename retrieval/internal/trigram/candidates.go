package trigram

import (
	"cmp"
	"math/bits"
	"slices"
)

// Candidates returns the documents that may match a query, ascending. The caller owns the slice.
func (r *Reader) Candidates(q *Query) []uint32 {
	e := evaluation{r: r, lists: map[uint32]list{}}
	places, every := e.node(q.root)
	if every {
		return slices.Clone(r.docs)
	}
	out := make([]uint32, len(places))
	for i, p := range places {
		out[i] = r.docs[p]
	}
	return out
}

// evaluation answers one query. It caches the lists it looked up, because the branches of an or
// often share trigrams.
type evaluation struct {
	r     *Reader
	lists map[uint32]list
	read  map[uint32][]uint32
}

func (e *evaluation) find(key uint32) list {
	l, ok := e.lists[key]
	if !ok {
		l = e.r.find(key)
		e.lists[key] = l
	}
	return l
}

// estimate returns the maximum number of documents that a part can select, and the number of list
// entries that must be read to find out.
func (e *evaluation) estimate(n *node) (most uint32, work uint64) {
	switch n.op {
	case opNone:
		return 0, 0
	case opAll:
		return e.r.n, 0
	}
	least, sum := e.r.n, uint64(0)
	for _, o := range e.operands(n) {
		least = min(least, o.most)
		sum += uint64(o.most)
		work += o.work
	}
	if n.op == opAnd {
		return least, work
	}
	return uint32(min(sum, uint64(e.r.n))), work
}

// node returns the positions of the documents that a part selects, which must not be changed. If it
// selects every document, it returns true for every instead.
func (e *evaluation) node(n *node) (places []uint32, every bool) {
	switch n.op {
	case opNone:
		return nil, false
	case opAll:
		return nil, true
	case opAnd:
		return e.and(n)
	}
	return e.or(n)
}

// operand is a trigram or a part, with the number of documents it can select and the number of list
// entries to read for it.
type operand struct {
	sub  *node
	key  uint32
	most uint32
	work uint64
}

func (e *evaluation) operands(n *node) []operand {
	out := make([]operand, 0, len(n.grams)+len(n.subs))
	for _, g := range n.grams {
		l := e.find(g)
		if l.bad {
			l.count = e.r.n
		}
		out = append(out, operand{key: g, most: l.count, work: uint64(l.count)})
	}
	for _, s := range n.subs {
		most, work := e.estimate(s)
		out = append(out, operand{sub: s, most: most, work: work})
	}
	return out
}

func (e *evaluation) places(o operand) ([]uint32, bool) {
	if o.sub != nil {
		return e.node(o.sub)
	}
	if places, ok := e.read[o.key]; ok {
		return places, false
	}
	l := e.find(o.key)
	if !l.bad && l.count == 0 {
		return nil, false
	}
	places, ok := e.r.read(nil, l)
	if !ok {
		return nil, true
	}
	if e.read == nil {
		e.read = map[uint32][]uint32{}
	}
	e.read[o.key] = places
	return places, false
}

// worth is the largest number of list entries that are read to exclude one candidate: an entry
// takes about ten nanoseconds, and reading and searching a file takes ten microseconds or more.
const worth = 1000

// and starts with the operand that selects the fewest documents, and leaves out operands that would
// cost more to read than they are likely to save: at best they exclude the share of documents that
// they do not select, and hardly ever more than twice what the previous operand saved.
func (e *evaluation) and(n *node) ([]uint32, bool) {
	ops := e.operands(n)
	slices.SortStableFunc(ops, func(a, b operand) int {
		return cmp.Or(cmp.Compare(a.most, b.most), cmp.Compare(a.work, b.work))
	})
	var out []uint32
	every, trend := true, 1.0
	for _, o := range ops {
		if !every {
			share := min(1-float64(o.most)/float64(e.r.n), trend)
			if float64(o.work) >= share*worth*float64(len(out)) {
				continue
			}
		}
		places, any := e.places(o)
		switch {
		case any:
		case every:
			out, every = places, false
		default:
			had := len(out)
			out = intersect(out, places)
			trend = min(1, 2*float64(had-len(out))/float64(had)+trend/4)
		}
	}
	return out, every
}

func (e *evaluation) or(n *node) ([]uint32, bool) {
	hit := make([]uint64, (e.r.n+63)/64)
	for _, o := range e.operands(n) {
		places, every := e.places(o)
		if every {
			return nil, true
		}
		for _, p := range places {
			hit[p>>6] |= 1 << (p & 63)
		}
	}
	var out []uint32
	for i, word := range hit {
		for ; word != 0; word &= word - 1 {
			out = append(out, uint32(i)<<6|uint32(bits.TrailingZeros64(word)))
		}
	}
	return out, false
}

// intersect returns the elements common to two ascending lists. If one list is much longer, it is
// searched rather than walked.
func intersect(a, b []uint32) []uint32 {
	if len(a) > len(b) {
		a, b = b, a
	}
	out := make([]uint32, 0, len(a))
	if len(a)*16 < len(b) {
		for _, v := range a {
			i, ok := slices.BinarySearch(b, v)
			if ok {
				out = append(out, v)
			}
			b = b[i:]
		}
		return out
	}
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			out = append(out, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return out
}
