package jinja

import (
	"math/big"
	"strings"
)

// binary applies an arithmetic operator as Python does.
func (r *run) binary(op operator, a, b Value) (Value, error) {
	if s, ok := a.(Str); ok && op == opAdd {
		if t, ok := b.(Str); ok { // the most common case in templates
			if err := r.grow(len(s) + len(t)); err != nil {
				return nil, err
			}
			return s + t, nil
		}
	}
	if isNumber(a) && isNumber(b) {
		return arith(op, a, b)
	}
	if u, ok := a.(*undefined); ok {
		return nil, u.err()
	}
	if s, ok := text(a); ok && op == opMod {
		return r.percent(a, s, b)
	}
	if u, ok := b.(*undefined); ok {
		return nil, u.err()
	}
	switch op {
	case opAdd:
		return r.add(a, b)
	case opMul:
		return r.multiply(a, b)
	}
	return nil, operandError(op, a, b)
}

func operandError(op operator, a, b Value) error {
	return typeError("unsupported operand type(s) for %s: %s and %s", op, quoteRepr(a.typeName()), quoteRepr(b.typeName()))
}

// add joins sequences.
func (r *run) add(a, b Value) (Value, error) {
	switch x := a.(type) {
	case Str, markup:
		return r.addText(a, b)
	case *List:
		if y, ok := b.(*List); ok {
			return r.joinItems(x.Items, y.Items)
		}
		return nil, typeError("can only concatenate list (not %q) to list", b.typeName())
	case *tuple:
		if y, ok := b.(*tuple); ok {
			l, err := r.joinItems(x.items, y.items)
			if err != nil {
				return nil, err
			}
			return &tuple{items: l.Items}, nil
		}
		return nil, typeError("can only concatenate tuple (not %q) to tuple", b.typeName())
	}
	if m, ok := b.(markup); ok {
		return nil, operandError(opAdd, a, m)
	}
	return nil, operandError(opAdd, a, b)
}

func (r *run) joinItems(a, b []Value) (*List, error) {
	if err := r.growItems(len(a) + len(b)); err != nil {
		return nil, err
	}
	items := make([]Value, 0, len(a)+len(b))
	return &List{append(append(items, a...), b...)}, nil
}

// addText joins texts. If one is safe text, the result is safe and the other text is escaped.
func (r *run) addText(a, b Value) (Value, error) {
	s, _ := text(a)
	t, ok := text(b)
	if !ok {
		if _, safe := a.(markup); safe {
			return nil, operandError(opAdd, a, b)
		}
		return nil, typeError("can only concatenate str (not %q) to str", b.typeName())
	}
	_, aSafe := a.(markup)
	_, bSafe := b.(markup)
	if aSafe != bSafe {
		if aSafe {
			t = escapeHTML(t)
		} else {
			s = escapeHTML(s)
		}
	}
	if err := r.grow(len(s) + len(t)); err != nil {
		return nil, err
	}
	if aSafe || bSafe {
		return markup(s + t), nil
	}
	return Str(s + t), nil
}

// multiply repeats sequences.
func (r *run) multiply(a, b Value) (Value, error) {
	if isNumber(a) && !isNumber(b) {
		a, b = b, a
	}
	var items []Value
	s, isText := text(a)
	switch a := a.(type) {
	case *List:
		items = a.Items
	case *tuple:
		items = a.items
	default:
		if !isText {
			return nil, operandError(opMul, a, b)
		}
	}
	n, ok := intValue(b)
	if _, isBig := b.(*bigInt); isBig {
		return nil, &fault{"OverflowError", "cannot fit 'int' into an index-sized integer"}
	}
	if !ok {
		return nil, typeError("can't multiply sequence by non-int of type %s", quoteRepr(b.typeName()))
	}
	n = max(n, 0)
	size := int64(max(len(s), len(items)))
	if size == 0 {
		n = 0
	}
	if size > 0 && n > int64(r.opts.MaxOutput)/size {
		return nil, r.grow(r.opts.MaxOutput + 1)
	}
	if isText {
		return like(a, strings.Repeat(s, int(n))), r.grow(int(n * size))
	}
	if err := r.growItems(int(n * size)); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n*size)
	for range n {
		out = append(out, items...)
	}
	if _, ok := a.(*tuple); ok {
		return &tuple{items: out}, nil
	}
	return &List{out}, nil
}

func negate(v Value) (Value, error) {
	switch v := v.(type) {
	case Float:
		return -v, nil
	case *undefined:
		return nil, v.err()
	}
	b, ok := bigOf(v)
	if !ok {
		return nil, typeError("bad operand type for unary -: %s", quoteRepr(v.typeName()))
	}
	return intOf(new(big.Int).Neg(b)), nil
}

// compare applies a comparison operator.
func (r *run) compare(op operator, a, b Value) (bool, error) {
	switch op {
	case opEq, opNe:
		eq, err := r.equal(a, b)
		return eq == (op == opEq), err
	case opIn, opNotIn:
		in, err := r.contains(b, a)
		return in == (op == opIn), err
	}
	for _, v := range [2]Value{a, b} {
		if u, ok := v.(*undefined); ok {
			return false, u.err()
		}
	}
	return r.order(op, a, b)
}

// contains reports x in v.
func (r *run) contains(v, x Value) (bool, error) {
	switch v := v.(type) {
	case Str, markup:
		s, _ := text(v)
		t, ok := text(x)
		if !ok {
			return false, typeError("'in <string>' requires string as left operand, not %s", x.typeName())
		}
		return strings.Contains(s, t), r.step(len(s) / 64)
	case *Dict:
		_, ok, err := v.getItem(x)
		return ok, err
	case *rangeValue:
		n, ok := intValue(x)
		if f, isF := x.(Float); isF && Float(int64(f)) == f {
			n, ok = int64(f), true
		}
		d := n - v.start
		return ok && d%v.step == 0 && d/v.step >= 0 && d/v.step < v.n, nil
	}
	items, err := r.items(v)
	if err != nil {
		return false, typeError("argument of type %s is not iterable", quoteRepr(v.typeName()))
	}
	for _, y := range items {
		if err := r.step(1); err != nil {
			return false, err
		}
		if eq, err := r.equal(x, y); eq || err != nil {
			return eq, err
		}
	}
	return false, nil
}
