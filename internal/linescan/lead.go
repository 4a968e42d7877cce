package linescan

import (
	"bytes"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// lead is what the first bytes of a match can be: one of a few alternatives, each a set of bytes for each of up to three
// places. It finds the places in a text worth looking at without a chain of dependent loads.
type lead struct {
	// masks has, for each byte, a bit for each alternative that allows it: the low eight bits are the first place's, the
	// next eight the second's, and so on.
	masks [256]uint32
	first int // the only byte that a match can start with, or -1
}

const (
	leadBytes = 3
	maxLeads  = 8 // alternatives
	maxOften  = 1. / 32
)

// starting is one alternative.
type starting struct {
	sets []byteSet
	open bool // nothing is known of the bytes behind; else they are those of what follows
}

type byteSet [4]uint64

func (s *byteSet) add(b byte)     { s[b>>6] |= 1 << (b & 63) }
func (s byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// newLead is nil where first bytes are not known, or are too common to be looked for.
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

// frequency is roughly the share of a byte in source code.
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

// startsOf gives up where there are too many alternatives.
func startsOf(re *syntax.Regexp) ([]starting, bool) {
	nothing := []starting{{}}
	switch re.Op {
	case syntax.OpLiteral:
		out := nothing
		for i := 0; i < min(len(re.Rune), leadBytes); i++ {
			pair := []rune{re.Rune[i], re.Rune[i]}
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(re.Rune[i]); f != re.Rune[i]; f = unicode.SimpleFold(f) {
					pair = append(pair, f, f)
				}
			}
			out, _ = behind(out, []starting{oneOf(pair)})
		}
		if len(re.Rune) > leadBytes {
			out = opened(out)
		}
		return out, true
	case syntax.OpCharClass:
		return []starting{oneOf(re.Rune)}, true
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []starting{oneOf([]rune{0, unicode.MaxRune})}, true
	case syntax.OpCapture:
		return startsOf(re.Sub[0])
	case syntax.OpPlus:
		out, ok := startsOf(re.Sub[0])
		return opened(out), ok
	case syntax.OpStar:
		out, ok := startsOf(re.Sub[0])
		return append(opened(out), starting{}), ok && len(out) < maxLeads
	case syntax.OpQuest:
		out, ok := startsOf(re.Sub[0])
		return append(out[:len(out):len(out)], starting{}), ok && len(out) < maxLeads
	case syntax.OpRepeat:
		return startsOfRepeat(re)
	case syntax.OpAlternate:
		var out []starting
		for _, sub := range re.Sub {
			s, ok := startsOf(sub)
			if out = append(out, s...); !ok || len(out) > maxLeads {
				return nil, false
			}
		}
		return out, true
	case syntax.OpConcat:
		out, ok := nothing, true
		for _, sub := range re.Sub {
			s, known := startsOf(sub)
			if !known {
				s = opened(nothing)
			}
			if out, ok = behind(out, s); !ok {
				return nil, false
			}
		}
		return out, true
	case syntax.OpNoMatch:
		return nil, false
	}
	return nothing, true // assertions
}

func startsOfRepeat(re *syntax.Regexp) ([]starting, bool) {
	if re.Min == 0 {
		return []starting{{open: true}}, true
	}
	one, ok := startsOf(re.Sub[0])
	out := one
	for n := 1; ok && n < min(re.Min, leadBytes); n++ {
		out, ok = behind(out, one)
	}
	if re.Min != re.Max || re.Min > leadBytes {
		out = opened(out)
	}
	return out, ok
}

// opened says of each alternative that nothing is known behind it.
func opened(starts []starting) []starting {
	out := make([]starting, len(starts))
	for i, s := range starts {
		out[i] = starting{s.sets, true}
	}
	return out
}

// behind puts next behind each of first whose end is known.
func behind(first, next []starting) ([]starting, bool) {
	var out []starting
	for _, f := range first {
		if f.open || len(f.sets) >= leadBytes {
			out = append(out, f)
			continue
		}
		for _, n := range next {
			sets := append(f.sets[:len(f.sets):len(f.sets)], n.sets...)
			out = append(out, starting{sets[:min(len(sets), leadBytes)], n.open})
		}
	}
	return out, len(out) <= maxLeads
}

// oneOf is one character of pairs of first and last. Of several bytes only the first is told; a byte that is not UTF-8 is
// U+FFFD.
func oneOf(pairs []rune) starting {
	var set byteSet
	s := starting{}
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := pairs[i]; r <= min(pairs[i+1], utf8.RuneSelf-1); r++ {
			if r != '\n' {
				set.add(byte(r))
			}
		}
		if pairs[i+1] >= utf8.RuneSelf {
			s.open = true
			addFirst(&set, max(pairs[i], utf8.RuneSelf), pairs[i+1])
		}
	}
	s.sets = []byteSet{set}
	return s
}

// addFirst adds the bytes that a character between lo and hi may start with.
func addFirst(set *byteSet, lo, hi rune) {
	first, last := 0x80, 0xff
	if lo > utf8.RuneError || hi < utf8.RuneError {
		first, last = int(string(lo)[0]), int(string(hi)[0])
		if !utf8.ValidRune(lo) || !utf8.ValidRune(hi) {
			first, last = 0x80, 0xff
		}
	}
	for b := first; b <= last; b++ {
		set.add(byte(b))
	}
}

// find is the first place at or behind at where a match may start, or -1.
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

// findFirst lets the fast search for a byte run over what is between.
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

// may reports whether a match may start where t does.
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
