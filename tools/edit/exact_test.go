package edit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestOccurrences compares the search with a plain one on texts that are difficult for it.
func TestOccurrences(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "\n", "\t", "abab", " "}
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(letters[rnd.IntN(len(letters))])
		}
		return b.String()
	}
	for range 3000 {
		s, old := random(rnd.IntN(200)), random(1+rnd.IntN(12))
		if i := rnd.IntN(len(s) + 1); rnd.IntN(2) == 0 && i < len(s) {
			old = s[i:min(len(s), i+1+rnd.IntN(30))]
		}
		var want []int
		for i := range len(s) {
			if strings.HasPrefix(s[i:], old) {
				want = append(want, i)
			}
		}
		if got := occurrences(s, old); !slices.Equal(got, want) {
			t.Fatalf("occurrences(%q, %q) = %v, want %v", s, old, got, want)
		}
	}
}
