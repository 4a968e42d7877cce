package grammar

import (
	"slices"
	"unicode/utf8"
)

// trieContent accepts a fixed list of texts, the i-th with label i (or all with label 0). If others
// is not negative, it accepts every other text with the label others.
type trieContent struct {
	edges  [][]trieEdge
	labels []int32
	others int32 // label of any other text; -1 means that no other text is accepted
}

type trieEdge struct {
	r rune
	q int32
}

// newTrie builds the automaton. State 0 is the start. If other texts are accepted, they lead to the
// last state.
func newTrie(texts []string, label func(i int) int32, others int32) *trieContent {
	t := &trieContent{edges: make([][]trieEdge, 1), labels: []int32{-1}, others: others}
	for i, s := range texts {
		q := int32(0)
		for _, r := range s {
			q = t.add(q, r)
		}
		if t.labels[q] < 0 {
			t.labels[q] = label(i)
		}
	}
	if others >= 0 {
		for q := range t.labels {
			if t.labels[q] < 0 {
				t.labels[q] = others
			}
		}
		t.edges = append(t.edges, nil)
		t.labels = append(t.labels, others)
	}
	return t
}

func (t *trieContent) find(q int32, r rune) (int, bool) {
	return slices.BinarySearchFunc(t.edges[q], r, func(e trieEdge, r rune) int { return int(e.r - r) })
}

func (t *trieContent) add(q int32, r rune) int32 {
	i, ok := t.find(q, r)
	if ok {
		return t.edges[q][i].q
	}
	n := int32(len(t.edges))
	t.edges[q] = slices.Insert(t.edges[q], i, trieEdge{r, n})
	t.edges = append(t.edges, nil)
	t.labels = append(t.labels, -1)
	return n
}

func (t *trieContent) sink() int32 {
	if t.others < 0 {
		return -1
	}
	return int32(len(t.edges) - 1)
}

func (t *trieContent) start() int32 { return 0 }

func (t *trieContent) step(q int32, r rune) int32 {
	if i, ok := t.find(q, r); ok {
		return t.edges[q][i].q
	}
	return t.sink()
}

func (t *trieContent) spans(q int32, lo, hi rune) bool {
	if t.others >= 0 {
		return true
	}
	i, _ := t.find(q, lo)
	return i < len(t.edges[q]) && t.edges[q][i].r <= hi
}

func (t *trieContent) accept(q int32) int32 { return t.labels[q] }

func (t *trieContent) universal(q int32) (int32, bool) {
	return t.others, t.others >= 0 && q == t.sink()
}

func (t *trieContent) total(int32) bool   { return t.others >= 0 }
func (t *trieContent) literal(int32) bool { return t.others < 0 }

