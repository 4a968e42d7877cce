package grammar

import (
	"errors"
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// The dialect of patterns is that of ECMA-262 with the u flag, as JSON Schema asks: classes, groups, alternation, greedy
// and lazy repetition, anchors, \d \w \s and their complements, \p{...}, \u and \x escapes, and lookahead outside
// repetitions. Lookbehind, word boundaries and references to groups are refused.

// reNode is the syntax tree of a pattern.
type reNode struct {
	kind     reKind
	set      []span
	kids     []*reNode
	min, max int
	not      bool // negative lookahead
	looks    bool // holds a lookahead
}

type reKind uint8

const (
	reSet reKind = iota
	reCat
	reAlt
	reRep
	reBegin
	reEnd
	reLook
)

const maxPattern = 1 << 16

// compilePattern compiles a pattern to an automaton over the text. whole says that the pattern must match the text as a
// whole; otherwise a match anywhere in it will do.
func compilePattern(pattern string, whole bool) (*dfa, error) {
	p := newRxPool()
	x, err := p.pattern(pattern, whole)
	if err != nil {
		return nil, err
	}
	return p.automaton(x)
}

// pattern returns the expression of the texts, with marks, that the pattern matches.
func (p *rxPool) pattern(pattern string, whole bool) (*rx, error) {
	ps := &reParser{src: pattern}
	n, err := ps.parse()
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", clip(pattern), err)
	}
	begin, end := p.class(span{markBegin, markBegin}), p.class(span{markEnd, markEnd})
	if whole {
		// Anchors may stand at the ends of a whole pattern as well: the marks are consumed by them or beside them.
		return p.cat(p.alt(begin, p.empty), p.regex(n, p.alt(end, p.empty))), p.spent()
	}
	after := p.alt(p.empty, p.cat(p.all, end))
	return p.cat(p.alt(p.empty, p.cat(begin, p.all)), p.regex(n, after)), p.spent()
}

