package grep

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// starting is one alternative.
type starting struct {
	sets []byteSet
	open bool // the bytes after these are unknown; otherwise the bytes of the rest of the expression follow
}

type byteSet [4]uint64

func (s *byteSet) add(b byte)     { s[b>>6] |= 1 << (b & 63) }
func (s byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

// startsOf returns the possible starts of an expression. It reports false if there are too many
// alternatives.
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

// opened marks the bytes after each alternative as unknown.
func opened(starts []starting) []starting {
	out := make([]starting, len(starts))
	for i, s := range starts {
		out[i] = starting{s.sets, true}
	}
	return out
}

// behind appends each element of next to each element of first whose end is known.
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

// oneOf returns a start for one character from the ranges in pairs. For characters of several bytes
// it describes only the first byte. A byte that is not UTF-8 counts as U+FFFD.
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
