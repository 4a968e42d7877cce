package bpe

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"
)

// learner merges pairs of pieces in the words of a text. It keeps the count of every pair up to
// date, so that the time of a merge depends only on the words that contain the pair.
type learner struct {
	pieces []string // by id, as bytes
	ids    map[string]int32
	merges []pair
	merged map[pair]bool

	words  []word
	counts map[pair]int64
	where  map[pair][]int32 // the words that have or had the pair
	queue  queue            // of pairs by counts; see learn
}

type pair struct{ left, right int32 }

// word is a distinct word of the texts, with its frequency and the pieces that it currently
// consists of.
type word struct {
	count  int64
	pieces []int32
}

func newLearner(counts map[string]*int64) *learner {
	l := &learner{ids: map[string]int32{}, merged: map[pair]bool{}, counts: map[pair]int64{}, where: map[pair][]int32{}}
	for b := range 256 {
		l.piece(string([]byte{byte(b)}))
	}
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		w := word{count: *counts[text]}
		for i := range len(text) {
			w.pieces = append(w.pieces, int32(text[i]))
		}
		l.words = append(l.words, w)
		for i := 1; i < len(w.pieces); i++ {
			l.add(pair{w.pieces[i-1], w.pieces[i]}, w.count, int32(len(l.words)-1))
		}
	}
	for p, n := range l.counts {
		l.queue = append(l.queue, entry{n, p})
	}
	heap.Init(&l.queue)
	return l
}

// piece returns the id of a piece, a new id if the piece is new.
func (l *learner) piece(text string) int32 {
	id, ok := l.ids[text]
	if !ok {
		id = int32(len(l.pieces))
		l.ids[text] = id
		l.pieces = append(l.pieces, text)
	}
	return id
}

// add adds n to the count of a pair for a word that contains it.
func (l *learner) add(p pair, n int64, in int32) {
	l.counts[p] += n
	if at := l.where[p]; len(at) == 0 || at[len(at)-1] != in {
		l.where[p] = append(at, in)
	}
}

// learn merges the most frequent pair in the texts; if several are equally frequent, it merges the
// one with the smallest ids. It returns false if there is none.
//
// The count of a queue entry is never too low: a falling count does not update the queue, but a
// rising count pushes a new entry. So if the count of a popped entry is still current, the entry is
// the best one.
func (l *learner) learn() bool {
	for len(l.queue) > 0 {
		e := heap.Pop(&l.queue).(entry)
		n := l.counts[e.pair]
		if l.merged[e.pair] {
			continue // another merge already made this piece, which must be added only once
		}
		if n == e.count && n > 0 {
			l.merge(e.pair)
			return true
		}
		if 0 < n && n < e.count {
			heap.Push(&l.queue, entry{n, e.pair})
		}
	}
	return false
}

// force merges the bytes of a word into one piece, from left to right.
func (l *learner) force(text string) {
	var pieces []int32
	for i := range len(text) {
		pieces = append(pieces, int32(text[i]))
	}
	for _, m := range l.merges {
		pieces = join(pieces, m, l.ids[l.pieces[m.left]+l.pieces[m.right]], nil)
	}
	for len(pieces) > 1 {
		p := pair{pieces[0], pieces[1]}
		pieces = join(pieces, p, l.merge(p), nil)
	}
}

// merge applies a merge to all words and returns the piece that the pair becomes.
func (l *learner) merge(p pair) int32 {
	to := l.piece(l.pieces[p.left] + l.pieces[p.right])
	l.merges = append(l.merges, p)
	l.merged[p] = true
	touched := map[pair]bool{} // pairs whose counts have risen
	for _, at := range l.where[p] {
		w := &l.words[at]
		w.pieces = join(w.pieces, p, to, func(q pair, sign int64) {
			if sign < 0 {
				l.counts[q] -= w.count
				return
			}
			l.add(q, w.count, at)
			touched[q] = true
		})
	}
	delete(l.where, p)
	delete(l.counts, p)
	for q := range touched {
		if n := l.counts[q]; n > 0 && !l.merged[q] {
			heap.Push(&l.queue, entry{n, q})
		}
	}
	return to
}

// join replaces every occurrence of the pair in pieces by one piece, from left to right and in
// place. If change is not nil, join calls it with each pair that disappears (-1) or appears (1).
func join(pieces []int32, p pair, to int32, change func(q pair, sign int64)) []int32 {
	if !has(pieces, p) {
		return pieces
	}
	tell := func(sign int64) {
		for i := 1; change != nil && i < len(pieces); i++ {
			change(pair{pieces[i-1], pieces[i]}, sign)
		}
	}
	tell(-1)
	out := pieces[:0]
	for i := 0; i < len(pieces); i++ {
		if i+1 < len(pieces) && pieces[i] == p.left && pieces[i+1] == p.right {
			out = append(out, to)
			i++
			continue
		}
		out = append(out, pieces[i])
	}
	pieces = out
	tell(1)
	return pieces
}

func has(pieces []int32, p pair) bool {
	for i := 1; i < len(pieces); i++ {
		if pieces[i-1] == p.left && pieces[i] == p.right {
			return true
		}
	}
	return false
}

// entry is a pair in the queue, with the pair's count at the time when it was pushed.
type entry struct {
	count int64
	pair  pair
}

// queue is a heap with the greatest count on top; if counts are equal, the smallest pair is on top.
type queue []entry

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.pair.left, b.pair.left), cmp.Compare(a.pair.right, b.pair.right)) < 0
}
func (q *queue) Push(x any) { *q = append(*q, x.(entry)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
