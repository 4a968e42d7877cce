package grep

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// table holds the states made so far. A state is the offset of its row; rows contain states, or one
// of the marks below.
type table struct {
	auto   *automaton
	build  *builder
	next   []int32
	states []state
	byKey  map[string]int32
	keyBuf []byte
	starts [otherBefore + 1]int32 // states at the start of a match, by what precedes it; 0 if not made yet
}

type state struct {
	places []uint32
	prev   before
}

const (
	toUnknown = -1 - iota // not made yet
	toMatch
	toDead // nothing on this line can match
	toSlow // the character is not a single ASCII byte: see slow
	toFull
)

// maxEntries limits a table to 2 MB.
const maxEntries = 1 << 19

func newTable(a *automaton) *table {
	t := &table{auto: a, build: a.builder(), byKey: map[string]int32{}}
	t.state([]uint32{uint32(a.prog.Start)}, lineStart)
	return t
}

// state returns the row of a state, making a new row if there is none. If the table is full, it
// returns toFull.
func (t *table) state(places []uint32, prev before) int32 {
	slices.Sort(places)
	t.keyBuf = key(t.keyBuf[:0], places, prev)
	if row, ok := t.byKey[string(t.keyBuf)]; ok {
		return row
	}
	if len(t.next)+t.auto.stride > maxEntries {
		return toFull
	}
	row := int32(len(t.next))
	for range t.auto.stride - 1 {
		t.next = append(t.next, toUnknown)
	}
	t.next = append(t.next, toSlow)
	t.states = append(t.states, state{places, prev})
	t.byKey[string(t.keyBuf)] = row
	return row
}

// startBehind returns the state in which only the byte b has been seen on the same line, or toFull.
func (t *table) startBehind(b byte) int32 {
	prev := otherBefore
	if t.auto.context && syntax.IsWordChar(rune(b)) {
		prev = wordBefore
	}
	if t.starts[prev] == 0 {
		state := t.state([]uint32{uint32(t.auto.prog.Start)}, prev)
		if state == toFull {
			return state
		}
		t.starts[prev] = state
	}
	return t.starts[prev]
}

// fill computes the transition from a state for a class.
func (t *table) fill(from int32, class uint8) int32 {
	st := t.states[int(from)/t.auto.stride]
	r := t.auto.classes.sample[class]
	var to int32
	if class == t.auto.newline {
		if _, _, match := t.build.step(st.places, st.prev, -1); match {
			to = toMatch
		} // else the next line starts
	} else if places, prev, match := t.build.step(st.places, st.prev, r); match {
		to = toMatch
	} else if len(places) == 0 {
		to = toDead
	} else if to = t.state(places, prev); to == toFull {
		return to
	}
	t.next[int(from)+int(class)] = to
	return to
}

// slow handles a character of several bytes, or a carriage return, which is a character only if no
// newline follows.
func (t *table) slow(from int32, text []byte) (to int32, n int) {
	if text[0] == '\r' && len(text) == 1 {
		return from, 1 // the end of the text is the end of the line
	}
	if text[0] == '\r' && text[1] == '\n' {
		if t.lineEnds(from) {
			return toMatch, 1
		}
		return 0, 2
	}
	r, n := utf8.DecodeRune(text)
	class := t.auto.classes.find(r)
	if to = t.next[int(from)+int(class)]; to == toUnknown {
		to = t.fill(from, class)
	}
	return to, n
}

// lineEnds reports whether a line that ends in the state from matches.
func (t *table) lineEnds(from int32) bool {
	to := t.next[int(from)+int(t.auto.newline)]
	if to == toUnknown {
		to = t.fill(from, t.auto.newline)
	}
	return to == toMatch
}
