package grammar

import (
	"errors"
	"slices"
)

// Regular expressions with intersection and complement, evaluated by derivatives (Brzozowski 1964;
// Owens, Reppy and Turon 2009). Equal expressions are the same node, so the states of an automaton
// are compared by identity. The alphabet consists of the Unicode code points and two marks, for the
// begin and the end of the text, which anchors consume.
const (
	runeMax   = rune(0x10ffff)
	markBegin = rune(0x110000)
	markEnd   = rune(0x110001)
)

type rxKind uint8

const (
	rxNone  rxKind = iota // the empty language
	rxEmpty               // the empty text
	rxSet                 // one code point of a set
	rxCat
	rxAlt
	rxAnd
	rxNot
	rxRep // kid, repeated min to max times; max < 0 means no limit
)

type rx struct {
	kind     rxKind
	nullable bool
	id       int32
	kids     []*rx
	set      []span
	min, max int32
}

// span is a range of code points, both ends included.
type span struct{ lo, hi rune }

// rxPool creates expressions. Within one pool, equal expressions are identical.
type rxPool struct {
	byKey map[string]*rx
	sets  []*rx
	none  *rx
	empty *rx
	all   *rx // any text, without marks
	fuel  int // number of nodes that may still be created
	steps int // number of derivatives that may still be taken
}

var errRxSize = errors.New("pattern is too complex")

const (
	rxFuel  = 60_000
	rxSteps = 2_000_000
)

func newRxPool() *rxPool {
	p := &rxPool{byKey: map[string]*rx{}, fuel: rxFuel, steps: rxSteps}
	p.none = p.make(rx{kind: rxNone})
	p.empty = p.make(rx{kind: rxEmpty, nullable: true})
	p.all = p.rep(p.class(span{0, runeMax}), 0, -1)
	return p
}

func (p *rxPool) make(x rx) *rx {
	buf := make([]byte, 0, 64)
	buf = append(buf, byte(x.kind))
	put := func(n int32) { buf = append(buf, byte(n), byte(n>>8), byte(n>>16), byte(n>>24)) }
	put(x.min)
	put(x.max)
	for _, k := range x.kids {
		put(k.id)
	}
	for _, s := range x.set {
		put(int32(s.lo))
		put(int32(s.hi))
	}
	if old, ok := p.byKey[string(buf)]; ok {
		return old
	}
	p.fuel--
	n := &x
	n.id = int32(len(p.byKey))
	p.byKey[string(buf)] = n
	if n.kind == rxSet {
		p.sets = append(p.sets, n)
	}
	return n
}

// class returns the expression for one code point of the spans.
func (p *rxPool) class(spans ...span) *rx {
	s := normalise(spans)
	if len(s) == 0 {
		return p.none
	}
	return p.make(rx{kind: rxSet, set: s})
}

// normalise sorts spans and merges adjacent ones.
func normalise(spans []span) []span {
	s := slices.Clone(spans)
	slices.SortFunc(s, func(a, b span) int { return int(a.lo - b.lo) })
	out := s[:0]
	for _, x := range s {
		if x.lo > x.hi {
			continue
		}
		if n := len(out); n > 0 && x.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, x.hi)
			continue
		}
		out = append(out, x)
	}
	return out
}

// outside returns the code points not in spans.
func outside(spans []span) []span {
	var out []span
	next := rune(0)
	for _, s := range normalise(spans) {
		if s.lo > next {
			out = append(out, span{next, s.lo - 1})
		}
		next = s.hi + 1
	}
	if next <= runeMax {
		out = append(out, span{next, runeMax})
	}
	return out
}

func (p *rxPool) cat(xs ...*rx) *rx {
	out := p.empty
	for i := len(xs) - 1; i >= 0; i-- {
		out = p.cat2(xs[i], out)
	}
	return out
}

func (p *rxPool) cat2(a, b *rx) *rx {
	switch {
	case a.kind == rxNone || b.kind == rxNone:
		return p.none
	case a.kind == rxEmpty:
		return b
	case b.kind == rxEmpty:
		return a
	case a.kind == rxCat:
		return p.cat2(a.kids[0], p.cat2(a.kids[1], b))
	}
	return p.make(rx{kind: rxCat, nullable: a.nullable && b.nullable, kids: []*rx{a, b}})
}

func byID(a, b *rx) int { return int(a.id - b.id) }

