package grep

import (
	"encoding/binary"
	"regexp/syntax"
)

// automaton holds the parts that all scanners of a pattern share: the program and the character
// classes.
type automaton struct {
	prog     *syntax.Prog
	classes  *classes
	stride   int        // length of a row of the table: the classes and slow
	byte     [256]uint8 // column of a byte: its class, or slow
	newline  uint8
	anchored bool // matches only at the start of a line
	context  bool // contains \b or \B
}

// maxInsts limits the size of the program: computing a state takes time proportional to it.
const maxInsts = 4000

func newAutomaton(prog *syntax.Prog) *automaton {
	if len(prog.Inst) > maxInsts {
		return nil
	}
	c, ok := newClasses(prog)
	if !ok {
		return nil
	}
	a := &automaton{prog: prog, classes: c, stride: len(c.sample) + 1}
	slow := uint8(len(c.sample))
	for i := range a.byte {
		a.byte[i] = slow
		if i < 0x80 && i != '\r' {
			a.byte[i] = c.low[i]
		}
	}
	a.newline = c.low['\n']
	a.anchored = prog.StartCond()&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			a.context = true
		}
	}
	return a
}

// matchesAll reports whether an empty match is at the start of every line.
func (a *automaton) matchesAll() bool {
	b := a.builder()
	return b.closure([]uint32{uint32(a.prog.Start)}, syntax.EmptyBeginLine|syntax.EmptyBeginText)
}

// before is the kind of the character before the next one.
type before uint8

const (
	lineStart before = iota
	wordBefore
	otherBefore
)

// sample returns a character of this kind.
func (b before) sample() rune { return [...]rune{-1, 'a', ' '}[b] }

// builder makes states. A state consists of the program positions reached, before assertions are
// evaluated (they depend on the next character), and the kind of the previous character.
type builder struct {
	*automaton
	mark  []uint32 // by position: the round in which it was visited
	round uint32
	stack []uint32
	steps []uint32 // positions that were reached and that consume a character
}

func (a *automaton) builder() *builder {
	return &builder{automaton: a, mark: make([]uint32, len(a.prog.Inst))}
}

// closure computes the positions that are reachable from the given positions if flags hold. It
// collects those that consume a character in the field steps, and reports whether a match is
// reachable.
func (b *builder) closure(from []uint32, flags syntax.EmptyOp) bool {
	b.round++
	b.steps = b.steps[:0]
	for _, pc := range from {
		b.stack = append(b.stack[:0], pc)
		for len(b.stack) > 0 {
			pc := b.stack[len(b.stack)-1]
			b.stack = b.stack[:len(b.stack)-1]
			if b.mark[pc] == b.round {
				continue
			}
			b.mark[pc] = b.round
			inst := &b.prog.Inst[pc]
			switch inst.Op {
			case syntax.InstMatch:
				return true
			case syntax.InstAlt, syntax.InstAltMatch:
				b.stack = append(b.stack, inst.Arg, inst.Out)
			case syntax.InstCapture, syntax.InstNop:
				b.stack = append(b.stack, inst.Out)
			case syntax.InstEmptyWidth:
				if syntax.EmptyOp(inst.Arg)&^flags == 0 {
					b.stack = append(b.stack, inst.Out)
				}
			case syntax.InstFail:
			default:
				b.steps = append(b.steps, pc)
			}
		}
	}
	return false
}

// step returns the state after a character. With r = -1, which stands for the end of the line, only
// match is meaningful.
func (b *builder) step(places []uint32, prev before, r rune) (next []uint32, after before, match bool) {
	if b.closure(places, syntax.EmptyOpContext(prev.sample(), r)) {
		return nil, 0, true
	}
	if r < 0 {
		return nil, 0, false
	}
	after = otherBefore
	if b.context && syntax.IsWordChar(r) {
		after = wordBefore
	}
	b.round++
	for _, pc := range b.steps {
		inst := &b.prog.Inst[pc]
		if b.mark[inst.Out] != b.round && inst.MatchRune(r) {
			b.mark[inst.Out] = b.round
			next = append(next, inst.Out)
		}
	}
	if start := uint32(b.prog.Start); !b.anchored && b.mark[start] != b.round {
		next = append(next, start)
	}
	return next, after, b.closure(next, 0)
}

// key encodes a state as a map key.
func key(dst []byte, places []uint32, prev before) []byte {
	dst = append(dst, byte(prev))
	for _, pc := range places {
		dst = binary.LittleEndian.AppendUint32(dst, pc)
	}
	return dst
}
