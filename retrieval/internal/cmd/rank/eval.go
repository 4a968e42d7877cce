package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/luthier-dev/luthier/retrieval"
	ev "github.com/luthier-dev/luthier/retrieval/internal/eval"
)

// load reads the queries that the options select, by repository.
func load(pattern string, o *options) (map[string][]ev.Query, error) {
	if o.mirrors == "" {
		return nil, errors.New("give -mirrors, the directory of the queries' repositories")
	}
	all, err := ev.Load(pattern)
	if err != nil {
		return nil, err
	}
	by := map[string][]ev.Query{}
	for i, q := range all {
		if i%max(o.every, 1) == 0 && strings.Contains(q.Repo, o.only) {
			by[q.Repo] = append(by[q.Repo], q)
		}
	}
	return by, nil
}

// eachTree calls fn for each query with its tree as a directory. Queries of one repository run one
// after the other, repositories in parallel.
func eachTree(ctx context.Context, by map[string][]ev.Query, o *options, fn func(ctx context.Context, q ev.Query, dir, git string) error) error {
	scratch, err := os.MkdirTemp("", "retrieve-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	trees, err := ev.NewTrees(o.mirrors, filepath.Join(scratch, "trees"))
	if err != nil {
		return err
	}
	defer trees.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	for _, repo := range sorted(by) {
		slots <- true
		wg.Go(func() {
			defer func() { <-slots }()
			for _, q := range by[repo] {
				if ctx.Err() != nil {
					return
				}
				dir, release, err := trees.Checkout(ctx, q.Mirror, q.Commit)
				if err == nil {
					err = fn(ctx, q, dir, trees.GitDir(q.Mirror))
					release()
				}
				if err != nil {
					cancel(fmt.Errorf("%s: %w", q.ID, err))
					return
				}
			}
			fmt.Fprintf(os.Stderr, "%s: %d queries\n", repo, len(by[repo]))
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// evaluate measures the search and prints the scores, together with those of the baselines.
func evaluate(ctx context.Context, pattern string, o *options) error {
	by, err := load(pattern, o)
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp("", "retrieve-index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	var mu sync.Mutex
	results := map[string][]ev.Result{}
	bm25 := map[string]*ev.BM25{}
	for repo := range by {
		bm25[repo] = ev.NewBM25()
	}
	add := func(name string, r ev.Result) {
		mu.Lock()
		results[name] = append(results[name], r)
		mu.Unlock()
	}
	err = eachTree(ctx, by, o, func(ctx context.Context, q ev.Query, dir, git string) error {
		r, err := ours(ctx, q, dir, git, cache, o)
		if err != nil {
			return err
		}
		add("luthier", r)
		if o.quick {
			return nil
		}
		for _, b := range []struct {
			name string
			rank func(context.Context, string, string) ([]string, error)
		}{
			{"ripgrep, lines", ev.RipgrepLines}, {"ripgrep, distinct words", ev.RipgrepWords},
			{"BM25 of files", func(_ context.Context, dir, text string) ([]string, error) { return bm25[q.Repo].Rank(dir, text) }},
		} {
			ranked, err := b.rank(ctx, dir, q.Text)
			if errors.Is(err, ev.ErrNoRipgrep) {
				continue
			}
			if err != nil {
				return err
			}
			add(b.name, ev.Score(q, ranked))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range sorted(results) {
		fmt.Printf("\n%s\n%s", name, ev.Table(results[name]))
	}
	return nil
}

// ours searches with an Index, as any program would.
func ours(ctx context.Context, q ev.Query, dir, git, cache string, o *options) (ev.Result, error) {
	x, err := retrieval.Open(ctx, dir, retrieval.Config{CacheDir: cache, GitDir: git, Head: q.Commit, NoHistory: o.noHistory})
	if err != nil {
		return ev.Result{}, err
	}
	defer x.Close()
	began := time.Now()
	hits, err := x.Search(ctx, retrieval.Query{Text: q.Text, K: 400, PerFile: -1})
	if err != nil {
		return ev.Result{}, err
	}
	took := time.Since(began)
	var files []string
	var places []ev.Hit
	for _, h := range hits {
		if !q.InScope(h.Path) {
			continue
		}
		places = append(places, ev.Hit{Path: h.Path, StartLine: h.StartLine, EndLine: h.EndLine})
		if !slices.Contains(files, h.Path) {
			files = append(files, h.Path)
		}
	}
	r := ev.Score(q, files).WithPlace(q, places)
	r.Seconds = took.Seconds()
	return r, nil
}
