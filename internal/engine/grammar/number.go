package grammar

import (
	"fmt"
	"math/big"
	"strings"
)

// numC is the set of the numbers that meet all its conditions.
type numC struct {
	integer bool
	notInt  bool
	lo, hi  *bound
	mults   []multiple
	not     []*big.Rat // values that are excluded
	vals    []numVal   // if not nil, the set has only these values, all of which meet the other conditions
}

// numVal is a number with its spelling in the schema.
type numVal struct {
	v    *big.Rat
	text string
}

type bound struct {
	v    *big.Rat
	open bool // the value itself is excluded
}

// multiple requires a number to be (or not to be) a multiple of v.
type multiple struct {
	v   *big.Rat
	not bool
}

// and returns the intersection of two sets; nil is the empty set.
func (a *numC) and(b *numC) *numC {
	c := &numC{integer: a.integer || b.integer, notInt: a.notInt || b.notInt, lo: a.lo, hi: a.hi}
	if c.integer && c.notInt {
		return nil
	}
	if b.lo != nil && (c.lo == nil || tighter(b.lo, c.lo, 1)) {
		c.lo = b.lo
	}
	if b.hi != nil && (c.hi == nil || tighter(b.hi, c.hi, -1)) {
		c.hi = b.hi
	}
	if c.lo != nil && c.hi != nil {
		if d := c.lo.v.Cmp(c.hi.v); d > 0 || d == 0 && (c.lo.open || c.hi.open) {
			return nil
		}
	}
	c.mults = append(append(c.mults, a.mults...), b.mults...)
	c.not = append(append(c.not, a.not...), b.not...)
	vals := a.vals
	if vals == nil || b.vals != nil && len(b.vals) < len(vals) {
		vals = b.vals
	}
	if vals == nil {
		return c
	}
	c.vals = []numVal{}
	for _, v := range vals {
		if c.has(v.v) && (a.vals == nil || b.vals == nil || listed(a.vals, v.v) && listed(b.vals, v.v)) {
			c.vals = append(c.vals, v)
		}
	}
	if len(c.vals) == 0 {
		return nil
	}
	return c
}

func listed(vals []numVal, v *big.Rat) bool {
	for _, x := range vals {
		if x.v.Cmp(v) == 0 {
			return true
		}
	}
	return false
}

func tighter(a, b *bound, sign int) bool {
	d := a.v.Cmp(b.v) * sign
	return d > 0 || d == 0 && a.open && !b.open
}

// has reports whether v meets the conditions, ignoring the list of values.
func (a *numC) has(v *big.Rat) bool {
	if a.integer && !v.IsInt() || a.notInt && v.IsInt() {
		return false
	}
	if a.lo != nil {
		if d := v.Cmp(a.lo.v); d < 0 || d == 0 && a.lo.open {
			return false
		}
	}
	if a.hi != nil {
		if d := v.Cmp(a.hi.v); d > 0 || d == 0 && a.hi.open {
			return false
		}
	}
	for _, m := range a.mults {
		if new(big.Rat).Quo(v, m.v).IsInt() == m.not {
			return false
		}
	}
	for _, n := range a.not {
		if n.Cmp(v) == 0 {
			return false
		}
	}
	return true
}

// complement returns sets that together contain every number not in a.
func (a *numC) complement() []*numC {
	if a.vals != nil {
		c := &numC{}
		for _, v := range a.vals {
			c.not = append(c.not, v.v)
		}
		return []*numC{c}
	}
	var out []*numC
	if a.integer {
		out = append(out, &numC{notInt: true})
	}
	if a.notInt {
		out = append(out, &numC{integer: true})
	}
	if a.lo != nil {
		out = append(out, &numC{hi: &bound{a.lo.v, !a.lo.open}})
	}
	if a.hi != nil {
		out = append(out, &numC{lo: &bound{a.hi.v, !a.hi.open}})
	}
	for _, m := range a.mults {
		out = append(out, &numC{mults: []multiple{{m.v, !m.not}}})
	}
	for _, v := range a.not {
		out = append(out, &numC{vals: []numVal{{v, v.RatString()}}})
	}
	return out
}

// free reports whether the set contains all numbers, or all integers.
func (a *numC) free() bool {
	return a.lo == nil && a.hi == nil && len(a.mults) == 0 && len(a.not) == 0 && !a.notInt
}

