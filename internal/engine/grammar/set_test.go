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

// TestLimited checks that text of limited length is counted in code points, that it may contain the
// beginning of the stop, and that masks agree with the texts.
func TestLimited(t *testing.T) {
	v := byteVocab("ab", "é<", "</x>", "a</", "x>", "zzzz", "日本", "a\"b")
	for _, c := range []struct {
		min, max int
		yes, no  []string
	}{
		{0, 3, []string{"", "a", "abc", "é日<", "</x", `a"b`}, []string{"abcd", "日本語é", "a</x>b"}},
		{2, -1, []string{"ab", "é日", "<<<</x", strings.Repeat("x", 300), `""`}, []string{"", "a", "日", "</x>ab"}},
		{2, 2, []string{"ab", "日本", "</"}, []string{"a", "abc", ""}},
		{0, 400, []string{strings.Repeat("<", 400), strings.Repeat("日", 400)}, []string{strings.Repeat("<", 401)}},
	} {
		g, err := Compile(Seq(Limited(c.min, c.max, "</x>"), Lit("</x>")), v)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.yes {
			if !fits(g, text+"</x>") {
				t.Errorf("%d to %d: refused %q", c.min, c.max, text)
			}
		}
		for _, text := range c.no {
			if fits(g, text+"</x>") {
				t.Errorf("%d to %d: accepted %q", c.min, c.max, text)
			}
		}
		r := rand.New(rand.NewPCG(2, 3))
		mask := make([]uint64, v.words)
		for range 40 {
			s := g.Start()
			for range 12 {
				g.Mask(s, mask)
				var may []int32
				for id := range int32(v.size) {
					_, ok := g.Next(s, id)
					if in := mask[id>>6]>>(id&63)&1 != 0; !v.isEnd(id) && in != ok {
						t.Fatalf("%d to %d: the mask says %v about %q", c.min, c.max, in, v.pieces[id])
					}
					if ok && !v.isEnd(id) {
						may = append(may, id)
					}
				}
				if len(may) == 0 {
					break
				}
				s, _ = g.Next(s, may[r.IntN(len(may))])
			}
		}
	}
	if _, err := Compile(Limited(3, 2, "x"), v); err == nil {
		t.Error("3 to 2 characters compile")
	}
}
