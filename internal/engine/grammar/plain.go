package grammar

// plainTables holds the masks of an unconstrained JSON string, one slice for each state of its
// lexer. A slice holds the set of tokens that stay inside the string and, for the tokens that close
// the string, their text after the closing quote. With these tables, computing a mask inside a
// string takes only a bulk OR and a walk over a few hundred short suffixes.
type plainTables struct {
	lex      *lexer
	slices   []plainSlice
	suffixes suffixTrie
	runes    []uint8    // per token: number of code points that the token begins, if it is read between two code points
	within   [][]uint64 // within[n]: tokens that stay inside and begin at most n code points
	long     []int32    // tokens that stay inside and begin at least len(within) code points
	prefixes prefixTrie // the text of closing tokens before the quote
}

type plainSlice struct {
	inside []uint64
	exits  [][]int32 // by suffix: the tokens that close the string and end with that suffix
}

// suffixTrie holds the text of tokens after a quote. Node 0 is the empty suffix.
type suffixTrie struct {
	nodes []suffixNode
}

type suffixNode struct {
	kids []suffixEdge
}

type suffixEdge struct {
	label byte
	node  int32
}

func (t *suffixTrie) add(s []byte) int32 {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, suffixNode{})
	}
	n := int32(0)
next:
	for _, b := range s {
		for _, e := range t.nodes[n].kids {
			if e.label == b {
				n = e.node
				continue next
			}
		}
		c := int32(len(t.nodes))
		t.nodes = append(t.nodes, suffixNode{})
		t.nodes[n].kids = append(t.nodes[n].kids, suffixEdge{b, c})
		n = c
	}
	return n
}

// prefixTrie holds the text of closing tokens before the quote, with the closing tokens at each
// node.
type prefixTrie struct {
	suffixTrie
	exits [][]exitToken
}

type exitToken struct{ token, suffix int32 }

const withinMax = 32

func newPlainTables(v *Vocab) *plainTables {
	p := &plainTables{lex: newLexer(anyContent{}, true)}
	for s := 0; s < len(p.lex.states); s++ {
		p.lex.row(int32(s))
	}
	p.suffixes.add(nil)
	p.prefixes.add(nil)
	p.runes = make([]uint8, v.size)
	p.slices = make([]plainSlice, len(p.lex.states))
	base := p.base()
	for s := range p.slices {
		sl := &p.slices[s]
		sl.inside = make([]uint64, v.words)
		p.slice(v, sl, 0, int32(s))
	}
	for s := range p.slices {
		sl := &p.slices[s]
		sl.exits = append(sl.exits, make([][]int32, len(p.suffixes.nodes)-len(sl.exits))...)
	}
	p.count(v, base)
	p.exitPrefixes(v, base)
	return p
}

// base returns the state between two code points.
func (p *plainTables) base() int32 { return p.lex.index[lexState{kind: lexBase}] }

// slice walks the token trie from node n in state s.
func (p *plainTables) slice(v *Vocab, sl *plainSlice, n, s int32) {
	nd := v.nodes[n]
	row := p.lex.rows[s]
	for c := nd.first; c < nd.first+int32(nd.count); c++ {
		b := v.nodes[c].label
		switch t := row[b]; {
		case t >= 0:
			v.allow(c, sl.inside)
			p.slice(v, sl, c, t)
		case t != dead:
			p.exit(v, sl, c, nil)
		}
	}
}

// exit records every token under node n, which is reached after a closing quote and the bytes of
// suffix.
func (p *plainTables) exit(v *Vocab, sl *plainSlice, n int32, suffix []byte) {
	nd := v.nodes[n]
	if nd.token >= 0 {
		id := p.suffixes.add(suffix)
		for int(id) >= len(sl.exits) {
			sl.exits = append(sl.exits, nil)
		}
		for t := nd.token; t >= 0; t = v.next[t] {
			sl.exits[id] = append(sl.exits[id], t)
		}
	}
	for c := nd.first; c < nd.first+int32(nd.count); c++ {
		p.exit(v, sl, c, append(suffix[:len(suffix):len(suffix)], v.nodes[c].label))
	}
}

// count counts, for each token that stays inside the string, the code points that it begins.
func (p *plainTables) count(v *Vocab, base int32) {
	p.within = make([][]uint64, withinMax+1)
	inside := p.slices[base].inside
	for n := range p.within {
		p.within[n] = make([]uint64, v.words)
	}
	for _, toks := range p.slices[base].exits {
		for _, id := range toks {
			p.runes[id] = uint8(min(p.begun(base, v.pieces[id]), 255))
		}
	}
	for id := range int32(v.size) {
		if inside[id>>6]&(1<<(id&63)) == 0 {
			continue
		}
		n := p.begun(base, v.pieces[id])
		p.runes[id] = uint8(min(n, 255))
		if n > withinMax {
			p.long = append(p.long, id)
			continue
		}
		for i := n; i <= withinMax; i++ {
			p.within[i][id>>6] |= 1 << (id & 63)
		}
	}
}

// begun returns the number of code points begun by text, read from state s up to the closing quote.
func (p *plainTables) begun(s int32, text []byte) int {
	n := 0
	for _, b := range text {
		t := p.lex.rows[s][b]
		if t < 0 {
			break
		}
		if p.lex.states[s].kind == lexBase {
			n++
		}
		s = t
	}
	return n
}

// exitPrefixes groups the tokens that close a string by their text before the quote.
func (p *plainTables) exitPrefixes(v *Vocab, base int32) {
	for suffix, toks := range p.slices[base].exits {
		for _, id := range toks {
			text := v.pieces[id]
			s, i := base, 0
			for p.lex.rows[s][text[i]] >= 0 {
				s = p.lex.rows[s][text[i]]
				i++
			}
			n := p.prefixes.add(text[:i])
			for int(n) >= len(p.prefixes.exits) {
				p.prefixes.exits = append(p.prefixes.exits, nil)
			}
			p.prefixes.exits[n] = append(p.prefixes.exits[n], exitToken{id, int32(suffix)})
		}
	}
	for len(p.prefixes.exits) < len(p.prefixes.nodes) {
		p.prefixes.exits = append(p.prefixes.exits, nil)
	}
}
