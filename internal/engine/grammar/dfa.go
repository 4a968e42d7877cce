package grammar

import (
	"encoding/binary"
	"slices"
	"sync"
)

// alphabet divides the code points into classes whose members an automaton does not distinguish.
type alphabet struct {
	ascii  [128]uint16
	starts []rune // first code point of each interval
	class  []uint16
	reps   []rune // one code point of each class
}

// newAlphabet returns the coarsest division in which every set is a union of classes.
func newAlphabet(sets [][]span) *alphabet {
	cuts := []rune{0}
	for _, set := range sets {
		for _, s := range set {
			cuts = append(cuts, s.lo, s.hi+1)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	a := &alphabet{}
	seen := map[string]uint16{}
	pos := make([]int, len(sets))
	key := make([]byte, (len(sets)+7)/8)
	for _, r := range cuts {
		if r < 0 || r > runeMax {
			continue
		}
		clear(key)
		for i, set := range sets {
			for pos[i] < len(set) && set[pos[i]].hi < r {
				pos[i]++
			}
			if pos[i] < len(set) && set[pos[i]].lo <= r {
				key[i/8] |= 1 << (i % 8)
			}
		}
		c, ok := seen[string(key)]
		if !ok {
			c = uint16(len(a.reps))
			seen[string(key)] = c
			a.reps = append(a.reps, r)
		}
		if n := len(a.class); n > 0 && a.class[n-1] == c {
			continue
		}
		a.starts, a.class = append(a.starts, r), append(a.class, c)
	}
	for r := range a.ascii {
		a.ascii[r] = a.find(rune(r))
	}
	return a
}

func (a *alphabet) interval(r rune) int {
	i, ok := slices.BinarySearch(a.starts, r)
	if !ok {
		i--
	}
	return i
}

func (a *alphabet) find(r rune) uint16 { return a.class[a.interval(r)] }

func (a *alphabet) of(r rune) uint16 {
	if r < 128 {
		return a.ascii[r]
	}
	return a.find(r)
}

// dfa is a complete DFA over code points. All its live states reach acceptance. It is immutable.
type dfa struct {
	alpha  *alphabet
	k      int     // number of classes
	next   []int32 // state*k+class; -1 means the dead state
	labels []int32 // by state; -1 means not accepting
	all    []bool  // by state: accepts every text with the state's label
	safe   []bool  // by state: no continuation reaches the dead state
	first  int32
	lit    bool

	kindOnce  sync.Once
	kindClass [kindCount][]uint16
}

func (d *dfa) start() int32               { return d.first }
func (d *dfa) accept(q int32) int32       { return d.labels[q] }
func (d *dfa) total(q int32) bool         { return d.safe[q] }
func (d *dfa) literal(int32) bool         { return d.lit }
func (d *dfa) step(q int32, r rune) int32 { return d.next[int(q)*d.k+int(d.alpha.of(r))] }
func (d *dfa) universal(q int32) (int32, bool) {
	return d.labels[q], d.all[q]
}

func (d *dfa) spans(q int32, lo, hi rune) bool {
	for i := d.alpha.interval(lo); i < len(d.alpha.starts) && d.alpha.starts[i] <= hi; i++ {
		if d.next[int(q)*d.k+int(d.alpha.class[i])] >= 0 {
			return true
		}
	}
	return false
}

// empty reports whether the automaton accepts nothing.
func (d *dfa) empty() bool { return d.first < 0 }

const maxDFAStates = 20_000

// automaton builds the DFA of the texts for which x accepts the text between the begin and end
// marks. It fails if the DFA would be too large.
func (p *rxPool) automaton(x *rx) (*dfa, error) {
	var sets [][]span
	for _, s := range p.sets {
		sets = append(sets, s.set)
	}
	alpha := newAlphabet(sets)
	d := &dfa{alpha: alpha, k: len(alpha.reps)}
	x = p.derive(x, markBegin, map[*rx]*rx{})
	ids := map[*rx]int32{x: 0}
	queue := []*rx{x}
	for n := 0; n < len(queue); n++ {
		q := queue[n]
		lab := int32(-1)
		if p.derive(q, markEnd, map[*rx]*rx{}).nullable {
			lab = 0
		}
		d.labels = append(d.labels, lab)
		for _, r := range alpha.reps {
			t := p.derive(q, r, map[*rx]*rx{})
			if t.kind == rxNone {
				d.next = append(d.next, -1)
				continue
			}
			id, ok := ids[t]
			if !ok {
				id = int32(len(queue))
				ids[t] = id
				queue = append(queue, t)
			}
			d.next = append(d.next, id)
		}
		if p.fuel < 0 || p.steps < 0 || len(queue) > maxDFAStates {
			return nil, errRxSize
		}
	}
	d.trim()
	return d, nil
}

// trim redirects transitions that lead to states that cannot accept: they lead to the dead state.
// It also finds the states from which no continuation can fail.
func (d *dfa) trim() {
	n := len(d.labels)
	back := d.backward()
	flood := func(mark []bool, queue []int32) {
		for len(queue) > 0 {
			q := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, f := range back[q] {
				if !mark[f] {
					mark[f] = true
					queue = append(queue, f)
				}
			}
		}
	}
	live := make([]bool, n)
	var queue []int32
	for q := range n {
		if d.labels[q] >= 0 {
			live[q] = true
			queue = append(queue, int32(q))
		}
	}
	flood(live, queue)
	for i, t := range d.next {
		if t >= 0 && !live[t] {
			d.next[i] = -1
		}
	}
	unsafe := make([]bool, n)
	queue = queue[:0]
	d.all = make([]bool, n)
	for q := range n {
		d.all[q] = d.labels[q] >= 0
		for c := range d.k {
			t := d.next[q*d.k+c]
			d.all[q] = d.all[q] && t == int32(q)
			if t < 0 && !unsafe[q] {
				unsafe[q] = true
				queue = append(queue, int32(q))
			}
		}
	}
	flood(unsafe, queue)
	d.safe = make([]bool, n)
	for q := range n {
		d.safe[q] = !unsafe[q]
	}
	if !live[d.first] {
		d.first = -1
	}
}

// backward returns, for each state, the states that lead to it.
func (d *dfa) backward() [][]int32 {
	back := make([][]int32, len(d.labels))
	for q := range d.labels {
		for _, t := range d.next[q*d.k : (q+1)*d.k] {
			if t >= 0 && (len(back[t]) == 0 || back[t][len(back[t])-1] != int32(q)) {
				back[t] = append(back[t], int32(q))
			}
		}
	}
	return back
}

// product builds the product of several automata. The function label maps the labels that the
// automata reached (-1 if one is dead or does not accept) to a label of the product, or to -1 if
// the product does not accept.
func product(parts []content, alphas []*alphabet, extra [][]span, label func([]int32) int32) (*dfa, error) {
	sets := slices.Clone(extra)
	for _, a := range alphas {
		sets = append(sets, a.sets()...)
	}
	alpha := newAlphabet(sets)
	d := &dfa{alpha: alpha, k: len(alpha.reps)}
	ids := map[string]int32{}
	var queue [][]int32
	intern := func(s []int32) int32 {
		key := make([]byte, 0, 4*len(s))
		for _, q := range s {
			key = binary.LittleEndian.AppendUint32(key, uint32(q))
		}
		id, ok := ids[string(key)]
		if !ok {
			id = int32(len(queue))
			ids[string(key)] = id
			queue = append(queue, slices.Clone(s))
		}
		return id
	}
	s := make([]int32, len(parts))
	for i, c := range parts {
		s[i] = c.start()
	}
	intern(s)
	labels := make([]int32, len(parts))
	for n := 0; n < len(queue); n++ {
		for i, c := range parts {
			labels[i] = -1
			if q := queue[n][i]; q >= 0 {
				labels[i] = c.accept(q)
			}
		}
		d.labels = append(d.labels, label(labels))
		for _, r := range alpha.reps {
			for i, c := range parts {
				if s[i] = queue[n][i]; s[i] >= 0 {
					s[i] = c.step(s[i], r)
				}
			}
			d.next = append(d.next, intern(s))
		}
		if len(queue) > maxDFAStates || len(d.next) > 4_000_000 {
			return nil, errRxSize
		}
	}
	d.trim()
	return d, nil
}

// sets returns one set of code points for each class.
func (a *alphabet) sets() [][]span {
	sets := make([][]span, len(a.reps))
	for i, c := range a.class {
		hi := runeMax
		if i+1 < len(a.starts) {
			hi = a.starts[i+1] - 1
		}
		sets[c] = append(sets[c], span{a.starts[i], hi})
	}
	return sets
}
