package gitlog_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

const k1, b = 1.2, 0.75

// naiveSearch is textbook BM25.
func naiveSearch(l *gitlog.Log, words []string, sw float64) []gitlog.CommitScore {
	type doc struct {
		commit int
		tf     map[string]float64
		n      float64
	}
	var docs []doc
	total := 0.0
	for i, c := range l.Commits() {
		if len(c.Files) == 0 {
			continue
		}
		d := doc{i, map[string]float64{}, 0}
		for _, w := range gitlog.Words(c.Subject) {
			d.tf[w] += sw
			d.n += sw
		}
		for _, w := range gitlog.Words(c.Body) {
			d.tf[w]++
			d.n++
		}
		docs, total = append(docs, d), total+d.n
	}
	n, mean := float64(len(docs)), total/float64(len(docs))
	var out []gitlog.CommitScore
	for _, d := range docs {
		score := 0.0
		for _, w := range slices.Compact(slices.Sorted(slices.Values(words))) {
			df := 0.0
			for _, e := range docs {
				if e.tf[w] > 0 {
					df++
				}
			}
			score += math.Log(1+(n-df+0.5)/(df+0.5)) * d.tf[w] * (k1 + 1) / (d.tf[w] + k1*(1-b+b*d.n/mean))
		}
		if score > 0 {
			out = append(out, gitlog.CommitScore{Commit: d.commit, Score: float32(score)})
		}
	}
	slices.SortStableFunc(out, func(a, b gitlog.CommitScore) int {
		switch {
		case math.Abs(float64(a.Score-b.Score)) < 1e-4:
			return a.Commit - b.Commit
		case a.Score > b.Score:
			return -1
		}
		return 1
	})
	return out
}

// TestSearchIsBM25 compares the index with the formula.
func TestSearchIsBM25(t *testing.T) {
	r := newRepo(t)
	heads := r.randomHistory(rand.New(rand.NewPCG(21, 22)), 100)
	p := gitlog.Params{K1: k1, B: b}
	for _, key := range []string{"", "v1"} { // without and with words in the cache
		l := open(t, r.dir, gitlog.Options{Head: heads[99], CacheDir: t.TempDir(), TokenizerKey: key, Tokenizer: gitlog.Words})
		for _, q := range [][]string{{"alpha"}, {"beta", "gamma", "beta"}, {"theta", "unheard", "iota", "mu"}} {
			want := naiveSearch(l, q, 2)
			got := l.Search(q, len(want)+5, p)
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-3)); d != "" {
				t.Errorf("%v (-want +got):\n%s", q, d)
			}
			if few := l.Search(q, 3, p); !cmp.Equal(got[:min(3, len(got))], few) {
				t.Errorf("%v: the best three are %v, want %v", q, few, got[:3])
			}
		}
	}
}

// TestScoreFiles compares the votes with sums made by hand.
func TestScoreFiles(t *testing.T) {
	r := newRepo(t)
	r.commit("parser", files{"parse.go": "1", "lex.go": "1"})
	r.commit("parser again parser", files{"parse.go": "2"})
	r.commit("something else", files{"other.go": "1"})
	r.commit("parser dies", files{"dead.go": "1"})
	r.commit("remove", files{"dead.go": ""})
	l := open(t, r.dir, gitlog.Options{})
	p := gitlog.Params{FileExponent: 1, RankDecay: 0.5}
	want := map[string]float32{}
	for rank, c := range l.Search([]string{"parser"}, 50, p) {
		fs := l.Commit(c.Commit).Files
		for _, f := range fs {
			want[l.Files()[f]] += c.Score / float32(1+len(fs)) / (1 + float32(rank)*0.5)
		}
	}
	p.Deleted = true
	scores := func() map[string]float32 {
		got := map[string]float32{}
		last := float32(math.Inf(1))
		for _, s := range l.ScoreFiles([]string{"parser"}, p) {
			got[l.Files()[s.File]] = s.Score
			if s.Score > last {
				t.Error("not in order")
			}
			last = s.Score
		}
		return got
	}
	if d := cmp.Diff(want, scores(), cmpopts.EquateApprox(1e-5, 0)); d != "" {
		t.Errorf("votes (-want +got):\n%s", d)
	}
	p.Deleted = false
	delete(want, "dead.go")
	if d := cmp.Diff(want, scores(), cmpopts.EquateApprox(1e-5, 0)); d != "" {
		t.Errorf("votes without files that are gone (-want +got):\n%s", d)
	}
	p.Weights = []float32{0}
	if got := l.Search([]string{"parser"}, 5, p); len(got) != 0 {
		t.Errorf("a word of no weight finds %v", got)
	}
}

// TestTokenizerKey checks that words are made again if the tokenizer changes.
func TestTokenizerKey(t *testing.T) {
	t.Parallel()
	r := three(t)
	cache := t.TempDir()
	marked := func(mark string) func(string) []string {
		return func(s string) []string {
			out := gitlog.Words(s)
			for i := range out {
				out[i] = mark + out[i]
			}
			return out
		}
	}
	for _, o := range []struct{ key, mark string }{{"x", "x"}, {"y", "y"}, {"", "z"}, {"x", "x"}} {
		l := open(t, r.dir, gitlog.Options{CacheDir: cache, TokenizerKey: o.key, Tokenizer: marked(o.mark)})
		if got := l.Search([]string{o.mark + "two"}, 5, gitlog.Params{}); len(got) != 1 {
			t.Errorf("with key %q: found %v, want one commit", o.key, got)
		}
		if l.Status().Read > 0 && o.key != "x" {
			t.Errorf("with key %q commits were read anew", o.key)
		}
	}
}
