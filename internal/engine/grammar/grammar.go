package grammar

import (
	"errors"
	"slices"
)

// Grammar is a compiled grammar together with the parse states reached so far. A state is one
// int32, which stays valid as long as the Grammar exists. So to go back, for example after a
// rejected draft, a caller only has to use an older number. All methods may be called from several
// goroutines at once. Long-running requests can each take a [Grammar.Fork], whose states are freed
// with the request.
type Grammar struct {
	p *program
	m *machine
}

// ErrStates is reported by [Grammar.Err] when a grammar has reached its limit of states (about two
// million).
var ErrStates = errors.New("grammar: too many parse states: take a Fork for each request")

// ErrSteps is reported by [Grammar.Err], and when a grammar is compiled, if one byte of text would
// take millions of steps to read.
var ErrSteps = errors.New("grammar: the rules can match one text in too many ways: avoid long sequences of parts that may all be empty, and alternatives that are the same")

// Fork returns a Grammar that shares the compiled tables but has separate states.
func (g *Grammar) Fork() *Grammar {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	return &Grammar{p: g.p, m: newMachine(g.p)}
}

// Err returns [ErrStates] if states had to be refused, [ErrSteps] if reading a byte was given up,
// otherwise nil.
func (g *Grammar) Err() error {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	switch {
	case g.m.broken:
		return ErrSteps
	case g.m.full:
		return ErrStates
	}
	return nil
}

// Start returns the state before the first token.
func (g *Grammar) Start() int32 { return 0 }

// Next returns the state after token. It returns false if the token is not allowed in state.
func (g *Grammar) Next(state, token int32) (int32, bool) {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	if state < 0 || int(state) >= len(g.m.accepts) || token < 0 || int(token) >= g.p.v.size {
		return 0, false
	}
	t := g.m.next(state, token)
	return max(t, 0), t >= 0
}

// Mask sets allowed to the bit set of the tokens that may follow in state: token t is bit t%64 of
// allowed[t/64]. If the text may end in state, the end tokens are included. Words beyond the
// vocabulary are cleared.
func (g *Grammar) Mask(state int32, allowed []uint64) {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	clear(allowed)
	if state < 0 || int(state) >= len(g.m.accepts) {
		return
	}
	copy(allowed, g.m.mask(state))
}

// Accepts reports whether the text may end in state.
func (g *Grammar) Accepts(state int32) bool {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	return state >= 0 && int(state) < len(g.m.accepts) && g.m.accepts[state]
}

// Forced appends to dst the tokens that must follow in state, if any. It collects bytes while
// exactly one is possible, and splits them into tokens as the tokenizer would. It omits the last
// token if the text after it might turn it into a longer one.
func (g *Grammar) Forced(state int32, dst []int32) []int32 {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	if state < 0 || int(state) >= len(g.m.accepts) {
		return dst
	}
	return g.m.forced(state, dst)
}

func (m *machine) next(s, token int32) int32 {
	v := m.p.v
	m.begin()
	hit := false
	for i := m.setOff[s]; i < m.setOff[s+1]; i++ {
		fr := m.frames[m.items[i]]
		if o := &m.p.ops[fr.op]; o.kind == opToken && o.token == token {
			hit = true
			m.finish(fr.parent)
		}
	}
	if hit {
		return m.close()
	}
	if v.isEnd(token) {
		if !m.accepts[s] {
			return dead
		}
		m.begin()
		m.outAcc = true
		return m.close()
	}
	if len(v.pieces[token]) == 0 {
		return dead
	}
	for _, b := range v.pieces[token] {
		if s = m.step(s, b); s < 0 {
			return dead
		}
	}
	return s
}

// mask returns the mask of state s, cached or newly computed.
func (m *machine) mask(s int32) []uint64 {
	if w, ok := m.masks[s]; ok {
		return w
	}
	var w []uint64
	if len(m.masks) >= m.maskLimit {
		for old, words := range m.masks { // evicts an arbitrary mask
			delete(m.masks, old)
			clear(words)
			w = words
			break
		}
	}
	if w == nil {
		w = make([]uint64, m.p.v.words)
	}
	k := m.mark()
	m.fill(s, w)
	if len(m.frames) > m.soft || len(m.accepts) > m.soft {
		m.rewind(k)
	}
	m.masks[s] = w
	return w
}

const maxForced = 512 // bytes

func (m *machine) forced(s int32, dst []int32) []int32 {
	k := m.mark()
	var text []byte
	end := s
	for len(text) < maxForced {
		b, t := m.only(end)
		if t < 0 {
			break
		}
		text, end = append(text, b), t
	}
	if len(text) > 0 {
		dst = append(dst, m.cut(text, end)...)
	}
	if len(m.frames) > m.soft || len(m.accepts) > m.soft {
		m.rewind(k)
	}
	return dst
}

// only returns the one byte that can follow in state s and the state after it, or -1.
func (m *machine) only(s int32) (byte, int32) {
	if m.accepts[s] {
		return 0, dead
	}
	for _, f := range m.set(s) {
		if m.p.ops[m.frames[f].op].kind == opToken {
			return 0, dead
		}
	}
	first := *m.firsts(s)
	found, next := byte(0), dead
	for b := range 256 {
		if !first.has(byte(b)) {
			continue
		}
		if t := m.step(s, byte(b)); t >= 0 {
			if next >= 0 {
				return 0, dead
			}
			found, next = byte(b), t
		}
	}
	return found, next
}

// cut tokenises forced text. The parameter end is the state of the grammar after the text.
func (m *machine) cut(text []byte, end int32) []int32 {
	v := m.p.v
	var toks []int32
	if v.tokenise != nil {
		toks = v.tokenise(text)
	} else {
		toks = v.greedy(text)
	}
	n := 0
	for _, t := range toks {
		if t < 0 || int(t) >= v.size || v.isEnd(t) || !slices.Equal(text[n:min(len(text), n+len(v.pieces[t]))], v.pieces[t]) || len(v.pieces[t]) == 0 {
			return nil
		}
		n += len(v.pieces[t])
	}
	if len(toks) == 0 || n < len(text) {
		return toks
	}
	last := toks[len(toks)-1]
	node := int32(0)
	for _, b := range v.pieces[last] {
		node = v.child(node, b)
	}
	nd := v.nodes[node]
	for c := nd.first; c < nd.first+int32(nd.count); c++ {
		if m.step(end, v.nodes[c].label) >= 0 {
			return toks[:len(toks)-1]
		}
	}
	return toks
}

// greedy splits text into the longest possible tokens, and stops where the vocabulary has no token.
func (v *Vocab) greedy(text []byte) (toks []int32) {
	for len(text) > 0 {
		node, best, length := int32(0), int32(-1), 0
		for i, b := range text {
			if node = v.child(node, b); node < 0 {
				break
			}
			if t := v.nodes[node].token; t >= 0 {
				best, length = t, i+1
			}
		}
		if best < 0 {
			return toks
		}
		toks = append(toks, best)
		text = text[length:]
	}
	return toks
}
