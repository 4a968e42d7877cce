package scheduler

import "slices"

// suffixAutomaton recognises every substring of a growing text (Blumer et al. 1985). Appending a
// token takes amortised constant time, and finds the longest suffix of the text that occurred
// before, and where.
type suffixAutomaton struct {
	text   []int32
	states []samState
	edges  []samEdge
	table  []int32 // open addressing by (state, token): index into edges, plus one
	last   int32   // state of the whole text

	back  int // length of the longest suffix that occurred before
	after int // position in text that followed that earlier occurrence
}

type samState struct {
	length, link int32
	end          int32 // position of the last token of a recent occurrence
	edge         int32 // first of its edges; -1 means none
}

type samEdge struct{ from, token, to, next int32 }

func newSuffixAutomaton() *suffixAutomaton {
	return &suffixAutomaton{states: []samState{{link: -1, edge: -1, end: -1}}, table: make([]int32, 256)}
}

func (a *suffixAutomaton) slot(from, token int32) int {
	h := mix64(uint64(uint32(from))<<32 | uint64(uint32(token)))
	mask := len(a.table) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		e := a.table[i]
		if e == 0 || a.edges[e-1].from == from && a.edges[e-1].token == token {
			return i
		}
	}
}

// step returns the edge of a state for a token, or -1.
func (a *suffixAutomaton) step(from, token int32) int32 { return a.table[a.slot(from, token)] - 1 }

func (a *suffixAutomaton) connect(from, token, to int32) {
	if 2*(len(a.edges)+1) > len(a.table) {
		a.table = make([]int32, 2*len(a.table))
		for i, e := range a.edges {
			a.table[a.slot(e.from, e.token)] = int32(i) + 1
		}
	}
	a.edges = append(a.edges, samEdge{from, token, to, a.states[from].edge})
	a.states[from].edge = int32(len(a.edges) - 1)
	a.table[a.slot(from, token)] = int32(len(a.edges))
}

// append adds a token to the text.
func (a *suffixAutomaton) append(token int32) {
	pos := int32(len(a.text))
	a.text = append(a.text, token)
	cur := int32(len(a.states))
	a.states = append(a.states, samState{length: a.states[a.last].length + 1, end: pos, edge: -1})
	p := a.last
	for p >= 0 && a.step(p, token) < 0 {
		a.connect(p, token, cur)
		p = a.states[p].link
	}
	if p >= 0 {
		a.states[cur].link = a.suffixState(p, token)
	}
	a.last = cur
	a.note(a.states[cur].link, pos)
}

// suffixState returns the state of the longest string of p followed by token, and creates the state
// if necessary.
func (a *suffixAutomaton) suffixState(p, token int32) int32 {
	q := a.edges[a.step(p, token)].to
	if a.states[p].length+1 == a.states[q].length {
		return q
	}
	clone := int32(len(a.states))
	a.states = append(a.states, samState{length: a.states[p].length + 1, link: a.states[q].link, end: a.states[q].end, edge: -1})
	for e := a.states[q].edge; e >= 0; e = a.edges[e].next {
		a.connect(clone, a.edges[e].token, a.edges[e].to)
	}
	for p >= 0 {
		e := a.step(p, token)
		if e < 0 || a.edges[e].to != q {
			break
		}
		a.edges[e].to = clone
		p = a.states[p].link
	}
	a.states[q].link = clone
	return clone
}

// note records the earlier place of the longest repeated suffix, and marks that suffix and some of
// its suffixes as having occurred again.
func (a *suffixAutomaton) note(state, pos int32) {
	a.back, a.after = int(a.states[state].length), int(a.states[state].end)+1
	for range 4 {
		if state <= 0 {
			return
		}
		a.states[state].end = pos
		state = a.states[state].link
	}
}

// A session's history of maxHistory tokens, which take about 100 bytes each, is restarted with its
// last quarter.
const maxHistory = 1 << 16

// history holds the text of a session, including text that has left the context.
type history struct {
	sam  *suffixAutomaton
	conv []int32 // the conversation at the end of the history
	gaps int32
}

// begin continues with another text of the session, in most cases an extension of the previous one.
func (h *history) begin(tokens []int32) {
	common := commonPrefix(h.conv, tokens)
	if common < len(h.conv) {
		h.gaps--
		h.add(h.gaps) // a different gap each time, so that it never matches
		common = max(0, common-maxBack)
	}
	for _, t := range tokens[common:] {
		h.add(t)
	}
	h.conv = append(h.conv[:0], tokens...)
}

func (h *history) add(token int32) {
	if h.sam == nil {
		h.sam = newSuffixAutomaton()
	}
	if len(h.sam.text) >= maxHistory {
		rest := slices.Clone(h.sam.text[maxHistory-maxHistory/4:])
		h.sam = newSuffixAutomaton()
		for _, t := range rest {
			h.sam.append(t)
		}
	}
	h.sam.append(token)
}

// historyDrafter finds the longest suffix that occurred earlier in the session, and proposes the
// tokens that followed it there: suffix decoding (Oliaro et al. 2024).
type historyDrafter struct {
	h     *history
	done  int
	began bool
}

// Name returns "history".
func (d *historyDrafter) Name() string { return "history" }

// Draft implements Drafter.
func (d *historyDrafter) Draft(tokens []int32, max int, dst []int32) []int32 {
	dst, _ = d.draftScored(tokens, max, dst)
	return dst
}

func (d *historyDrafter) draftScored(tokens []int32, max int, dst []int32) ([]int32, int) {
	if !d.began {
		d.h.begin(tokens)
		d.began = true
	} else {
		for _, t := range tokens[d.done:] {
			d.h.add(t)
		}
		d.h.conv = append(d.h.conv, tokens[d.done:]...)
	}
	d.done = len(tokens)
	a := d.h.sam
	if a.back < 2 {
		return dst, 0
	}
	return appendFrom(dst, a.text, a.after, max), classOf(a.back)
}
