package scheduler

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/internal/engine/transformer"
)

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// TestRadixAgainstAList checks that the tree finds the same prefixes as a list of all inserted
// texts, evicts only leaves, and never loses or leaks a page.
func TestRadixAgainstAList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	y := newToy(t, 4, 60, nil)
	r := newRadix(y)
	type text struct{ tokens, pages []int32 }
	var held []text // texts held by the "sequences"
	some := func() []int32 {
		n := 1 + rng.IntN(5*transformer.PageTokens)
		out := make([]int32, n)
		for i := range out { // mostly equal tokens, so that prefixes are shared
			if rng.IntN(60) == 0 {
				out[i] = 1
			}
		}
		return out
	}
	for step := range 4000 {
		switch {
		case rng.IntN(3) > 0 || len(held) == 0:
			tokens := some()
			m := r.lookup(tokens, nil)
			checkMatch(t, y, r, m, tokens)
			pages, at := m.pages, m.node
			for len(pages) < transformer.PagesFor(len(tokens)) {
				p, ok := y.alloc()
				if !ok && r.evict() {
					continue
				}
				if !ok {
					break
				}
				for i := len(pages) * transformer.PageTokens; i < min(len(tokens), (len(pages)+1)*transformer.PageTokens); i++ {
					y.store[p][i%transformer.PageTokens] = tokens[i] + 1
				}
				pages = append(pages, p)
			}
			for i := len(m.pages); i < len(pages); i++ {
				end := min(len(tokens), (i+1)*transformer.PageTokens)
				n := r.insert(at, tokens[i*transformer.PageTokens:end], pages[i])
				if n.page != pages[i] && end == (i+1)*transformer.PageTokens {
					y.retain(n.page)
					y.release(pages[i])
					pages[i] = n.page
				}
				at = n
			}
			held = append(held, text{tokens, pages})
		case rng.IntN(10) == 0:
			r.evict()
		default:
			i := rng.IntN(len(held))
			for _, p := range held[i].pages {
				y.release(p)
			}
			held = slices.Delete(held, i, i+1)
		}
		if step%50 == 0 {
			checkTree(t, y, r)
		}
	}
	for _, h := range held {
		for _, p := range h.pages {
			y.release(p)
		}
	}
	if n := r.evictable(1000); n != r.nodes {
		t.Errorf("%d of %d nodes evictable", n, r.nodes)
	}
	for r.evict() {
	}
	if r.nodes != 0 || y.free() != y.pages() {
		t.Errorf("%d nodes, %d of %d pages free", r.nodes, y.free(), y.pages())
	}
}

// checkMatch compares a match with the tokens that its pages hold, and with all nodes of the tree.
func checkMatch(t *testing.T, y *toy, r *radix, m match, tokens []int32) {
	t.Helper()
	pages, n := m.pages, m.tokens
	if m.tailN > 0 {
		pages, n = append(slices.Clip(pages), m.tail), n+m.tailN
	}
	for i := range n {
		if y.store[pages[i/transformer.PageTokens]][i%transformer.PageTokens] != tokens[i]+1 {
			t.Fatalf("token %d of the match is another one", i)
		}
	}
	for x := r.root.next; x != &r.root; x = x.next {
		var path []int32
		for a := x; a != &r.root; a = a.parent {
			path = append(slices.Clone(a.tokens), path...)
		}
		if c := commonPrefix(path, tokens); c > n {
			t.Fatalf("matched %d tokens of %d, but %d are known", n, len(tokens), c)
		}
	}
}

func checkTree(t *testing.T, y *toy, r *radix) {
	t.Helper()
	seen := map[*node]bool{}
	n := 0
	for x := r.root.next; x != &r.root; x = x.next {
		if x.parent != &r.root && !seen[x.parent] {
			t.Fatal("a node is before its parent in the order of use")
		}
		if len(x.children) > 0 && len(x.tokens) != transformer.PageTokens {
			t.Fatal("a page that is not full has children")
		}
		if y.refs(x.page) < 1 {
			t.Fatal("a page of the tree is free")
		}
		seen[x] = true
		n++
	}
	if n != r.nodes {
		t.Fatalf("%d nodes, counted %d", r.nodes, n)
	}
}

func BenchmarkRadixLookup(b *testing.B) {
	for _, n := range []int{1000, 30000} {
		b.Run(map[int]string{1000: "1k", 30000: "30k"}[n], func(b *testing.B) {
			y := newToy(b, 1000, n, nil)
			r := newRadix(y)
			for s := range 8 {
				tokens := append(prompt(n/2, 1000, 1), prompt(n/2, 1000, uint64(s))...)
				at := &r.root
				for i := 0; i+transformer.PageTokens <= len(tokens); i += transformer.PageTokens {
					p, _ := y.alloc()
					at = r.insert(at, tokens[i:i+transformer.PageTokens], p)
				}
			}
			tokens := append(prompt(n/2, 1000, 1), prompt(n/2, 1000, 3)...)
			var pages []int32
			b.ReportAllocs()
			for b.Loop() {
				m := r.lookup(tokens, pages[:0])
				for _, p := range m.pages {
					y.release(p)
				}
				pages = m.pages
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/token")
		})
	}
}
