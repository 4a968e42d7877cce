package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/internal/atomicfile"
	ev "github.com/luthier-dev/luthier/retrieval/internal/eval"
	"github.com/luthier-dev/luthier/retrieval/internal/gitlog"
	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// asked is a query with the features of its results.
type asked struct {
	Query   ev.Query
	Example *ranking.Example
}

// learn finds weights for the features, and measures them on repositories that they were not
// learned from.
func learn(ctx context.Context, pattern string, o *options) error {
	by, err := load(pattern, o)
	if err != nil {
		return err
	}
	all, err := collect(ctx, by, o)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.Query.Repo, b.Query.Repo), cmp.Compare(a.Query.ID, b.Query.ID))
	})
	fmt.Printf("each repository by weights of the others\n%s", ev.Table(crossed(all, sorted(by))))
	if o.out == "" {
		return nil
	}
	b, err := json.MarshalIndent(ranking.Learn(examples(all), ranking.LearnOptions{}), "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(b, '\n'), 0o644)
}

// example ranks one tree for one query, with arbitrary weights.
func example(ctx context.Context, q ev.Query, dir, git, cache string, o *options) (*ranking.Example, error) {
	seg, err := index(ctx, dir)
	if err != nil {
		return nil, err
	}
	var log *ranking.Log
	if !o.noHistory {
		h, err := gitlog.Open(ctx, dir, gitlog.Options{
			CacheDir: filepath.Join(cache, q.Mirror), GitDir: git, Head: q.Commit,
			Tokenizer: ranking.LogWords, TokenizerKey: ranking.TokenizerKey,
		})
		if err != nil {
			return nil, err
		}
		log = ranking.NewLog(h)
	}
	log.Set(seg.Info)
	r := ranking.Rank(ranking.Parse(q.Text), []ranking.Segment{seg}, log, ranking.Learned(), nil)
	r.Keep(q.InScope)
	places := func(path string, start, end int) bool {
		p, _ := ev.Place(q, []ev.Hit{{Path: path, StartLine: start, EndLine: end}})
		return p.Hit[0] > 0
	}
	if len(q.Hunks) == 0 {
		places = nil
	}
	return r.Example(func(path string) bool { return slices.Contains(q.Files, path) }, places), nil
}

// index indexes a tree in memory.
func index(ctx context.Context, dir string) (ranking.Segment, error) {
	tree, err := worktree.Scan(ctx, dir, worktree.Options{})
	if err != nil {
		return ranking.Segment{}, err
	}
	root, err := worktree.OpenRoot(dir)
	if err != nil {
		return ranking.Segment{}, err
	}
	defer root.Close()
	memory := ranking.NewMemory()
	for _, f := range tree.Files {
		raw, _, err := root.ReadFile(f.Path, worktree.DefaultMaxFileSize)
		if err != nil {
			return ranking.Segment{}, err
		}
		text, _ := worktree.Text(raw)
		memory.Add(&f, text)
	}
	return memory.Segment()
}

func examples(all []asked) []*ranking.Example {
	var out []*ranking.Example
	for _, a := range all {
		out = append(out, a.Example)
	}
	return out
}

// folds is the number of parts into which the repositories are split for cross-validation.
const folds = 5

// crossed measures each part with the weights learned from the others.
func crossed(all []asked, repos []string) []ev.Result {
	var out []ev.Result
	for k := range folds {
		held := func(a asked) bool { return slices.Index(repos, a.Query.Repo)%folds == k }
		m := ranking.Learn(examples(slices.DeleteFunc(slices.Clone(all), held)), ranking.LearnOptions{})
		for _, a := range all {
			if !held(a) {
				continue
			}
			files, places := a.Example.Rank(m)
			var hits []ev.Hit
			for _, p := range places {
				hits = append(hits, ev.Hit{Path: p.Path, StartLine: p.Start, EndLine: p.End})
			}
			out = append(out, ev.Score(a.Query, files).WithPlace(a.Query, hits))
		}
	}
	return out
}

// collect makes the examples, or loads them from the file of an earlier run.
func collect(ctx context.Context, by map[string][]ev.Query, o *options) ([]asked, error) {
	if b, err := os.ReadFile(o.keep); o.keep != "" && err == nil {
		var all []asked
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&all); err != nil {
			return nil, fmt.Errorf("read %s: %w; remove it to search again", o.keep, err)
		}
		return all, nil
	}
	cache, err := os.MkdirTemp("", "retrieve-log-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	var mu sync.Mutex
	var all []asked
	err = eachTree(ctx, by, o, func(ctx context.Context, q ev.Query, dir, git string) error {
		e, err := example(ctx, q, dir, git, cache, o)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, asked{q, e})
		return err
	})
	if err != nil || o.keep == "" {
		return all, err
	}
	return all, atomicfile.Write(o.keep, atomicfile.Options{Perm: 0o644}, func(w io.Writer) error { return gob.NewEncoder(w).Encode(all) })
}