// alphabet returns the code points that the texts use.
func (t *trieContent) alphabet() *alphabet {
	var all []rune
	for _, es := range t.edges {
		for _, e := range es {
			all = append(all, e.r)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	sets := make([][]span, len(all))
	for i, r := range all {
		sets[i] = []span{{r, r}}
	}
	return newAlphabet(sets)
}

// reach finds for each state the labels below names that can be reached from it, and whether other
// labels can be reached.
func (t *trieContent) reach(names, words int) ([]uint64, []bool) {
	sets := make([]uint64, words*len(t.edges))
	more := make([]bool, len(t.edges))
	for q := len(t.edges) - 1; q >= 0; q-- { // children come after their parents
		row := sets[q*words:]
		if l := int(t.labels[q]); l >= 0 && l < names {
			row[l>>6] |= 1 << (l & 63)
		}
		more[q] = t.others >= 0
		for _, e := range t.edges[q] {
			for i := range words {
				row[i] |= sets[int(e.q)*words+i]
			}
		}
	}
	return sets, more
}

// reach is like trieContent.reach, for a DFA.
func (d *dfa) reach(names, words int) ([]uint64, []bool) {
	n := len(d.labels)
	sets := make([]uint64, words*n)
	more := make([]bool, n)
	for changed := true; changed; {
		changed = false
		for q := n - 1; q >= 0; q-- {
			row := sets[q*words : (q+1)*words]
			set := func(i int, w uint64) {
				if row[i]|w != row[i] {
					row[i] |= w
					changed = true
				}
			}
			if l := int(d.labels[q]); l >= names {
				changed = changed || !more[q]
				more[q] = true
			} else if l >= 0 {
				set(l>>6, 1<<(l&63))
			}
			for _, t := range d.next[q*d.k : (q+1)*d.k] {
				if t < 0 {
					continue
				}
				for i := range words {
					set(i, sets[int(t)*words+i])
				}
				if more[t] && !more[q] {
					more[q], changed = true, true
				}
			}
		}
	}
	return sets, more
}

// lengths accepts texts of min to max code points; max < 0 means no limit.
type lengths struct{ min, max int32 }

func (l lengths) start() int32 { return 0 }
func (l lengths) step(q int32, _ rune) int32 {
	if l.max < 0 {
		return min(q+1, l.min)
	}
	if q >= l.max {
		return -1
	}
	return q + 1
}
func (l lengths) spans(q int32, _, _ rune) bool { return l.max < 0 || q < l.max }
func (l lengths) accept(q int32) int32 {
	if q >= l.min {
		return 0
	}
	return -1
}
func (l lengths) universal(q int32) (int32, bool) { return 0, l.max < 0 && q >= l.min }
func (l lengths) total(int32) bool                { return l.max < 0 }
func (l lengths) literal(int32) bool              { return false }

// reads returns the label with which c accepts s, or -1 if it does not.
func reads(c content, s string) int32 {
	q := c.start()
	for _, r := range s {
		if q < 0 {
			return -1
		}
		q = c.step(q, r)
	}
	if q < 0 || !utf8.ValidString(s) {
		return -1
	}
	return c.accept(q)
}

// bounded is an automaton with an upper limit on the length. A state is a state of the automaton
// and a count; it is dead if the nearest accepting state is too far away.
type bounded struct {
	d    *dfa
	max  int32
	near []int32 // by state: number of code points to the nearest accepting state
	far  int32   // the largest value in near
}

// newBounded limits d to max code points. It returns nil if no text is that short.
func newBounded(d *dfa, max int32) content {
	n := len(d.labels)
	b := &bounded{d: d, max: max, near: make([]int32, n)}
	var queue []int32
	back := d.backward()
	for q := range n {
		b.near[q] = -1
		if d.labels[q] >= 0 {
			b.near[q] = 0
			queue = append(queue, int32(q))
		}
	}
	for len(queue) > 0 {
		q := queue[0]
		queue = queue[1:]
		for _, f := range back[q] {
			if b.near[f] < 0 {
				b.near[f] = b.near[q] + 1
				b.far = b.near[f]
				queue = append(queue, f)
			}
		}
	}
	if b.near[d.first] > max || int64(n)*int64(max+1) > 1<<30 {
		return nil
	}
	return b
}

func (b *bounded) split(q int32) (int32, int32) { return q / (b.max + 1), q % (b.max + 1) }
func (b *bounded) start() int32                 { return b.d.first * (b.max + 1) }

func (b *bounded) step(q int32, r rune) int32 {
	s, n := b.split(q)
	t := b.d.step(s, r)
	if t < 0 || n+1+b.near[t] > b.max {
		return -1
	}
	return t*(b.max+1) + n + 1
}

func (b *bounded) spans(q int32, lo, hi rune) bool {
	s, n := b.split(q)
	a := b.d.alpha
	for i := a.interval(lo); i < len(a.starts) && a.starts[i] <= hi; i++ {
		if t := b.d.next[int(s)*b.d.k+int(a.class[i])]; t >= 0 && n+1+b.near[t] <= b.max {
			return true
		}
	}
	return false
}

func (b *bounded) accept(q int32) int32 {
	s, _ := b.split(q)
	return b.d.labels[s]
}

func (b *bounded) universal(int32) (int32, bool) { return 0, false }
func (b *bounded) total(int32) bool              { return false }
func (b *bounded) literal(int32) bool            { return b.d.lit }
