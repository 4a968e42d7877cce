package grammar

// content is a DFA over code points for the contents of a string, before escaping. Every state it
// returns can still reach acceptance; -1 is the dead state.
type content interface {
	start() int32
	step(q int32, r rune) int32
	spans(q int32, lo, hi rune) bool          // whether some rune in [lo,hi] leads to a live state
	accept(q int32) int32                     // label of the match that may end here; -1 means none
	universal(q int32) (label int32, ok bool) // every continuation is accepted with this one label
	total(q int32) bool                       // no continuation reaches the dead state before the end
	literal(q int32) bool                     // from here on, only the canonical spelling of the text is accepted
}

// Kinds of lexer states: the position within the spelling of a code point.
const (
	lexOpen  uint8 = iota // before the opening quote
	lexBase               // between code points
	lexUTF8               // inside a UTF-8 sequence; the field need counts the missing continuation bytes
	lexEsc                // after a backslash
	lexHex                // after \u; the field need counts the missing hex digits
	lexHigh               // after a high surrogate: a backslash must follow
	lexHighU              // after a high surrogate and a backslash: u must follow
	lexLow                // inside the low surrogate; the field need counts the missing hex digits
)

// lexState is a state of a lexer: the content automaton's state and the position within a code
// point's spelling. The code point lies in [lo,hi]; high holds a high surrogate that was already
// read.
type lexState struct {
	q          int32
	kind, need uint8
	high       uint16
	lo, hi     rune
}

const dead = int32(-1)

// finish encodes "the string ended here with this label" as a transition; the function label
// decodes it.
func finish(label int32) int32 { return -2 - label }
func label(t int32) int32      { return -2 - t }

// lexer converts a content automaton to bytes, as plain UTF-8 or as a JSON string with quotes and
// escapes. States and rows are created lazily; the owner serialises access.
type lexer struct {
	c      content
	json   bool
	states []lexState
	rows   []*[256]int32
	first  []byteSet
	acc    []int32 // raw mode: label of a match that may end in this state; -1 means none
	univ   []int32 // label+1 if everything is accepted from here on, else 0
	plain  []int32 // state of the plain string lexer with the same spellings; -1: unknown
	index  map[lexState]int32
	bases  []int32 // by content state: 1 + the state between two code points
	sure   map[reachKey]int8
}

func newLexer(c content, json bool) *lexer {
	l := &lexer{c: c, json: json, index: map[lexState]int32{}}
	s := lexState{q: c.start(), kind: lexBase}
	if json {
		s.kind = lexOpen
	}
	l.id(s)
	return l
}

// id interns a state.
func (l *lexer) id(s lexState) int32 {
	if s.kind == lexBase {
		if int(s.q) < len(l.bases) && l.bases[s.q] > 0 {
			return l.bases[s.q] - 1
		}
		for int(s.q) >= len(l.bases) {
			l.bases = append(l.bases, 0)
		}
		l.bases[s.q] = int32(len(l.states)) + 1
	}
	_, all := l.c.universal(s.q)
	if all {
		s = canonical(s)
	}
	if id, ok := l.index[s]; ok {
		return id
	}
	id := int32(len(l.states))
	l.index[s] = id
	l.states = append(l.states, s)
	l.rows = append(l.rows, nil)
	l.first = append(l.first, byteSet{})
	acc := dead
	if !l.json && s.kind == lexBase {
		acc = l.c.accept(s.q)
	}
	l.acc = append(l.acc, acc)
	u := int32(0)
	if lab, ok := l.c.universal(s.q); ok {
		u = lab + 1
	}
	l.univ = append(l.univ, u)
	l.plain = append(l.plain, -1)
	return id
}

// canonical clears the details of a partly spelled code point that no longer matter if every code
// point is accepted.
func canonical(s lexState) lexState {
	switch s.kind {
	case lexUTF8:
		if n := rune(1) << (6 * s.need); s.hi-s.lo == n-1 {
			s.lo, s.hi = 0, n-1
		}
	case lexHex:
		if s.hi < 0xd800 || s.lo > 0xdfff {
			s.lo, s.hi = 0, rune(1)<<(4*s.need)-1
		} else if s.lo >= 0xd800 && s.hi <= 0xdbff {
			s.lo, s.hi = 0xd800, 0xd800+rune(1)<<(4*s.need)-1
		}
	case lexHigh, lexHighU:
		s.high = 0xd800
	case lexLow:
		s.high = 0xd800
		if s.lo >= 0xdc00 && s.hi <= 0xdfff {
			s.lo, s.hi = 0xdc00, 0xdc00+rune(1)<<(4*s.need)-1
		}
	}
	return s
}