func (p *rxPool) alt(xs ...*rx) *rx {
	kids := make([]*rx, 0, len(xs))
	var set []span
	for _, x := range xs {
		switch x.kind {
		case rxNone:
		case rxAlt:
			for _, k := range x.kids {
				if k.kind == rxSet {
					set = append(set, k.set...)
				} else {
					kids = append(kids, k)
				}
			}
		case rxSet:
			set = append(set, x.set...)
		default:
			kids = append(kids, x)
		}
	}
	if len(set) > 0 {
		kids = append(kids, p.class(set...))
	}
	slices.SortFunc(kids, byID)
	kids = slices.Compact(kids)
	nullable := false
	for _, k := range kids {
		if p.isAll(k) {
			return k
		}
		nullable = nullable || k.nullable
	}
	if nullable && len(kids) > 1 { // the empty text adds nothing to a nullable expression
		kids = slices.DeleteFunc(kids, func(k *rx) bool { return k.kind == rxEmpty && anyOther(kids, k) })
	}
	switch len(kids) {
	case 0:
		return p.none
	case 1:
		return kids[0]
	}
	return p.make(rx{kind: rxAlt, nullable: nullable, kids: kids})
}

func anyOther(kids []*rx, not *rx) bool {
	return slices.ContainsFunc(kids, func(k *rx) bool { return k != not && k.nullable })
}

// isAll reports whether x is the language of all texts, including marks.
func (p *rxPool) isAll(x *rx) bool { return x.kind == rxNot && x.kids[0].kind == rxNone }

func (p *rxPool) and(xs ...*rx) *rx {
	kids := make([]*rx, 0, len(xs))
	for _, x := range xs {
		switch {
		case x.kind == rxNone:
			return p.none
		case p.isAll(x):
		case x.kind == rxAnd:
			kids = append(kids, x.kids...)
		default:
			kids = append(kids, x)
		}
	}
	slices.SortFunc(kids, byID)
	kids = slices.Compact(kids)
	switch len(kids) {
	case 0:
		return p.not(p.none)
	case 1:
		return kids[0]
	}
	nullable := true
	for _, k := range kids {
		nullable = nullable && k.nullable
	}
	for _, k := range kids {
		if k.kind == rxEmpty {
			if nullable {
				return p.empty
			}
			return p.none
		}
	}
	return p.make(rx{kind: rxAnd, nullable: nullable, kids: kids})
}

func (p *rxPool) not(x *rx) *rx {
	if x.kind == rxNot {
		return x.kids[0]
	}
	return p.make(rx{kind: rxNot, nullable: !x.nullable, kids: []*rx{x}})
}

func (p *rxPool) rep(x *rx, lo, hi int32) *rx {
	if x.nullable {
		lo = 0
	}
	switch {
	case hi == 0 || x.kind == rxEmpty:
		return p.empty
	case x.kind == rxNone:
		if lo == 0 {
			return p.empty
		}
		return p.none
	case lo == 1 && hi == 1:
		return x
	case x.kind == rxRep && x.min == 0 && x.max < 0:
		return x
	}
	return p.make(rx{kind: rxRep, nullable: lo == 0, kids: []*rx{x}, min: lo, max: hi})
}

// text returns the expression for exactly this text.
func (p *rxPool) text(s string) *rx {
	xs := make([]*rx, 0, len(s))
	for _, r := range s {
		xs = append(xs, p.class(span{r, r}))
	}
	return p.cat(xs...)
}

// derive returns the expression of the texts that may follow after code point r.
func (p *rxPool) derive(x *rx, r rune, memo map[*rx]*rx) *rx {
	switch x.kind {
	case rxNone, rxEmpty:
		return p.none
	case rxSet:
		if inSpans(x.set, r) {
			return p.empty
		}
		return p.none
	}
	if d, ok := memo[x]; ok {
		return d
	}
	p.steps -= 1 + len(x.kids)
	var d *rx
	switch x.kind {
	case rxCat:
		d = p.cat2(p.derive(x.kids[0], r, memo), x.kids[1])
		if x.kids[0].nullable {
			d = p.alt(d, p.derive(x.kids[1], r, memo))
		}
	case rxAlt, rxAnd:
		kids := make([]*rx, len(x.kids))
		for i, k := range x.kids {
			kids[i] = p.derive(k, r, memo)
		}
		if x.kind == rxAlt {
			d = p.alt(kids...)
		} else {
			d = p.and(kids...)
		}
	case rxNot:
		d = p.not(p.derive(x.kids[0], r, memo))
	case rxRep:
		hi := x.max
		if hi > 0 {
			hi--
		}
		d = p.cat2(p.derive(x.kids[0], r, memo), p.rep(x.kids[0], max(x.min-1, 0), hi))
	}
	memo[x] = d
	return d
}

func inSpans(set []span, r rune) bool {
	_, ok := slices.BinarySearchFunc(set, r, func(s span, r rune) int {
		switch {
		case s.hi < r:
			return -1
		case s.lo > r:
			return 1
		}
		return 0
	})
	return ok
}
