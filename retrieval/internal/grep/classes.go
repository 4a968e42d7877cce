package grep

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// classes partition the characters into kinds that the automaton need not distinguish.
type classes struct {
	starts []rune  // ascending; each starts a range of characters of the same class
	of     []uint8 // the class of each range
	low    [lowRunes]uint8
	sample []rune // a character of each class
}

const (
	lowRunes   = 0x800 // characters whose class is found by table lookup: those of one and two bytes
	maxClasses = 250
	maxWork    = 1 << 18 // limit for ranges times instructions
)

// newClasses finds the classes of a program. It reports false if there are too many.
func newClasses(prog *syntax.Prog) (*classes, bool) {
	c := &classes{starts: cuts(prog)}
	if len(c.starts)*len(prog.Inst) > maxWork {
		return nil, false
	}
	known := map[string]uint8{}
	sign := make([]byte, (len(prog.Inst)+7)/8+1)
	for _, r := range c.starts {
		clear(sign)
		for i := range prog.Inst {
			if inst := &prog.Inst[i]; runeInst(inst) && inst.MatchRune(r) {
				sign[i/8] |= 1 << (i % 8)
			}
		}
		sign[len(sign)-1] = kind(r)
		class, ok := known[string(sign)]
		if !ok {
			if len(c.sample) == maxClasses {
				return nil, false
			}
			class = uint8(len(c.sample))
			known[string(sign)] = class
			c.sample = append(c.sample, r)
		}
		c.of = append(c.of, class)
	}
	for r := range rune(lowRunes) {
		c.low[r] = c.search(r)
	}
	return c, true
}

// kind returns the kind of a character. Kinds must be distinguished in every automaton: newlines,
// carriage returns, and word characters as \b defines them.
func kind(r rune) byte {
	switch {
	case r == '\n':
		return 1
	case r == '\r':
		return 2
	case syntax.IsWordChar(r):
		return 3
	}
	return 0
}

// cuts returns all characters at which a new range may start.
func cuts(prog *syntax.Prog) []rune {
	out := []rune{0, '\n', '\n' + 1, '\r', '\r' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	span := func(lo, hi rune) {
		out = append(out, lo, hi+1)
	}
	span(utf8.RuneError, utf8.RuneError)
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		if !runeInst(inst) {
			continue
		}
		if len(inst.Rune) == 1 {
			r := inst.Rune[0]
			span(r, r)
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				span(f, f)
			}
			continue
		}
		for j := 0; j+1 < len(inst.Rune); j += 2 {
			span(inst.Rune[j], inst.Rune[j+1])
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:slices.IndexFunc(append(out, unicode.MaxRune+1), func(r rune) bool { return r > unicode.MaxRune })]
}

func runeInst(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// find returns the class of a character.
func (c *classes) find(r rune) uint8 {
	if uint32(r) < lowRunes {
		return c.low[r]
	}
	return c.search(r)
}

func (c *classes) search(r rune) uint8 {
	i, ok := slices.BinarySearch(c.starts, r)
	if !ok {
		i--
	}
	return c.of[i]
}
