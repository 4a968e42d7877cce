package grammar

import "errors"

// check refuses grammars that cannot run: those that match no text, those that call themselves
// before reading anything, and those that repeat an empty part very often. It removes alternatives
// that match no text, so that every state reached later can be completed.
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
		if o.kind == opSet {
			o.pruneSet(live)
		}
		if o.kind == opObject {
			o.object.prune(live)
		}
		if o.kind == opArray {
			o.array.prune(live)
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
	case opSet:
		return o.liveSet(live)
	case opObject:
		return o.object.live(live)
	case opArray:
		return o.array.live(live)
	}
	return true
}

// live reports whether the required properties can be written. The parameter live has the
// operations that match some text.
func (o *objectOp) live(live []bool) bool {
	for i := range o.names {
		if o.required[i>>6]&(1<<(i&63)) != 0 && (o.values[i] < 0 || !live[o.values[i]]) {
			return false
		}
	}
	return true
}

// prune removes names whose values cannot be written.
func (o *objectOp) prune(live []bool) {
	for i, v := range o.values {
		if v >= 0 && !live[v] {
			o.values[i] = -1
			if i < o.names {
				o.welcome[i>>6] &^= 1 << (i & 63)
			}
		}
	}
}

// live reports whether the minimum number of items can be written.
func (a *arrayOp) live(live []bool) bool {
	if a.max >= 0 && a.max < a.min {
		return false
	}
	if a.holds != nil {
		need := a.min > 0 || a.lacking(make([]uint64, len(a.holds))) > 0
		for _, v := range a.variants {
			need = need && !live[v.value]
		}
		return !need
	}
	for i, p := range a.prefix {
		if int32(i) < a.min && !live[p] {
			return false
		}
	}
	return int(a.min) <= len(a.prefix) || a.rest >= 0 && live[a.rest]
}

// prune cuts the array off before items that cannot be written.
func (a *arrayOp) prune(live []bool) {
	for i, p := range a.prefix {
		if !live[p] && (a.max < 0 || int(a.max) > i) {
			a.max = int32(i)
		}
	}
	if a.rest >= 0 && !live[a.rest] && (a.max < 0 || int(a.max) > len(a.prefix)) {
		a.max = int32(len(a.prefix))
	}
	kept := a.variants[:0]
	for _, v := range a.variants {
		if live[v.value] {
			kept = append(kept, v)
		}
	}
	a.variants = kept
	if a.max >= 0 {
		a.sat = a.max
	}
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
	case opSet:
		return o.emptySet(empty)
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
		case opAlt, opRepeat, opSet:
			for _, k := range o.kids {
				if k >= 0 && !visit(k) {
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
