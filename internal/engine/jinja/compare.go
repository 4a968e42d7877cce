package jinja

import (
	"cmp"
	"math"
	"math/big"
)

// comparer compares values up to a nesting depth and a number of steps. Without these limits,
// comparing values that contain the same parts many times could take exponential time.
type comparer struct {
	steps int
	err   error
}

const compareSteps = 1 << 22

var errCompare = limitError("comparison of two values takes more than %d steps", compareSteps)

// equal is Python's ==.
func (r *run) equal(a, b Value) (bool, error) {
	c := comparer{steps: compareSteps}
	eq := c.equal(a, b, 0)
	return eq, r.spent(&c)
}

// spent charges the fuel for a comparison and returns any error.
func (r *run) spent(c *comparer) error {
	if c.err != nil {
		return c.err
	}
	return r.step((compareSteps - c.steps) / 4)
}

func (c *comparer) spend(depth int) bool {
	if c.steps--; c.steps < 0 {
		c.err = errCompare
	}
	if depth > maxValueDepth {
		c.err = errValueDepth
	}
	return c.err == nil
}

func (c *comparer) equal(a, b Value, depth int) bool {
	if !c.spend(depth) {
		return false
	}
	if s, ok := text(a); ok {
		t, ok := text(b)
		c.steps -= min(len(s), len(t)) / 64
		return ok && s == t
	}
	if isNumber(a) || isNumber(b) {
		o, ok := compareNumbers(a, b)
		return ok && o == 0
	}
	switch x := a.(type) {
	case *List:
		y, ok := b.(*List)
		return ok && (x == y || c.equalItems(x.Items, y.Items, depth))
	case *tuple:
		y, ok := b.(*tuple)
		return ok && (x == y || c.equalItems(x.items, y.items, depth))
	case *Dict:
		y, ok := b.(*Dict)
		return ok && (x == y || c.equalDicts(x, y, depth))
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	case *rangeValue:
		y, ok := b.(*rangeValue)
		return ok && x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step))
	case *dictView:
		y, ok := b.(*dictView)
		return ok && (x == y || x.kind == y.kind && x.kind != 'v' && c.equalViews(x, y, depth))
	}
	return a == b
}

func (c *comparer) equalItems(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !c.equal(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func (c *comparer) equalDicts(a, b *Dict, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	for _, e := range a.entries {
		i := b.find(e.hash)
		if i < 0 || !c.equal(e.value, b.entries[i].value, depth+1) {
			return false
		}
	}
	return true
}

// equalViews compares keys or items as sets.
func (c *comparer) equalViews(a, b *dictView, depth int) bool {
	if a.kind == 'i' {
		return c.equalDicts(a.d, b.d, depth)
	}
	if a.d.Len() != b.d.Len() {
		return false
	}
	for _, e := range a.d.entries {
		if b.d.find(e.hash) < 0 {
			return false
		}
	}
	return true
}

// compareNumbers orders two numbers of any kinds; the result ok is false if one is NaN or not a
// number.
func compareNumbers(a, b Value) (int, bool) {
	x, ok1 := intValue(a)
	y, ok2 := intValue(b)
	if ok1 && ok2 {
		return cmp.Compare(x, y), true
	}
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	if bx, ok := bigOf(a); ok {
		if by, ok := bigOf(b); ok {
			return bx.Cmp(by), true
		}
	}
	fa, aFloat := a.(Float)
	fb, bFloat := b.(Float)
	if math.IsNaN(float64(fa)) || math.IsNaN(float64(fb)) {
		return 0, false
	}
	if aFloat && bFloat {
		return cmp.Compare(fa, fb), true
	}
	return exactFloat(a).Cmp(exactFloat(b)), true
}

// exactFloat returns a number without rounding.
func exactFloat(v Value) *big.Float {
	if f, ok := v.(Float); ok {
		return new(big.Float).SetFloat64(float64(f))
	}
	b, _ := bigOf(v)
	return new(big.Float).SetInt(b)
}

// order applies <, <=, > or >=.
func (r *run) order(op operator, a, b Value) (bool, error) {
	c := comparer{steps: compareSteps}
	ok := c.order(op, a, b, 0)
	return ok, r.spent(&c)
}

func (c *comparer) order(op operator, a, b Value, depth int) bool {
	if !c.spend(depth) {
		return false
	}
	if s, ok := text(a); ok {
		if t, ok := text(b); ok {
			c.steps -= min(len(s), len(t)) / 64
			return holds(op, cmp.Compare(s, t))
		}
	}
	if isNumber(a) && isNumber(b) {
		o, ok := compareNumbers(a, b)
		return ok && holds(op, o)
	}
	switch x := a.(type) {
	case *List:
		if y, ok := b.(*List); ok {
			return c.orderItems(op, x.Items, y.Items, depth)
		}
	case *tuple:
		if y, ok := b.(*tuple); ok {
			return c.orderItems(op, x.items, y.items, depth)
		}
	case *undefined:
		c.err = x.err()
		return false
	}
	if u, ok := b.(*undefined); ok {
		c.err = u.err()
		return false
	}
	c.err = typeError("'%s' not supported between instances of %s and %s", op, quoteRepr(a.typeName()), quoteRepr(b.typeName()))
	return false
}

// orderItems compares lexicographically: the first difference decides.
func (c *comparer) orderItems(op operator, a, b []Value, depth int) bool {
	for i := range min(len(a), len(b)) {
		if !c.equal(a[i], b[i], depth+1) {
			if c.err != nil {
				return false
			}
			return c.order(op, a[i], b[i], depth+1)
		}
	}
	return holds(op, cmp.Compare(len(a), len(b)))
}

// holds reports whether an order of -1, 0 or 1 satisfies the operator.
func holds(op operator, o int) bool {
	switch op {
	case opLt:
		return o < 0
	case opLe:
		return o <= 0
	case opGt:
		return o > 0
	}
	return o >= 0
}
