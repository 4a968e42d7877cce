package grammar

import (
	"bytes"
	"slices"
	"sync"
)

// Vocab holds the tables shared by all grammars of one tokenizer: a byte trie of the token pieces
// and the precomputed masks of JSON string bodies. It is built once per tokenizer and may be shared
// by any number of goroutines.
type Vocab struct {
	size    int
	words   int // length of a mask in uint64
	pieces  [][]byte
	end     []int32
	endMask []uint64
	nodes   []trieNode
	next    []int32 // next token with the same bytes; -1 at the end of the chain
	root    [256]int32
	plain   *plainTables
	groups  []tokenGroup
	with    [256][]int32 // by byte: the tokens that contain it, nil if there are many
	names   map[string]int32

	mu       sync.Mutex
	automata map[string]automaton // guarded by mu
	tokenise func([]byte) []int32
}

// trieNode is one node of the token trie; its children are contiguous and sorted by byte.
type trieNode struct {
	first int32 // index of the first child
	token int32 // a token that ends here; -1 means none; others with the same bytes follow in Vocab.next
	count uint16
	label byte
}

// NewVocab builds the tables for a tokenizer of size tokens. The function piece returns the raw
// bytes of a token, possibly a part of a rune. If it returns no bytes, no text can produce the
// token; a control token, for example, is allowed only if a grammar names it. The parameter end
// lists the tokens that end a generation.
func NewVocab(size int, piece func(id int32) []byte, end []int32) *Vocab {
	v := &Vocab{size: size, words: (size + 63) / 64, end: slices.Clone(end)}
	v.pieces = make([][]byte, size)
	v.next = make([]int32, size)
	v.endMask = make([]uint64, v.words)
	for _, id := range end {
		if id >= 0 && int(id) < size {
			v.endMask[id>>6] |= 1 << (id & 63)
		}
	}
	ids := make([]int32, 0, size)
	for id := range int32(size) {
		v.next[id] = -1
		if p := piece(id); len(p) > 0 {
			v.pieces[id] = bytes.Clone(p)
			if !v.isEnd(id) { // an end token is always chosen deliberately, never as a part of text
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, v.byText)
	v.nodes = make([]trieNode, 1, 2*len(ids)+1)
	v.nodes[0].token = -1
	v.grow(0, 0, ids)
	for i := range v.root {
		v.root[i] = -1
	}
	r := v.nodes[0]
	for c := r.first; c < r.first+int32(r.count); c++ {
		v.root[v.nodes[c].label] = c
	}
	v.plain = newPlainTables(v)
	v.sortGroups(ids)
	v.listBytes(ids)
	return v
}

func (v *Vocab) byText(a, b int32) int {
	if c := bytes.Compare(v.pieces[a], v.pieces[b]); c != 0 {
		return c
	}
	return int(a - b)
}

// Size returns the number of tokens.
func (v *Vocab) Size() int { return v.size }

// SetTokenizer sets the canonical tokenisation that [Grammar.Forced] uses for forced text. Without
// one, forced text is split greedily into the longest tokens. It must be called before the
// vocabulary is shared.
func (v *Vocab) SetTokenizer(f func(text []byte) []int32) { v.tokenise = f }

func (v *Vocab) isEnd(id int32) bool { return v.endMask[id>>6]&(1<<(id&63)) != 0 }

// grow inserts under node n the sorted tokens ids, whose first depth bytes are the same.
func (v *Vocab) grow(n int32, depth int, ids []int32) {
	for len(ids) > 0 && len(v.pieces[ids[0]]) == depth {
		id := ids[0]
		v.next[id], v.nodes[n].token = v.nodes[n].token, id
		ids = ids[1:]
	}
	if len(ids) == 0 {
		return
	}
	first := int32(len(v.nodes))
	v.nodes[n].first = first
	type span struct{ lo, hi int }
	var spans []span
	for lo := 0; lo < len(ids); {
		b := v.pieces[ids[lo]][depth]
		hi := lo + 1
		for hi < len(ids) && v.pieces[ids[hi]][depth] == b {
			hi++
		}
		spans = append(spans, span{lo, hi})
		v.nodes = append(v.nodes, trieNode{token: -1, label: b})
		lo = hi
	}
	v.nodes[n].count = uint16(len(spans))
	for i, s := range spans {
		v.grow(first+int32(i), depth+1, ids[s.lo:s.hi])
	}
}

// child returns the child of node n for the byte b, or -1.
func (v *Vocab) child(n int32, b byte) int32 {
	if n == 0 {
		return v.root[b]
	}
	nd := &v.nodes[n]
	for c := nd.first; c < nd.first+int32(nd.count); c++ {
		if v.nodes[c].label == b {
			return c
		}
	}
	return -1
}

// allow sets the bits of every token that ends at node n.
func (v *Vocab) allow(n int32, mask []uint64) {
	for t := v.nodes[n].token; t >= 0; t = v.next[t] {
		mask[t>>6] |= 1 << (t & 63)
	}
}

// NameToken sets the name by which the grammar language refers to a token, such as <|im_end|>. It
// must be called before the vocabulary is shared.
func (v *Vocab) NameToken(name string, id int32) {
	if v.names == nil {
		v.names = map[string]int32{}
	}
	v.names[name] = id
}

// named finds a token by name, or one whose text is the name.
func (v *Vocab) named(name string) (int32, bool) {
	if id, ok := v.names[name]; ok {
		return id, true
	}
	node := int32(0)
	for i := 0; i < len(name); i++ {
		if node = v.child(node, name[i]); node < 0 {
			return 0, false
		}
	}
	id := v.nodes[node].token
	return id, id >= 0
}

const maxCached = 4096

// cached returns the automaton stored under key, or builds and stores it. The same patterns and
// formats occur in many schemas, and a compiled automaton is immutable.
func (v *Vocab) cached(key string, build func() (content, error)) (content, error) {
	v.mu.Lock()
	a, ok := v.automata[key]
	v.mu.Unlock()
	if ok {
		return a.c, a.err
	}
	a.c, a.err = build()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.automata == nil || len(v.automata) >= maxCached {
		v.automata = map[string]automaton{}
	}
	v.automata[key] = a
	return a.c, a.err
}

// automaton is the result of compiling a pattern or a format: an automaton, which is nil for the
// empty language, or the error.
type automaton struct {
	c   content
	err error
}
