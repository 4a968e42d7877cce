package trigram

import (
	"cmp"
	"math/bits"
	"slices"
)

// Candidates are the documents that a query is to be looked for in, ascending. The caller owns the slice.
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

// evaluation answers one query. It remembers what it looked up, as the branches of an or often share trigrams.
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

// estimate is how many documents a part can name at most.
func (e *evaluation) estimate(n *node) uint32 {
	switch n.op {
	case opNone:
		return 0
	case opAll:
		return e.r.n
	}
	least, sum := e.r.n, uint64(0)
	see := func(count uint32) {
		least = min(least, count)
		sum += uint64(count)
	}
	for _, g := range n.grams {
		if l := e.find(g); l.bad {
			see(e.r.n)
		} else {
			see(l.count)
		}
	}
	for _, s := range n.subs {
		see(e.estimate(s))
	}
	if n.op == opAnd {
		return least
	}
	return uint32(min(sum, uint64(e.r.n)))
}

// node is the places of a part's documents, or every document. The places must not be changed.
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

// operand is a trigram or a part, and how many documents it can name.
type operand struct {
	sub  *node
	key  uint32
	most uint32
}

func (e *evaluation) operands(n *node) []operand {
	out := make([]operand, 0, len(n.grams)+len(n.subs))
	for _, g := range n.grams {
		out = append(out, operand{key: g, most: e.find(g).count})
	}
	for _, s := range n.subs {
		out = append(out, operand{sub: s, most: e.estimate(s)})
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

// worth is how many entries of a list may be decoded to be rid of a candidate: a few microseconds, against reading and
// searching a file.
const worth = 1000

// and starts with what names the fewest documents, and ends when reading more lists would cost more than it could save.
func (e *evaluation) and(n *node) ([]uint32, bool) {
	ops := e.operands(n)
	slices.SortStableFunc(ops, func(a, b operand) int { return cmp.Compare(a.most, b.most) })
	var out []uint32
	every := true
	for _, o := range ops {
		if !every && (len(out) == 0 || uint64(o.most) > worth*uint64(len(out))) {
			break
		}
		places, any := e.places(o)
		switch {
		case any:
		case every:
			out, every = places, false
		default:
			out = intersect(out, places)
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

// intersect is what is in both of two ascending lists. A much longer one is searched, not walked.
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
