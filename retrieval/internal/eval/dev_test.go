package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/eval"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
)

// ranker is a search to measure.
type ranker struct {
	name string
	rank func(ctx context.Context, e *env, dir string, q eval.Query) ([]string, error)
}

// env is shared by the queries of a repository.
type env struct {
	trees *eval.Trees
	bm25  *eval.BM25
	cache string
}

var rankers = []ranker{
	{"ripgrep by lines", func(ctx context.Context, _ *env, dir string, q eval.Query) ([]string, error) {
		return eval.RipgrepLines(ctx, dir, q.Text)
	}},
	{"ripgrep by words", func(ctx context.Context, _ *env, dir string, q eval.Query) ([]string, error) {
		return eval.RipgrepWords(ctx, dir, q.Text)
	}},
	{"BM25 over files", func(_ context.Context, e *env, dir string, q eval.Query) ([]string, error) {
		return e.bm25.Rank(dir, q.Text)
	}},
	{"history", func(ctx context.Context, e *env, dir string, q eval.Query) ([]string, error) {
		return historyRank(ctx, e, q, gitlog.Options{}, gitlog.Params{})
	}},
}

func historyRank(ctx context.Context, e *env, q eval.Query, o gitlog.Options, p gitlog.Params) ([]string, error) {
	o.GitDir, o.Head, o.CacheDir = e.trees.GitDir(q.Mirror), q.Commit, e.cache
	l, err := gitlog.Open(ctx, o.GitDir, o)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range l.ScoreFiles(gitlog.Words(q.Text), p) {
		out = append(out, l.Files()[f.File])
	}
	return out, nil
}

// TestMeasure prints the figures of the baselines on the available queries. It runs only if
// configured: LUTHIER_MIRRORS names the repositories, LUTHIER_QUERIES a pattern of files.
func TestMeasure(t *testing.T) {
	mirrors, pattern := os.Getenv("LUTHIER_MIRRORS"), os.Getenv("LUTHIER_QUERIES")
	if mirrors == "" || pattern == "" {
		t.Skip("set LUTHIER_MIRRORS and LUTHIER_QUERIES to measure")
	}
	queries, err := eval.Load(pattern)
	if err != nil {
		t.Fatal(err)
	}
	trees, err := eval.NewTrees(mirrors, os.Getenv("LUTHIER_TREES"))
	if err != nil {
		t.Fatal(err)
	}
	defer trees.Close()
	slices.SortStableFunc(queries, func(a, b eval.Query) int {
		return strings.Compare(a.Mirror+a.Date, b.Mirror+b.Date)
	})
	results := make([][]eval.Result, len(rankers))
	e := &env{trees: trees, cache: t.TempDir()}
	var checkouts time.Duration
	for i, q := range queries {
		if i == 0 || q.Mirror != queries[i-1].Mirror {
			e.bm25 = eval.NewBM25()
		}
		start := time.Now()
		dir, release, err := trees.Checkout(t.Context(), q.Mirror, q.Commit)
		if err != nil {
			t.Fatal(err)
		}
		checkouts += time.Since(start)
		for i, r := range rankers {
			start := time.Now()
			ranked, err := r.rank(t.Context(), e, dir, q)
			if err != nil {
				t.Fatal(err)
			}
			ranked = slices.DeleteFunc(ranked, func(p string) bool {
				_, err := os.Lstat(filepath.Join(dir, p))
				return err != nil
			})
			res := eval.Score(q, ranked)
			res.Seconds = time.Since(start).Seconds()
			results[i] = append(results[i], res)
		}
		release()
	}
	t.Logf("%d queries, a checkout takes %v", len(queries), checkouts/time.Duration(len(queries)))
	for i, r := range rankers {
		t.Logf("%s\n%s", r.name, eval.Table(results[i]))
	}
}
