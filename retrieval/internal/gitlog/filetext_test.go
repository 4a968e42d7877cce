package gitlog_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// naiveTexts concatenates the messages of each file and scores them with the textbook formula.
func naiveTexts(l *gitlog.Log, words []string, weights []float32) map[string]float32 {
	type doc struct {
		tf map[string]float64
		n  float64
	}
	docs := map[gitlog.FileID]*doc{}
	for _, c := range l.Commits() {
		if len(c.Files) == 0 || len(c.Files) > 15 {
			continue
		}
		share := 1 / math.Sqrt(float64(len(c.Files)))
		for _, f := range c.Files {
			if docs[f] == nil {
				docs[f] = &doc{tf: map[string]float64{}}
			}
			d := docs[f]
			for _, w := range gitlog.Words(c.Subject) {
				d.tf[w] += share
				d.n += share
			}
			for _, w := range gitlog.Words(c.Body) {
				d.tf[w] += share / 2
				d.n += share / 2
			}
		}
	}
	mean, n := 0.0, float64(len(docs))
	for _, d := range docs {
		mean += d.n / n
	}
	out := map[string]float32{}
	for f, d := range docs {
		score := 0.0
		for i, w := range words {
			df := 0.0
			for _, e := range docs {
				if e.tf[w] > 0 {
					df++
				}
			}
			if slices.Index(words, w) == i && d.tf[w] > 0 {
				score += float64(weights[i]) * math.Log(1+(n-df+0.5)/(df+0.5)) * d.tf[w] * 2.2 / (d.tf[w] + 1.2*(0.4+0.6*d.n/mean))
			}
		}
		if score > 0 && !l.Deleted()[f] {
			out[l.Files()[f]] = float32(score)
		}
	}
	return out
}

// TestScoreTexts checks that the scores of files equal those of the formula.
func TestScoreTexts(t *testing.T) {
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(23, 24)), 100)
	wide := files{}
	for i := range 16 {
		wide[fmt.Sprintf("wide/%d.go", i)] = "alpha"
	}
	heads = append(heads, r.commit("alpha beta in very many files", wide))
	for _, head := range []string{heads[99], heads[100]} {
		l := open(t, r.dir, gitlog.Options{Head: head})
		for _, q := range [][]string{{"alpha"}, {"beta", "gamma", "beta"}, {"theta", "unheard", "iota", "mu"}, {"unheard"}, nil} {
			weights := make([]float32, len(q))
			for i := range weights {
				weights[i] = float32(i + 1)
			}
			got := map[string]float32{}
			for f, s := range l.ScoreTexts(q, weights) {
				if s != 0 {
					got[l.Files()[f]] = s
				}
			}
			if d := cmp.Diff(naiveTexts(l, q, weights), got, cmpopts.EquateApprox(1e-4, 0)); d != "" {
				t.Errorf("%v (-want +got):\n%s", q, d)
			}
		}
	}
	empty := open(t, t.TempDir(), gitlog.Options{})
	if got := empty.ScoreTexts([]string{"alpha"}, nil); len(got) != 0 {
		t.Errorf("without a repository: %v", got)
	}
}