func (a *numC) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "num %v %v", a.integer, a.notInt)
	if a.lo != nil {
		fmt.Fprintf(&b, " >%v %s", a.lo.open, a.lo.v.RatString())
	}
	if a.hi != nil {
		fmt.Fprintf(&b, " <%v %s", a.hi.open, a.hi.v.RatString())
	}
	for _, m := range a.mults {
		fmt.Fprintf(&b, " *%v %s", m.not, m.v.RatString())
	}
	for _, n := range a.not {
		fmt.Fprintf(&b, " -%s", n.RatString())
	}
	for _, v := range a.vals {
		fmt.Fprintf(&b, " =%s", v.text)
	}
	return b.String()
}

// automaton returns the DFA of the spellings of the set. If there is any condition other than being
// an integer, exponents are not allowed, since the DFA of a range in scientific notation would be
// too large.
func (a *numC) automaton() (*dfa, error) {
	if a.free() { // bounded, so that a model cannot write digits forever and any parser can read the exponent
		if a.integer {
			return compilePattern(`-?(0|[1-9][0-9]{0,39})`, true)
		}
		return compilePattern(`-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][+-]?([0-9]{1,2}|[12][0-9]{2}))?`, true)
	}
	pos, err := newMagnitude(a, false)
	if err != nil {
		return nil, err
	}
	neg, err := newMagnitude(a, true)
	if err != nil {
		return nil, err
	}
	return explore(pos, neg)
}

// list returns the spellings of a finite set: as in the schema, in the shortest form, and for whole
// numbers also with a fraction of zero.
func (a *numC) list() []string {
	var texts []string
	for _, v := range a.vals {
		if strings.IndexByte(v.text, '/') < 0 {
			texts = append(texts, v.text)
		}
		if v.v.IsInt() {
			texts = append(texts, v.v.RatString())
			if !a.integer {
				texts = append(texts, v.v.RatString()+".0")
			}
			continue
		}
		if n, exact := v.v.FloatPrec(); exact {
			texts = append(texts, v.v.FloatString(n))
		}
	}
	return texts
}

// magnitude reads the digits of a number without its sign and compares them with several decimals
// at the same time.
type magnitude struct {
	frac     bool // fractions may be written
	needFrac bool // the fraction must contain a digit other than 0
	never    bool
	refs     []reference
	mults    []residue
	maxInt   int // number of digits of the longest whole part of a reference
	maxFrac  int
}

// reference is a decimal to compare with, and the accepted outcomes of the comparison.
type reference struct {
	whole, frac      string
	less, same, more bool
}

type residue struct {
	mod   int64
	scale int // significant digits after the point
	not   bool
}

const maxModulus = 5000

func newMagnitude(a *numC, neg bool) (*magnitude, error) {
	m := &magnitude{frac: !a.integer, needFrac: a.notInt}
	lo, hi := a.lo, a.hi
	if neg {
		lo, hi = negate(a.hi), negate(a.lo)
	}
	if hi != nil && hi.v.Sign() < 0 {
		m.never = true
	}
	if lo != nil && lo.v.Sign() >= 0 {
		m.refs = append(m.refs, newReference(lo.v, false, !lo.open, true))
	}
	if hi != nil && hi.v.Sign() >= 0 {
		m.refs = append(m.refs, newReference(hi.v, true, !hi.open, false))
	}
	for _, v := range a.not {
		if neg {
			v = new(big.Rat).Neg(v)
		}
		if v.Sign() >= 0 {
			m.refs = append(m.refs, newReference(v, true, false, true))
		}
	}
	for _, r := range m.refs {
		m.maxInt = max(m.maxInt, len(r.whole))
		m.maxFrac = max(m.maxFrac, len(r.frac))
	}
	for _, x := range a.mults {
		n, exact := x.v.FloatPrec()
		scaled := new(big.Rat).Mul(x.v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)))
		if !exact || !scaled.IsInt() || !scaled.Num().IsInt64() || scaled.Num().Int64() > maxModulus || scaled.Sign() <= 0 {
			return nil, fmt.Errorf("multiples of %s need too large an automaton (up to %d is possible)", x.v.RatString(), maxModulus)
		}
		m.mults = append(m.mults, residue{scaled.Num().Int64(), n, x.not})
		m.maxFrac = max(m.maxFrac, n)
	}
	return m, nil
}

func negate(b *bound) *bound {
	if b == nil {
		return nil
	}
	return &bound{new(big.Rat).Neg(b.v), b.open}
}

func newReference(v *big.Rat, less, same, more bool) reference {
	n, _ := v.FloatPrec()
	whole, frac, _ := strings.Cut(v.FloatString(n), ".")
	return reference{whole, frac, less, same, more}
}

// magState summarises the digits read so far.
type magState struct {
	phase   int // 0 nothing yet, 1 a single zero, 2 whole digits, 3 the point, 4 fraction digits
	n       int
	nonzero bool // the fraction contains a digit other than 0; only with needFrac
	cmp     string
	res     string
}