// row returns the transitions from state s.
func (l *lexer) row(s int32) *[256]int32 {
	if r := l.rows[s]; r != nil {
		return r
	}
	r := new([256]int32)
	st := l.states[s]
	var fs byteSet
	for b := range 256 {
		r[b] = l.compute(st, byte(b))
		if r[b] != dead {
			fs.add(byte(b))
		}
	}
	l.rows[s], l.first[s] = r, fs
	return r
}

// firsts returns the bytes that may be read in state s.
func (l *lexer) firsts(s int32) *byteSet {
	l.row(s)
	return &l.first[s]
}

func (l *lexer) compute(s lexState, b byte) int32 {
	switch s.kind {
	case lexOpen:
		if b == '"' {
			return l.id(lexState{q: s.q, kind: lexBase})
		}
	case lexBase:
		return l.base(s, b)
	case lexUTF8:
		return l.continuation(s, b)
	case lexEsc:
		return l.escape(s, b)
	case lexHex:
		if d, ok := hexDigit(b); ok {
			return l.hex(s, d)
		}
	case lexHigh:
		if b == '\\' {
			return l.id(lexState{q: s.q, kind: lexHighU, high: s.high})
		}
	case lexHighU:
		if b == 'u' {
			return l.id(lexState{q: s.q, kind: lexLow, need: 4, high: s.high, lo: 0, hi: 0xffff})
		}
	case lexLow:
		if d, ok := hexDigit(b); ok {
			return l.low(s, d)
		}
	}
	return dead
}

func (l *lexer) base(s lexState, b byte) int32 {
	if l.json {
		switch {
		case b == '"':
			if a := l.c.accept(s.q); a >= 0 {
				return finish(a)
			}
			return dead
		case b == '\\':
			return l.alive(lexState{q: s.q, kind: lexEsc})
		case b < 0x20:
			return dead
		}
	}
	switch {
	case b < 0x80:
		return l.take(s.q, rune(b))
	case b < 0xc2 || b > 0xf4:
		return dead
	case b < 0xe0:
		lo := rune(b&0x1f) << 6
		return l.partial(s.q, 1, lo, lo+0x3f)
	case b < 0xf0:
		lo := rune(b&0x0f) << 12
		hi := lo + 0xfff
		switch b {
		case 0xe0:
			lo = 0x800
		case 0xed:
			hi = 0xd7ff
		}
		return l.partial(s.q, 2, lo, hi)
	default:
		lo := rune(b&0x07) << 18
		hi := lo + 0x3ffff
		switch b {
		case 0xf0:
			lo = 0x10000
		case 0xf4:
			hi = 0x10ffff
		}
		return l.partial(s.q, 3, lo, hi)
	}
}

func (l *lexer) take(q int32, r rune) int32 {
	t := l.c.step(q, r)
	if t < 0 {
		return dead
	}
	return l.id(lexState{q: t, kind: lexBase})
}

func (l *lexer) partial(q int32, need uint8, lo, hi rune) int32 {
	if lo > hi || !l.c.spans(q, lo, hi) {
		return dead
	}
	return l.id(lexState{q: q, kind: lexUTF8, need: need, lo: lo, hi: hi})
}

func (l *lexer) continuation(s lexState, b byte) int32 {
	if b&0xc0 != 0x80 {
		return dead
	}
	shift := 6 * (s.need - 1)
	block := s.lo &^ (rune(1)<<(shift+6) - 1)
	lo := block + rune(b&0x3f)<<shift
	hi := lo + rune(1)<<shift - 1
	lo, hi = max(lo, s.lo), min(hi, s.hi)
	if lo > hi {
		return dead
	}
	if s.need == 1 {
		return l.take(s.q, lo)
	}
	return l.partial(s.q, s.need-1, lo, hi)
}

