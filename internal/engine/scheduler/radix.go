package scheduler

import (
	"slices"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

// radix is the prompt cache's index: it records the pages that hold each prefix. It is a tree
// whose edges are pages: a full page may have children, and a partly filled page is a leaf. The
// tree holds one reference to each of its pages.
//
// Nodes are kept in the order of their last use, parents before their children, so the last one is
// always a leaf.
type radix struct {
	f     forwarder
	root  node // never in the LRU list; its next and prev are the list's ends
	nodes int
}

// node is one page of a prefix.
type node struct {
	parent     *node
	tokens     []int32           // the tokens on the page: PageTokens of them, or fewer in a leaf
	page       int32             // meaningless in the root
	children   map[int32][]*node // by their first token
	next, prev *node             // LRU list, most recently used first
}

func newRadix(f forwarder) *radix {
	r := &radix{f: f}
	r.root.next, r.root.prev = &r.root, &r.root
	return r
}

// match is the longest prefix of a text that the tree has.
type match struct {
	node   *node   // the last full page matched; the root if there is none
	pages  []int32 // full pages, each retained for the caller
	tokens int     // number of tokens on pages
	tail   int32   // page with tailLen further matching tokens, to be copied; meaningless if tailLen is 0
	tailN  int
}

// lookup finds the longest prefix of tokens. The pages of the result are appended to pages.
func (r *radix) lookup(tokens []int32, pages []int32) match {
	m := match{node: &r.root, pages: pages}
	for {
		rest := tokens[m.tokens:]
		next, common := m.node.best(rest)
		if next != nil && common == transformer.PageTokens {
			r.f.retain(next.page)
			m.pages = append(m.pages, next.page)
			m.tokens += transformer.PageTokens
			m.node = next
			continue
		}
		if common > 0 {
			m.tail, m.tailN = next.page, common
			r.touch(next)
		} else {
			r.touch(m.node)
		}
		return m
	}
}

// best returns the child that shares the most tokens with rest.
func (n *node) best(rest []int32) (*node, int) {
	if len(rest) == 0 {
		return nil, 0
	}
	var best *node
	most := 0
	for _, c := range n.children[rest[0]] {
		if common := commonPrefix(c.tokens, rest); common > most {
			best, most = c, common
		}
	}
	return best, most
}

func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// insert records that page holds tokens after parent's, and returns its node. If the tree already
// knows these tokens, it returns the node that holds them, which has another page.
func (r *radix) insert(parent *node, tokens []int32, page int32) *node {
	old, common := parent.best(tokens)
	if old != nil && common == len(tokens) && (common == transformer.PageTokens || common <= len(old.tokens)) {
		r.touch(old)
		return old
	}
	if old != nil && common == len(old.tokens) && len(old.tokens) < transformer.PageTokens { // a shorter leaf that this page includes
		r.remove(old)
	}
	n := &node{parent: parent, tokens: slices.Clone(tokens), page: page}
	if parent.children == nil {
		parent.children = map[int32][]*node{}
	}
	parent.children[tokens[0]] = append(parent.children[tokens[0]], n)
	r.f.retain(page)
	r.nodes++
	r.touch(n)
	return n
}

// touch makes a node and its ancestors the most recently used, parents first.
func (r *radix) touch(n *node) {
	for ; n != &r.root; n = n.parent {
		n.unlink()
		n.prev, n.next = &r.root, r.root.next
		n.prev.next, n.next.prev = n, n
	}
}

func (n *node) unlink() {
	if n.next != nil {
		n.prev.next, n.next.prev = n.next, n.prev
		n.next, n.prev = nil, nil
	}
}

func (r *radix) remove(n *node) {
	n.unlink()
	first := n.tokens[0]
	siblings := n.parent.children[first]
	i := slices.Index(siblings, n)
	siblings = slices.Delete(siblings, i, i+1)
	if len(siblings) == 0 {
		delete(n.parent.children, first)
	} else {
		n.parent.children[first] = siblings
	}
	r.nodes--
	r.f.release(n.page)
}

// evict frees the page of the least recently used leaf that no sequence uses. It returns false if
// every page is in use.
func (r *radix) evict() bool {
	for n := r.root.prev; n != &r.root; n = n.prev {
		if len(n.children) == 0 && r.f.refs(n.page) == 1 {
			r.remove(n)
			return true
		}
	}
	return false
}

// evictable counts the pages that evict could free, up to the number want. If only the tree holds a
// page, that is also true of all pages below it.
func (r *radix) evictable(want int) int {
	got := 0
	for n := r.root.prev; n != &r.root && got < want; n = n.prev {
		if r.f.refs(n.page) == 1 {
			got++
		}
	}
	return got
}