func (p *rxPool) spent() error {
	if p.fuel < 0 {
		return errRxSize
	}
	return nil
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// regex returns the expression of n followed by rest. Lookaheads need the rest; anything else is made once and put
// before it.
func (p *rxPool) regex(n *reNode, rest *rx) *rx {
	if !n.looks {
		return p.cat2(p.simple(n), rest)
	}
	switch n.kind {
	case reCat:
		for i := len(n.kids) - 1; i >= 0; i-- {
			rest = p.regex(n.kids[i], rest)
		}
		return rest
	case reAlt:
		xs := make([]*rx, len(n.kids))
		for i, k := range n.kids {
			xs[i] = p.regex(k, rest)
		}
		return p.alt(xs...)
	}
	look := p.regex(n.kids[0], p.rep(p.class(span{0, markEnd}), 0, -1))
	if n.not {
		look = p.not(look)
	}
	return p.and(look, rest)
}

func (p *rxPool) simple(n *reNode) *rx {
	switch n.kind {
	case reSet:
		return p.class(n.set...)
	case reBegin:
		return p.class(span{markBegin, markBegin})
	case reEnd:
		return p.class(span{markEnd, markEnd})
	case reRep:
		return p.rep(p.simple(n.kids[0]), int32(n.min), int32(n.max))
	}
	xs := make([]*rx, len(n.kids))
	for i, k := range n.kids {
		xs[i] = p.simple(k)
	}
	if n.kind == reAlt {
		return p.alt(xs...)
	}
	return p.cat(xs...)
}

type reParser struct {
	src   string
	pos   int
	depth int
}

func (ps *reParser) parse() (*reNode, error) {
	if len(ps.src) > maxPattern {
		return nil, errors.New("too long")
	}
	if !utf8.ValidString(ps.src) {
		return nil, errors.New("not valid UTF-8")
	}
	n, err := ps.alternation()
	if err == nil && ps.pos < len(ps.src) {
		err = errors.New("unmatched )")
	}
	return n, err
}

func (ps *reParser) peek() byte {
	if ps.pos < len(ps.src) {
		return ps.src[ps.pos]
	}
	return 0
}

func (ps *reParser) more() bool { return ps.pos < len(ps.src) }

func (ps *reParser) accept(s string) bool {
	if len(ps.src)-ps.pos >= len(s) && ps.src[ps.pos:ps.pos+len(s)] == s {
		ps.pos += len(s)
		return true
	}
	return false
}

func (ps *reParser) alternation() (*reNode, error) {
	if ps.depth++; ps.depth > 200 {
		return nil, errors.New("nested too deeply")
	}
	defer func() { ps.depth-- }()
	alt := &reNode{kind: reAlt}
	for {
		cat := &reNode{kind: reCat}
		for ps.more() && ps.peek() != '|' && ps.peek() != ')' {
			k, err := ps.term()
			if err != nil {
				return nil, err
			}
			cat.kids = append(cat.kids, k)
			cat.looks = cat.looks || k.looks
		}
		alt.kids = append(alt.kids, cat)
		alt.looks = alt.looks || cat.looks
		if !ps.accept("|") {
			break
		}
	}
	if len(alt.kids) == 1 {
		return alt.kids[0], nil
	}
	return alt, nil
}

func (ps *reParser) term() (*reNode, error) {
	n, err := ps.atom()
	if err != nil {
		return nil, err
	}
	for ps.more() {
		lo, hi, ok, err := ps.quantifier()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if n.looks {
			return nil, errors.New("lookahead inside a repetition is not supported")
		}
		if n.kind == reBegin || n.kind == reEnd {
			return nil, errors.New("an anchor cannot be repeated")
		}
		ps.accept("?") // lazy: the same language
		n = &reNode{kind: reRep, kids: []*reNode{n}, min: lo, max: hi}
	}
	return n, nil
}

const maxCount = 20_000

func (ps *reParser) quantifier() (lo, hi int, ok bool, err error) {
	switch ps.peek() {
	case '*':
		ps.pos++
		return 0, -1, true, nil
	case '+':
		ps.pos++
		return 1, -1, true, nil
	case '?':
		ps.pos++
		return 0, 1, true, nil
	case '{':
	default:
		return 0, 0, false, nil
	}
	start := ps.pos
	ps.pos++
	lo, ok = ps.number()
	hi = lo
	if ok && ps.accept(",") {
		hi = -1
		if n, more := ps.number(); more {
			hi = n
		}
	}
	if !ok || !ps.accept("}") {
		ps.pos = start
		return 0, 0, false, nil // a brace that counts nothing is itself
	}
	if hi >= 0 && hi < lo {
		return 0, 0, false, errors.New("repetition with its limits out of order")
	}
	if lo > maxCount || hi > maxCount {
		return 0, 0, false, fmt.Errorf("repetition of more than %d times", maxCount)
	}
	return lo, hi, true, nil
}

func (ps *reParser) number() (int, bool) {
	start := ps.pos
	for ps.more() && ps.peek() >= '0' && ps.peek() <= '9' {
		ps.pos++
	}
	if start == ps.pos {
		return 0, false
	}
	n, err := strconv.Atoi(ps.src[start:ps.pos])
	if err != nil {
		n = maxCount + 1
	}
	return n, true
}

func (ps *reParser) rune() rune {
	r, n := utf8.DecodeRuneInString(ps.src[ps.pos:])
	ps.pos += n
	return r
}

func (ps *reParser) atom() (*reNode, error) {
	switch r := ps.rune(); r {
	case '^':
		return &reNode{kind: reBegin}, nil
	case '$':
		return &reNode{kind: reEnd}, nil
	case '.':
		return &reNode{set: outside([]span{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}})}, nil
	case '(':
		return ps.group()
	case '[':
		set, err := ps.class()
		return &reNode{set: set}, err
	case '\\':
		set, err := ps.escape(false)
		return &reNode{set: set}, err
	case '*', '+', '?':
		return nil, errors.New("nothing to repeat")
	default:
		return &reNode{set: []span{{r, r}}}, nil
	}
}

func (ps *reParser) group() (*reNode, error) {
	look, not := false, false
	switch {
	case ps.accept("?:"):
	case ps.accept("?="):
		look = true
	case ps.accept("?!"):
		look, not = true, true
	case ps.accept("?<=") || ps.accept("?<!"):
		return nil, errors.New("lookbehind is not supported")
	case ps.accept("?<") || ps.accept("?P<"):
		for ps.more() && ps.peek() != '>' {
			ps.pos++
		}
		if !ps.accept(">") {
			return nil, errors.New("group name without >")
		}
	case ps.peek() == '?':
		return nil, errors.New("unknown kind of group")
	}
	n, err := ps.alternation()
	if err != nil {
		return nil, err
	}
	if !ps.accept(")") {
		return nil, errors.New("missing )")
	}
	if look {
		n = &reNode{kind: reLook, kids: []*reNode{n}, not: not, looks: true}
	}
	return n, nil
}

func (ps *reParser) class() ([]span, error) {
	neg := ps.accept("^")
	var set []span
	for {
		if !ps.more() {
			return nil, errors.New("missing ]")
		}
		if ps.accept("]") {
			break
		}
		lo, err := ps.classAtom()
		if err != nil {
			return nil, err
		}
		if ps.peek() == '-' && ps.pos+1 < len(ps.src) && ps.src[ps.pos+1] != ']' && single(lo) {
			save := ps.pos
			ps.pos++
			hi, err := ps.classAtom()
			if err != nil {
				return nil, err
			}
			if single(hi) {
				if hi[0].lo < lo[0].lo {
					return nil, errors.New("range out of order")
				}
				lo = []span{{lo[0].lo, hi[0].lo}}
			} else {
				ps.pos = save // as in [a-\d]: the dash is itself
			}
		}
		set = append(set, lo...)
	}
	if neg {
		return outside(set), nil
	}
	return normalise(set), nil
}

