package grep

import (
	"bytes"
	"regexp/syntax"
)

// lead describes the possible first bytes of a match: a few alternatives, each a set of bytes for
// each of up to three positions. With it, find locates the candidate positions in a text without a
// chain of dependent loads.
type lead struct {
	// masks holds, for each byte, a bit for each alternative that allows it: the low eight bits are
	// for the first position, the next eight for the second, and so on.
	masks [256]uint32
	first int // the only byte that a match can start with, or -1
}

const (
	leadBytes = 3
	maxLeads  = 8 // maximum number of alternatives
	maxOften  = 1. / 32
)

// newLead returns nil if the first bytes are not known, or are too common to search for.
func newLead(re *syntax.Regexp) *lead {
	starts, ok := startsOf(re)
	if !ok {
		return nil
	}
	often := 0.0
	l := &lead{first: -1}
	for i, s := range starts {
		if len(s.sets) == 0 {
			return nil
		}
		odds := 1.0
		for place := range leadBytes {
			share := 0.0
			for b := range 256 {
				if place >= len(s.sets) || s.sets[place].has(byte(b)) {
					l.masks[b] |= 1 << (8*place + i)
					share += frequency(byte(b))
				}
			}
			odds *= min(1, share)
		}
		often += odds
	}
	if often > maxOften {
		return nil
	}
	for b, mask := range l.masks {
		if mask&0xff == 0 {
			continue
		}
		if l.first >= 0 {
			l.first = -1
			break
		}
		l.first = b
	}
	return l
}

// frequency returns the approximate share of a byte in source code.
func frequency(b byte) float64 {
	const letters = "etaoinsrlcdpufmghbywvxkzqj"
	switch {
	case b == ' ':
		return .15
	case 'a' <= b && b <= 'z':
		for i := range letters {
			if letters[i] == b {
				return .08 * float64(len(letters)-i) / float64(len(letters))
			}
		}
	case b == '\t' || b == '.' || b == '(' || b == ')' || b == ',' || b == '"' || b == '_' || b == '/' || b == '=' || b == '0':
		return .02
	}
	return .004
}

// find returns the first position, starting at the parameter at, where a match may start, or -1.
func (l *lead) find(text []byte, at int) int {
	if l.first >= 0 {
		return l.findFirst(text, at)
	}
	m := &l.masks
	for t := text[at:]; len(t) >= 6; t = t[4:] {
		a, b, c, d, e, f := m[t[0]], m[t[1]], m[t[2]], m[t[3]], m[t[4]], m[t[5]]
		x := a&(b>>8)&(c>>16) | b&(c>>8)&(d>>16) | c&(d>>8)&(e>>16) | d&(e>>8)&(f>>16)
		if x&0xff != 0 {
			break
		}
		at += 4
	}
	for ; at < len(text); at++ {
		if l.may(text[at:]) {
			return at
		}
	}
	return -1
}

// findFirst is find for a single possible first byte: it skips the text in between with a fast
// search for that byte.
func (l *lead) findFirst(text []byte, at int) int {
	for {
		i := bytes.IndexByte(text[at:], byte(l.first))
		if i < 0 {
			return -1
		}
		if at += i; l.may(text[at:]) {
			return at
		}
		at++
	}
}

// may reports whether a match may start at the beginning of t.
func (l *lead) may(t []byte) bool {
	x := l.masks[t[0]]
	if len(t) > 1 {
		x &= l.masks[t[1]] >> 8
	}
	if len(t) > 2 {
		x &= l.masks[t[2]] >> 16
	}
	return x&0xff != 0
}
