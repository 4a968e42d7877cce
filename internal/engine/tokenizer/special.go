package tokenizer

// specials finds special tokens in text, leftmost first and longest first. It is a trie of the
// tokens' texts.
type specials struct {
	root  [256]int32 // the nodes of the first bytes; 0 means none
	plain [256]bool  // whether a user-defined token starts with the byte
	some  [2]bool    // whether there are any tokens to find: [0] user-defined ones, [1] any
	nodes []specialNode
}

type specialNode struct {
	b       byte
	child   int32 // the first; 0 means none
	sibling int32 // the next; 0 means none
	id      int32 // the token that ends here, or -1
	token   special
}

// special describes how a special token behaves in text.
type special struct {
	always      bool // user-defined: found even if special tokens are not requested
	left, right bool // removes the white space before or after it
}

// newSpecials builds the trie of a vocabulary's special tokens.
func newSpecials(v *vocab, describe func(id int32) special) *specials {
	s := &specials{nodes: make([]specialNode, 1)}
	for id, k := range v.kinds {
		if k == Control || k == UserDefined || k == Unknown {
			t := describe(int32(id))
			t.always = k == UserDefined
			s.add(v.pieces[id], int32(id), t)
		}
	}
	return s
}

// add adds a token.
func (s *specials) add(text string, id int32, t special) {
	s.some[1] = true
	if t.always {
		s.some[0] = true
		s.plain[text[0]] = true
	}
	at := s.root[text[0]]
	if at == 0 {
		at = s.node(text[0])
		s.root[text[0]] = at
	}
	for i := 1; i < len(text); i++ {
		next := s.child(at, text[i])
		if next == 0 {
			next = s.node(text[i])
			s.nodes[next].sibling, s.nodes[at].child = s.nodes[at].child, next
		}
		at = next
	}
	s.nodes[at].id, s.nodes[at].token = id, t
}

func (s *specials) node(b byte) int32 {
	s.nodes = append(s.nodes, specialNode{b: b, id: -1})
	return int32(len(s.nodes) - 1)
}

func (s *specials) child(at int32, b byte) int32 {
	for at = s.nodes[at].child; at != 0 && s.nodes[at].b != b; at = s.nodes[at].sibling {
	}
	return at
}

// find returns the first special token at or after i and its position, or id -1. If all is false,
// it finds only user-defined tokens.
func (s *specials) find(text string, i int, all bool) (id int32, start, end int, t special) {
	if all && !s.some[1] || !all && !s.some[0] {
		return -1, len(text), len(text), t
	}
	for ; i < len(text); i++ {
		at := s.root[text[i]]
		if at == 0 || !all && !s.plain[text[i]] {
			continue
		}
		id = -1
		for j := i + 1; at != 0; j++ {
			if n := &s.nodes[at]; n.id >= 0 && (all || n.token.always) {
				id, end, t = n.id, j, n.token
			}
			if j == len(text) {
				break
			}
			at = s.child(at, text[j])
		}
		if id >= 0 {
			return id, i, end, t
		}
	}
	return -1, len(text), len(text), t
}

// isBlank reports whether c is ASCII white space, which special tokens remove.
func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
