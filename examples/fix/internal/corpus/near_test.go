package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	base := long("sum", 30)
	var n Near
	n.Add(base)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"same":           {base, true},
		"layout":         {strings.ReplaceAll(base, "\n", "\n\n\t"), true},
		"comments":       {strings.ReplaceAll(base, "n += 7\n", "n += 7 // seven\n"), true},
		"one name":       {strings.Replace(base, "sum", "total", 1), true},
		"one line":       {strings.Replace(base, "n += 20\n", "", 1), true},
		"half":           {long("sum", 15), false},
		"other variable": {strings.ReplaceAll(base, "n", "m"), false},
		"another":        {"func f() {\n\tprintln()\n}", false},
		"nothing":        {"", false},
	} {
		if got := n.Has(c.text); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if (&Near{}).Has(base) {
		t.Error("an empty set has something")
	}
}

// TestNearExact checks that Near finds the same functions as a comparison with every function.
//
// Evidence: training · Modules that are held out stay out of training
func TestNearExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var n Near
	var held []string
	var sets [][]uint64
	for range 40 {
		held = append(held, noise(rng, 60))
		sets = append(sets, shingles(held[len(held)-1]))
		n.Add(held[len(held)-1])
	}
	found := 0
	for range 600 {
		words := strings.Fields(held[rng.IntN(len(held))])
		for range rng.IntN(6) {
			words[rng.IntN(len(words))] = "other"
		}
		text := strings.Join(words, " ")
		best := 0.0
		for _, set := range sets {
			best = max(best, similarity(shingles(text), set))
		}
		has := n.Has(text)
		if has && best < threshold || !has && best > 0.9 {
			t.Fatalf("found is %v at a similarity of %.2f", has, best)
		}
		if has {
			found++
		}
	}
	if found < 100 || found > 500 {
		t.Errorf("%d of 600 found: the test says little", found)
	}
}

func noise(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "v%d ", rng.IntN(50))
	}
	return b.String()
}

func FuzzNear(f *testing.F) {
	f.Add("func f() {}", "func g() {}")
	f.Add("\"", "'")
	f.Fuzz(func(t *testing.T, a, b string) {
		var n Near
		n.Add(a)
		if !n.Has(a) {
			t.Errorf("%q does not repeat itself", a)
		}
		s, u := similarity(shingles(a), shingles(b)), similarity(shingles(b), shingles(a))
		if s != u || s < 0 || s > 1 || exact(a) == exact(b) && s != 1 {
			t.Errorf("%q and %q: similarity %v and %v", a, b, s, u)
		}
	})
}

func BenchmarkNear(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var n Near
	for range 20_000 {
		n.Add(noise(rng, 120))
	}
	text := noise(rng, 120)
	b.ReportAllocs()
	for b.Loop() {
		n.Has(text)
	}
}