func (m *magnitude) begin() magState {
	return magState{cmp: strings.Repeat("=", len(m.refs)), res: string(make([]rune, 2*len(m.mults)))}
}

// digit returns the state after a digit.
func (m *magnitude) digit(s magState, d byte) (magState, bool) {
	switch s.phase {
	case 0:
		s.phase = 2
		if d == '0' {
			s.phase = 1
		}
	case 1:
		return s, false
	case 3:
		s.phase, s.n = 4, 0
	}
	cmp := []byte(s.cmp)
	for i, r := range m.refs {
		digits := r.whole
		if s.phase == 4 {
			digits = r.frac
		}
		want := byte('0')
		if s.n < len(digits) {
			want = digits[s.n]
		} else if s.phase != 4 {
			continue // the number is longer than the reference, which is decided at the point
		}
		if cmp[i] == '=' && d != want {
			cmp[i] = '<'
			if d > want {
				cmp[i] = '>'
			}
		}
	}
	s.cmp = string(cmp)
	res := []rune(s.res)
	for i, r := range m.mults {
		switch {
		case s.phase != 4 || s.n < r.scale:
			res[2*i] = rune((int64(res[2*i])*10 + int64(d-'0')) % r.mod)
		case d != '0':
			res[2*i+1] = 1 // there are digits beyond the scale, so it is not a multiple
		}
	}
	s.res = string(res)
	s.nonzero = s.nonzero || m.needFrac && s.phase == 4 && d != '0'
	if s.phase == 4 {
		s.n = min(s.n+1, m.maxFrac)
	} else {
		s.n = min(s.n+1, m.maxInt+1)
	}
	return s, true
}

// whole decides the comparisons at the end of the whole part.
func (m *magnitude) whole(s magState) magState {
	cmp := []byte(s.cmp)
	for i, r := range m.refs {
		switch {
		case s.n < len(r.whole):
			cmp[i] = '<'
		case s.n > len(r.whole):
			cmp[i] = '>'
		}
	}
	s.cmp = string(cmp)
	return s
}

// accepts reports whether the number may end here.
func (m *magnitude) accepts(s magState) bool {
	if m.never || s.phase == 0 || s.phase == 3 || m.needFrac && !s.nonzero {
		return false
	}
	read := 0
	if s.phase == 4 {
		read = s.n
	} else {
		s = m.whole(s)
	}
	for i, r := range m.refs {
		c := s.cmp[i]
		if c == '=' && strings.Trim(r.frac[min(read, len(r.frac)):], "0") != "" {
			c = '<'
		}
		if c == '<' && !r.less || c == '=' && !r.same || c == '>' && !r.more {
			return false
		}
	}
	res := []rune(s.res)
	for i, r := range m.mults {
		v := int64(res[2*i])
		for range max(r.scale-read, 0) {
			v = v * 10 % r.mod
		}
		if (v == 0 && res[2*i+1] == 0) == r.not {
			return false
		}
	}
	return true
}

// explore builds the DFA of an optional minus sign followed by one of two magnitudes.
func explore(pos, neg *magnitude) (*dfa, error) {
	sets := [][]span{{{'-', '-'}}, {{'.', '.'}}}
	for d := '0'; d <= '9'; d++ {
		sets = append(sets, []span{{d, d}})
	}
	alpha := newAlphabet(sets)
	d := &dfa{alpha: alpha, k: len(alpha.reps)}
	type state struct {
		neg bool
		s   magState
	}
	ids := map[state]int32{}
	var queue []state
	intern := func(s state) int32 {
		id, ok := ids[s]
		if !ok {
			id = int32(len(queue))
			ids[s] = id
			queue = append(queue, s)
		}
		return id
	}
	intern(state{false, pos.begin()})
	for n := 0; n < len(queue); n++ {
		q := queue[n]
		m := pos
		if q.neg {
			m = neg
		}
		lab := int32(-1)
		if m.accepts(q.s) {
			lab = 0
		}
		d.labels = append(d.labels, lab)
		for _, r := range alpha.reps {
			t := int32(-1)
			switch {
			case r == '-' && n == 0:
				t = intern(state{true, neg.begin()})
			case r == '.' && m.frac && (q.s.phase == 1 || q.s.phase == 2):
				s := m.whole(q.s)
				s.phase, s.n = 3, 0
				t = intern(state{q.neg, s})
			case r >= '0' && r <= '9':
				if s, ok := m.digit(q.s, byte(r)); ok {
					t = intern(state{q.neg, s})
				}
			}
			d.next = append(d.next, t)
		}
		if len(queue) > maxDFAStates {
			return nil, errRxSize
		}
	}
	d.trim()
	return d, nil
}
