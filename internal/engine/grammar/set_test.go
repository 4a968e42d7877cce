package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// TestSet checks that a set takes each of its parts at most once, in any order, and the required
// ones always: with few parts, and with more than fit one word.
func TestSet(t *testing.T) {
	tier.Normal(t)
	v := byteVocab()
	for _, n := range []int{1, 3, 8, 64, 70} {
		parts, required := make([]Node, n), make([]bool, n)
		word := func(i int) string { return fmt.Sprintf("k%03d=%d", i, i) }
		for i := range n {
			parts[i], required[i] = Lit(word(i)), i%3 == 0
		}
		for _, sep := range []string{"", ", "} {
			var node Node
			if sep != "" {
				node = Lit(sep)
			}
			g, err := Compile(Seq(Lit("("), Set(parts, required, node, false), Lit(")")), v)
			if err != nil {
				t.Fatal(err)
			}
			takes := func(order []int) bool {
				words := make([]string, len(order))
				for i, k := range order {
					words[i] = word(k)
				}
				return fits(g, "("+strings.Join(words, sep)+")")
			}
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for range 4 {
				var some []int
				for _, i := range r.Perm(n) {
					if required[i] || r.IntN(2) == 0 {
						some = append(some, i)
					}
				}
				if !takes(some) {
					t.Errorf("%d parts: refused %v", n, some)
				}
				if takes(append(some, some[0])) {
					t.Errorf("%d parts: accepted %v twice in %v", n, some[0], some)
				}
				for i, k := range some {
					if required[k] && takes(append(append([]int{}, some[:i]...), some[i+1:]...)) {
						t.Errorf("%d parts: accepted %v without %d", n, some, k)
						break
					}
				}
			}
		}
	}
	some, err := Compile(Set([]Node{Lit("a"), Lit("b")}, nil, nil, true), v)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"": false, "a": true, "ba": true, "aa": false, "abc": false} {
		if fits(some, text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
	if _, err := Compile(Set([]Node{Alt()}, []bool{true}, nil, false), v); err == nil {
		t.Error("a set whose required part matches nothing compiles")
	}
	if _, err := CompileRules("r", map[string]Node{"r": Set([]Node{Rule("r")}, nil, nil, false)}, v); err == nil {
		t.Error("a left-recursive set compiles")
	}
}

// fits reports whether g accepts the whole text.
func fits(g *Grammar, text string) bool {
	g = g.Fork() // a new memory
	s := g.Start()
	for _, b := range []byte(text) {
		var ok bool
		if s, ok = g.Next(s, int32(b)); !ok {
			return false
		}
	}
	return g.Accepts(s)
}
