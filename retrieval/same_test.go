package retrieval_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// withScores returns, for each query, the hits with the reasons for them, and their scores.
func withScores(t testing.TB, x *retrieval.Index) (map[string][]string, map[string]float64) {
	t.Helper()
	out, scores := map[string][]string{}, map[string]float64{}
	for _, q := range tenQueries {
		hits, err := x.Search(t.Context(), retrieval.Query{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			at := fmt.Sprintf("%s: %s:%d", q, h.Path, h.StartLine)
			scores[at] = h.Score
			out[at] = h.Why
		}
	}
	maps.Copy(out, answers(t, x))
	return out, scores
}

// TestSameTreeSameAnswers reaches the same tree in several ways. If no document was replaced, hits,
// their order and their scores are exactly the same. If documents were replaced, scores may differ
// only by the weight of those documents in the word statistics, and the order only among places
// with about the same score.
//
// Evidence: retrieval · The same tree gives the same answers, however it was reached
func TestSameTreeSameAnswers(t *testing.T) {
	tier.Normal(t)
	dir := lessGoSource(t, "encoding")
	fresh := open(t, dir, retrieval.Config{})
	want, scores := withScores(t, fresh)
	var all []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, p)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct {
		exact bool
		reach func(t *testing.T, to string, cfg retrieval.Config) *retrieval.Index
	}{
		"opened again": {true, func(t *testing.T, to string, cfg retrieval.Config) *retrieval.Index {
			for _, f := range all {
				put(t, to, f, read(f))
			}
			open(t, to, cfg).Close()
			return open(t, to, cfg)
		}},
		"one file at a time": {true, func(t *testing.T, to string, cfg retrieval.Config) *retrieval.Index {
			x := open(t, to, cfg)
			for _, f := range all {
				put(t, to, f, read(f))
				if err := x.Update(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
			return x
		}},
		"in two halves, backwards": {true, func(t *testing.T, to string, cfg retrieval.Config) *retrieval.Index {
			x := open(t, to, cfg)
			for i := len(all) - 1; i >= 0; i-- {
				put(t, to, all[i], read(all[i]))
				if i == len(all)/2 || i == 0 {
					if err := x.Update(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			return x
		}},
		"searched before all is there": {true, func(t *testing.T, to string, cfg retrieval.Config) *retrieval.Index {
			put(t, to, "encoding/first.py", "import os\n")
			x := open(t, to, cfg)
			allReady(t, x)
			answers(t, x)
			os.Remove(filepath.Join(to, "encoding/first.py"))
			for _, f := range all {
				put(t, to, f, read(f))
			}
			if err := x.Update(t.Context(), "."); err != nil {
				t.Fatal(err)
			}
			return x
		}},
		"after detours": {false, func(t *testing.T, to string, cfg retrieval.Config) *retrieval.Index {
			for i, f := range all {
				if i%3 != 0 {
					put(t, to, f, read(f))
				} else {
					put(t, to, f, animal("lynx")+read(f))
				}
				put(t, to, f+".more.go", read(f))
			}
			x := open(t, to, cfg)
			answers(t, x)
			for i, f := range all {
				put(t, to, f, read(f))
				os.Remove(filepath.Join(to, f+".more.go"))
				if i%5 == 0 {
					if err := x.Update(t.Context(), f, f+".more.go"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := x.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
			return x
		}},
	} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			x := c.reach(t, to, retrieval.Config{CacheDir: t.TempDir()})
			allReady(t, x)
			got, gotScores := withScores(t, x)
			worst := 0.0
			for k, s := range gotScores {
				if w, ok := scores[k]; ok {
					worst = max(worst, math.Abs(w-s))
				}
			}
			t.Logf("scores differ by %.6f at most; %d segments", worst, layerNamed(t, x.Status(), "index").Segments)
			if !c.exact {
				nearFresh(t, x, to, name)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("other hits (-fresh +have):\n%s", short(diff))
			}
			if worst > 1e-3 {
				t.Errorf("scores differ by %f", worst)
			}
		})
	}
	for range tier.Pick(1, 3, 5) {
		again, _ := withScores(t, fresh)
		if diff := cmp.Diff(want, again); diff != "" {
			t.Fatalf("asked again, other hits:\n%s", short(diff))
		}
	}
}

// TestTies checks that files that match a query equally well are returned in a fixed order.
func TestTies(t *testing.T) {
	dir, n := t.TempDir(), tier.Pick(120, 300, 300)
	for i := range n {
		put(t, dir, fmt.Sprintf("t/f%03d.go", i), animal("lemming"))
	}
	fresh := open(t, dir, retrieval.Config{})
	want := paths(t, fresh, retrieval.Query{Text: "lemming", K: 50})
	to := t.TempDir()
	x := open(t, to, retrieval.Config{})
	for i := n - 1; i >= 0; i-- {
		put(t, to, fmt.Sprintf("t/f%03d.go", i), animal("lemming"))
		if i%(n/5) == 0 {
			if err := x.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, paths(t, x, retrieval.Query{Text: "lemming", K: 50})); diff != "" {
		t.Errorf("ties are in another order (-fresh +have):\n%s", short(diff))
	}
}
