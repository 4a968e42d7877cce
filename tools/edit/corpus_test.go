package edit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
)

// tally counts the outcomes of one kind of case.
type tally struct{ right, refused, wrong int }

func (c tally) n() int { return c.right + c.refused + c.wrong }

// Thresholds that the engine has to meet.
const (
	minCases = 2000
	minRight = 92.0 // percentage of the edits that should be made
)

// seeds is the number of times that the corpus is generated: go test -run Corpus -v -args -seeds 50
// for a long search.
var seeds = flag.Uint64("seeds", 2, "how many times TestCorpus draws its cases")

// TestCorpus makes thousands of edits in real files, with the typical mistakes of models. No result
// may be wrong, no edit that has to be refused may be made, and nearly all others have to be made.
// Run it with -v for the table.
//
// Evidence: edit · An edit applies where it should, or says why not; none is wrong
func TestCorpus(t *testing.T) {
	tier.Normal(t)
	const files = 120
	counts := make([]tally, len(mutations)+1)
	for seed := range *seeds {
		rnd := rand.New(rand.NewPCG(seed+1, 0))
		for _, src := range sources(t, rnd, files) {
			for m := range mutations {
				runMutation(t, rnd, src, &mutations[m], &counts[m], &counts[len(mutations)])
			}
		}
	}
	should, must := report(t, counts)
	if n := should.n() + must.n(); n < minCases {
		t.Errorf("%d cases, want at least %d", n, minCases)
	}
	if pct := 100 * float64(should.right) / float64(should.n()); pct < minRight {
		t.Errorf("%.1f%% of the edits that should be made were made, want at least %.0f%%", pct, minRight)
	}
	if should.wrong+must.wrong > 0 {
		t.Errorf("%d wrong edits, %d edits that had to be refused", should.wrong, must.wrong)
	}
}

// runMutation makes one case of a kind, if the file allows it, and counts the outcome.
func runMutation(t *testing.T, rnd *rand.Rand, src source, m *mutation, c, twinCount *tally) {
	for range 12 {
		in, ok := pick(rnd, src)
		if !ok {
			return
		}
		e, ok := m.make(rnd, in)
		if !ok || e.r.Old == e.r.New {
			continue
		}
		if !m.apply && e.r.Base == "" && hasTwin(e) {
			m, c = &twins, twinCount
		}
		res, err := Replace(e.content, e.r)
		switch {
		case err != nil:
			c.refused++
			if m.apply && *seeds < 3 && testing.Verbose() && KindOf(err) != Ambiguous {
				t.Logf("%s: %s:%d: %v", m.name, src.path, in.from+1, err)
			}
		case m.apply && slices.Contains(e.right, res.Content):
			c.right++
		default:
			c.wrong++
			if c.wrong < 4 && m != &twins {
				want := ""
				if len(e.right) > 0 {
					want = e.right[0]
				}
				t.Errorf("%s: %s:%d by %s\n%s", m.name, src.path, in.from+1, res.Strategy, wrongness(e, res.Content, want))
			}
		}
		return
	}
}

// twins are edits of a block that is gone, while one other block of the file is the same except for
// the indentation. Nothing in such an edit distinguishes it from an edit of the other block with
// the wrong indentation, which has to be made; only the base does. They are one case in ten
// thousand; they are counted separately and not held against the engine.
var twins = mutation{name: "gone, with a twin of other indentation"}

func hasTwin(e edited) bool {
	old := strings.Split(e.r.Old, "\n")
	return len(windows(levelRight, splitLines(e.content), old)) == 0 && len(windows(levelTrim, splitLines(e.content), old)) == 1
}

// wrongness describes a wrong edit.
func wrongness(e edited, got, want string) string {
	first, last := changedLines(want, got)
	lines := func(s string) string {
		ls := strings.Split(s, "\n")
		return join2(ls[min(len(ls), max(0, first-3)):min(len(ls), last+3)])
	}
	return fmt.Sprintf("old:\n%s\nnew:\n%s\ngot lines %d-%d:\n%s\nwant:\n%s", e.r.Old, e.r.New, first, last, lines(got), lines(want))
}

// report prints the table with its totals.
func report(t *testing.T, counts []tally) (should, must tally) {
	t.Logf("%-42s %6s %6s %8s %6s", "kind", "cases", "made", "refused", "wrong")
	twin := counts[len(mutations)]
	t.Logf("%-42s %6d %6d %8d %6d", twins.name, twin.n(), twin.right, twin.refused, twin.wrong)
	for i, c := range counts[:len(mutations)] {
		t.Logf("%-42s %6d %6d %8d %6d", mutations[i].name, c.n(), c.right, c.refused, c.wrong)
		sum := &must
		if mutations[i].apply {
			sum = &should
		}
		sum.right, sum.refused, sum.wrong = sum.right+c.right, sum.refused+c.refused, sum.wrong+c.wrong
	}
	t.Logf("%-42s %6d %6d %8d %6d  (%.2f%% made)", "all that should be made", should.n(), should.right, should.refused, should.wrong,
		100*float64(should.right)/float64(should.n()))
	t.Logf("%-42s %6d %6d %8d %6d", "all that must be refused", must.n(), must.right, must.refused, must.wrong)
	return should, must
}
