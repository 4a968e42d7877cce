package trigram

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Query is a condition that a document must satisfy to be searched: trigrams combined with "and"
// and "or". A Query is safe for concurrent use.
type Query struct {
	root *node
}

// All reports whether the index cannot help: every document may contain a match.
func (q *Query) All() bool { return q.root.op == opAll }

// None reports whether no document can contain a match.
func (q *Query) None() bool { return q.root.op == opNone }

// String returns the condition in readable form, such as `"fun" "unc" ("mai"|"tes" "est")`, or ALL
// or NONE.
func (q *Query) String() string { return q.root.string(false) }

type op uint8

const (
	opAll op = iota
	opNone
	opAnd // of grams and subs
	opOr
)

// node is a part of a query. Nodes are never changed once made, so that they can be shared.
type node struct {
	op    op
	grams []uint32 // ascending
	subs  []*node  // of the opposite operation
	size  int      // total number of trigrams
	hash  uint64
}

var (
	all  = &node{op: opAll}
	none = &node{op: opNone}
)

// maxGrams limits the size of a query; a larger one is not worth evaluating.
const maxGrams = 1024

// leaf returns a node that requires all the trigrams, which must be ascending.
func leaf(grams []uint32) *node {
	return (&node{op: opAnd, grams: grams}).sealed()
}

// join combines several nodes into one: a part that alone decides the result becomes the result,
// parts that change nothing are dropped, and parts with the same operation are merged.
func join(o op, parts ...*node) *node {
	decides, neutral := none, all
	if o == opOr {
		decides, neutral = all, none
	}
	if o == opOr {
		if common := shared(parts); len(common) > 0 {
			rest := make([]*node, len(parts))
			for i, p := range parts {
				rest[i] = p.without(common)
			}
			return join(opAnd, leaf(common), join(opOr, rest...))
		}
	}
	out := &node{op: o}
	for _, p := range parts {
		switch {
		case p.op == decides.op:
			return decides
		case p.op == neutral.op:
		case p.op == o || len(p.grams) == 1 && len(p.subs) == 0:
			out.grams = append(out.grams, p.grams...)
			out.subs = append(out.subs, p.subs...)
		default:
			out.subs = append(out.subs, p)
		}
	}
	slices.Sort(out.grams)
	out.grams = slices.Compact(out.grams)
	out.subs = distinct(out.subs)
	switch {
	case len(out.grams) == 0 && len(out.subs) == 0:
		return neutral
	case len(out.grams) == 0 && len(out.subs) == 1:
		return out.subs[0]
	}
	return out.sealed()
}

// shared returns the trigrams that every part requires.
func shared(parts []*node) []uint32 {
	var out []uint32
	first := true
	for _, p := range parts {
		switch {
		case p.op == opNone:
			continue
		case p.op != opAnd:
			return nil
		case first:
			out = p.grams
		default:
			out = intersect(out, p.grams)
		}
		if first = false; len(out) == 0 {
			return nil
		}
	}
	return out
}

// without returns the condition that remains of n, an "and", if the given trigrams are known to be
// present.
func (n *node) without(grams []uint32) *node {
	if n.op == opNone {
		return n
	}
	left := slices.DeleteFunc(slices.Clone(n.grams), func(g uint32) bool {
		_, ok := slices.BinarySearch(grams, g)
		return ok
	})
	return join(opAnd, &node{op: opAnd, grams: left, subs: n.subs})
}

// sealed completes a new node. If the node is too large, it returns a smaller one with a weaker
// condition.
func (n *node) sealed() *node {
	n.size = len(n.grams)
	h := fnv.New64a()
	buf := binary.LittleEndian.AppendUint64(nil, uint64(n.op))
	for _, g := range n.grams {
		buf = binary.LittleEndian.AppendUint32(buf, g)
	}
	for _, s := range n.subs {
		n.size += s.size
		buf = binary.LittleEndian.AppendUint64(buf, s.hash)
	}
	_, _ = h.Write(buf)
	n.hash = h.Sum64()
	if n.size <= maxGrams {
		return n
	}
	if n.op == opAnd {
		return n.lessAnd()
	}
	return n.lessOr()
}

// lessAnd returns an "and" of the small parts of n.
func (n *node) lessAnd() *node {
	subs := slices.SortedStableFunc(slices.Values(n.subs), func(a, b *node) int { return cmp.Compare(a.size, b.size) })
	out := &node{op: opAnd, grams: n.grams[:min(len(n.grams), maxGrams/2)]}
	size := len(out.grams)
	for _, s := range subs {
		if size += s.size; size > maxGrams {
			break
		}
		out.subs = append(out.subs, s)
	}
	return join(opAnd, out)
}

// lessOr returns an "or" with a smaller part of each part of n, if there is room for at least one
// trigram of each.
func (n *node) lessOr() *node {
	if len(n.grams)+len(n.subs) > maxGrams {
		return all
	}
	out := &node{op: opOr, grams: n.grams}
	room := (maxGrams - len(n.grams)) / len(n.subs)
	for _, s := range n.subs {
		if s.size > room {
			if len(s.grams) == 0 {
				return all
			}
			s = leaf(s.grams[:min(room, len(s.grams))])
		}
		out.subs = append(out.subs, s)
	}
	return join(opOr, out)
}

// distinct removes duplicates.
func distinct(subs []*node) []*node {
	if len(subs) < 2 {
		return subs
	}
	seen := make(map[uint64]*node, len(subs))
	var out []*node
	for _, s := range subs {
		if t := seen[s.hash]; t == nil || !t.same(s) {
			seen[s.hash] = s
			out = append(out, s)
		}
	}
	return out
}

func (n *node) same(m *node) bool {
	return n == m || n.hash == m.hash && n.op == m.op && n.size == m.size && slices.Equal(n.grams, m.grams) && slices.EqualFunc(n.subs, m.subs, (*node).same)
}

func (n *node) string(inside bool) string {
	switch n.op {
	case opAll:
		return "ALL"
	case opNone:
		return "NONE"
	}
	var parts []string
	for _, g := range n.grams {
		parts = append(parts, strconv.Quote(string([]byte{byte(g >> 16), byte(g >> 8), byte(g)})))
	}
	for _, s := range n.subs {
		parts = append(parts, s.string(true))
	}
	sep := " "
	if n.op == opOr {
		sep = "|"
	}
	out := strings.Join(parts, sep)
	if inside && len(parts) > 1 {
		return "(" + out + ")"
	}
	return out
}