func single(s []span) bool { return len(s) == 1 && s[0].lo == s[0].hi }

func (ps *reParser) classAtom() ([]span, error) {
	r := ps.rune()
	if r == '\\' {
		return ps.escape(true)
	}
	return []span{{r, r}}, nil
}

var (
	digits = []span{{'0', '9'}}
	words  = []span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaces = []span{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
		{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}}
)

func (ps *reParser) escape(inClass bool) ([]span, error) {
	if !ps.more() {
		return nil, errors.New("pattern ends with a backslash")
	}
	one := func(r rune) ([]span, error) { return []span{{r, r}}, nil }
	switch r := ps.rune(); r {
	case 'd':
		return digits, nil
	case 'D':
		return outside(digits), nil
	case 'w':
		return words, nil
	case 'W':
		return outside(words), nil
	case 's':
		return spaces, nil
	case 'S':
		return outside(spaces), nil
	case 't':
		return one('\t')
	case 'n':
		return one('\n')
	case 'r':
		return one('\r')
	case 'f':
		return one('\f')
	case 'v':
		return one('\v')
	case '0':
		return one(0)
	case 'b':
		if inClass {
			return one('\b')
		}
		return nil, errors.New(`word boundary \b is not supported`)
	case 'B':
		return nil, errors.New(`\B is not supported`)
	case 'x':
		return ps.hexRune(2)
	case 'u':
		if ps.accept("{") {
			start := ps.pos
			for ps.more() && ps.peek() != '}' {
				ps.pos++
			}
			n, err := strconv.ParseUint(ps.src[start:ps.pos], 16, 32)
			if err != nil || !ps.accept("}") || rune(n) > runeMax {
				return nil, errors.New(`bad \u{...}`)
			}
			return one(rune(n))
		}
		return ps.hexRune(4)
	case 'c':
		if l := ps.peek(); l >= 'a' && l <= 'z' || l >= 'A' && l <= 'Z' {
			ps.pos++
			return one(rune(l & 31))
		}
		return nil, errors.New(`bad \c`)
	case 'p', 'P':
		return ps.property(r == 'P')
	default:
		if r >= '1' && r <= '9' {
			return nil, errors.New("a reference to a group is not supported")
		}
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return nil, fmt.Errorf(`unknown escape \%c`, r)
		}
		return one(r)
	}
}

func (ps *reParser) hexRune(n int) ([]span, error) {
	if ps.pos+n > len(ps.src) {
		return nil, errors.New("hexadecimal escape is too short")
	}
	v, err := strconv.ParseUint(ps.src[ps.pos:ps.pos+n], 16, 32)
	if err != nil {
		return nil, errors.New("bad hexadecimal escape")
	}
	ps.pos += n
	r := rune(v)
	if r >= 0xd800 && r <= 0xdbff && ps.accept(`\u`) {
		low, err := ps.hexRune(4)
		if err != nil || low[0].lo < 0xdc00 || low[0].lo > 0xdfff {
			return nil, errors.New("half of a surrogate pair")
		}
		r = pair(r, low[0].lo)
	}
	return []span{{r, r}}, nil
}

// property reads the rest of \p{Name} or \p{Key=Name}.
func (ps *reParser) property(neg bool) ([]span, error) {
	var name string
	if ps.accept("{") {
		start := ps.pos
		for ps.more() && ps.peek() != '}' {
			ps.pos++
		}
		name = ps.src[start:ps.pos]
		if !ps.accept("}") {
			return nil, errors.New(`\p without }`)
		}
	} else if ps.more() {
		name = string(ps.rune())
	}
	table := unicodeTable(name)
	if table == nil {
		return nil, fmt.Errorf(`unknown property \p{%s}`, clip(name))
	}
	var set []span
	for _, r := range table.R16 {
		set = appendRange(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		set = appendRange(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	if neg {
		return outside(set), nil
	}
	return normalise(set), nil
}

func appendRange(set []span, lo, hi, stride rune) []span {
	if stride == 1 {
		return append(set, span{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		set = append(set, span{r, r})
	}
	return set
}

var longCategories = map[string]string{
	"Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Mark": "M", "Number": "N", "Decimal_Number": "Nd",
	"Punctuation": "P", "Symbol": "S", "Separator": "Z", "Space_Separator": "Zs", "Other": "C", "Control": "Cc",
	"digit": "Nd", "punct": "P", "Alphabetic": "L",
}

func unicodeTable(name string) *unicode.RangeTable {
	for _, key := range []string{"General_Category=", "gc=", "Script=", "sc=", "Script_Extensions=", "scx="} {
		if len(name) > len(key) && name[:len(key)] == key {
			name = name[len(key):]
			break
		}
	}
	if short, ok := longCategories[name]; ok {
		name = short
	}
	if t, ok := unicode.Categories[name]; ok {
		return t
	}
	if t, ok := unicode.Scripts[name]; ok {
		return t
	}
	return unicode.Properties[name]
}
