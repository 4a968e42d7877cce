package grammar

import "errors"

// check refuses grammars that cannot run: those that match nothing, that call themselves before reading anything, and
// that repeat something empty very often. Alternatives that match nothing are cut away, so that every state met later can
// be completed.
func (b *builder) check() error {
	p := b.p
	live := p.productive()
	if !live[p.root] {
		return errors.New("nothing can match: the grammar or schema contradicts itself")
	}
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind == opAlt {
			kept := o.kids[:0]
			for _, k := range o.kids {
				if live[k] {
					kept = append(kept, k)
				}
			}
			o.kids = kept
		}
		if o.kind == opRepeat && !live[o.kids[0]] {
			o.max = 0
		}
	}
	empty := p.nullable()
	for i := range p.ops {
		o := &p.ops[i]
		if o.kind == opRepeat && empty[o.kids[0]] {
			if o.min = 0; o.max > maxRound {
				return errors.New("a repetition of something that may be empty has too many rounds")
			}
		}
	}
	return p.leftRecursion(empty)
}

// productive finds the operations that match some text.
func (p *program) productive() []bool {
	live := make([]bool, len(p.ops))
	for changed := true; changed; {
		changed = false
		for i := len(p.ops) - 1; i >= 0; i-- {
			if !live[i] && p.liveOp(&p.ops[i], live) {
				live[i], changed = true, true
			}
		}
	}
	return live
}

func (p *program) liveOp(o *op, live []bool) bool {
	switch o.kind {
	case opFail:
		return false
	case opSeq:
		for _, k := range o.kids {
			if !live[k] {
				return false
			}
		}
	case opAlt:
		for _, k := range o.kids {
			if live[k] {
				return true
			}
		}
		return false
	case opRepeat:
		return o.min == 0 || live[o.kids[0]]
	}
	return true
}

// nullable finds the operations that match the empty text.
func (p *program) nullable() []bool {
	empty := make([]bool, len(p.ops))
	for changed := true; changed; {
		changed = false
		for i := len(p.ops) - 1; i >= 0; i-- {
			if !empty[i] && p.emptyOp(&p.ops[i], empty) {
				empty[i], changed = true, true
			}
		}
	}
	return empty
}

func (p *program) emptyOp(o *op, empty []bool) bool {
	switch o.kind {
	case opLit:
		return len(o.lit) == 0
	case opString:
		return o.lex.acc[0] >= 0
	case opSeq:
		for _, k := range o.kids {
			if !empty[k] {
				return false
			}
		}
		return true
	case opAlt:
		for _, k := range o.kids {
			if empty[k] {
				return true
			}
		}
	case opRepeat:
		return o.min == 0 || empty[o.kids[0]]
	}
	return false
}

// leftRecursion refuses operations that reach themselves without reading anything.
func (p *program) leftRecursion(empty []bool) error {
	const open, done = 1, 2
	state := make([]uint8, len(p.ops))
	var visit func(id int32) bool
	visit = func(id int32) bool {
		switch state[id] {
		case open:
			return false
		case done:
			return true
		}
		state[id] = open
		o := &p.ops[id]
		switch o.kind {
		case opAlt, opRepeat:
			for _, k := range o.kids {
				if !visit(k) {
					return false
				}
			}
		case opSeq:
			for _, k := range o.kids {
				if !visit(k) {
					return false
				}
				if !empty[k] {
					break
				}
			}
		}
		state[id] = done
		return true
	}
	for i := range p.ops {
		if !visit(int32(i)) {
			return errors.New("a rule calls itself before it reads anything (left recursion): put what it reads first")
		}
	}
	return nil
}