// alive returns the id of an escape state, unless none of its spellings is accepted.
func (l *lexer) alive(s lexState) int32 {
	for b := range 256 {
		if l.wouldEscape(s, byte(b)) {
			return l.id(s)
		}
	}
	return dead
}

func (l *lexer) wouldEscape(s lexState, b byte) bool {
	if b == 'u' {
		return l.hexSpans(s.q, 0, 0xffff)
	}
	r, ok := l.short(s.q, b)
	return ok && l.c.step(s.q, r) >= 0
}

// short decodes a two-character escape \b, where b is the second character.
func (l *lexer) short(q int32, b byte) (rune, bool) {
	switch b {
	case '"', '\\':
		return rune(b), true
	case '/':
		return '/', !l.c.literal(q)
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

func (l *lexer) escape(s lexState, b byte) int32 {
	if b == 'u' {
		if !l.hexSpans(s.q, 0, 0xffff) {
			return dead
		}
		return l.id(lexState{q: s.q, kind: lexHex, need: 4, lo: 0, hi: 0xffff})
	}
	if r, ok := l.short(s.q, b); ok {
		return l.take(s.q, r)
	}
	return dead
}

// hexSpans reports whether state q accepts some code point whose \u escape starts with a value in
// [lo,hi].
func (l *lexer) hexSpans(q int32, lo, hi rune) bool {
	in := func(a, b rune) bool {
		a, b = max(a, lo), min(b, hi)
		return a <= b && l.c.spans(q, a, b)
	}
	if a, b := max(lo, 0xd800), min(hi, 0xdbff); a <= b && l.c.spans(q, pair(a, 0xdc00), pair(b, 0xdfff)) {
		return true
	}
	if !l.c.literal(q) {
		return in(0, 0xd7ff) || in(0xe000, 0xffff)
	}
	return in(0, 0x1f) || in('&', '\'') || in('<', '<') || in('>', '>') || in(0x7f, 0xd7ff) || in(0xe000, 0xffff)
}

func (l *lexer) hex(s lexState, d rune) int32 {
	shift := 4 * (s.need - 1)
	lo := s.lo&^(rune(1)<<(shift+4)-1) + d<<shift
	hi := lo + rune(1)<<shift - 1
	if !l.hexSpans(s.q, lo, hi) {
		return dead
	}
	switch {
	case s.need > 1:
		return l.id(lexState{q: s.q, kind: lexHex, need: s.need - 1, lo: lo, hi: hi})
	case lo >= 0xd800 && lo <= 0xdbff:
		return l.id(lexState{q: s.q, kind: lexHigh, high: uint16(lo)})
	}
	return l.take(s.q, lo)
}

func (l *lexer) low(s lexState, d rune) int32 {
	shift := 4 * (s.need - 1)
	lo := s.lo&^(rune(1)<<(shift+4)-1) + d<<shift
	hi := lo + rune(1)<<shift - 1
	a, b := max(lo, 0xdc00), min(hi, 0xdfff)
	if a > b || !l.c.spans(s.q, pair(rune(s.high), a), pair(rune(s.high), b)) {
		return dead
	}
	if s.need > 1 {
		return l.id(lexState{q: s.q, kind: lexLow, need: s.need - 1, high: s.high, lo: lo, hi: hi})
	}
	return l.take(s.q, pair(rune(s.high), lo))
}

// pair combines two surrogates into a code point.
func pair(high, low rune) rune { return 0x10000 + (high-0xd800)<<10 + (low - 0xdc00) }

func hexDigit(b byte) (rune, bool) {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0'), true
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10, true
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10, true
	}
	return 0, false
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }
func (s *byteSet) or(t *byteSet) {
	for i := range s {
		s[i] |= t[i]
	}
}

// anyContent accepts every string with label 0.
type anyContent struct{}

func (anyContent) start() int32                  { return 0 }
func (anyContent) step(int32, rune) int32        { return 0 }
func (anyContent) spans(int32, rune, rune) bool  { return true }
func (anyContent) accept(int32) int32            { return 0 }
func (anyContent) universal(int32) (int32, bool) { return 0, true }
func (anyContent) total(int32) bool              { return true }
func (anyContent) literal(int32) bool            { return false }
