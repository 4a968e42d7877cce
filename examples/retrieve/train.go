package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/internal/history"
	"github.com/luthier-dev/luthier/internal/lexical"
	"github.com/luthier-dev/luthier/internal/ranking"
	ev "github.com/luthier-dev/luthier/internal/retrievaleval"
	"github.com/luthier-dev/luthier/internal/source"
)

// asked is a query with the features of what it found.
type asked struct {
	q ev.Query
	*ranking.Example
}

// learn finds weights for the features, and measures them on repositories that they
// were not learned from.
func learn(ctx context.Context, pattern string, o *options) error {
	by, err := load(pattern, o)
	if err != nil {
		return err
	}
	cache, err := os.MkdirTemp("", "retrieve-log-")
	if err != nil {
		return err
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
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b asked) int { return cmp.Or(cmp.Compare(a.q.Repo, b.q.Repo), cmp.Compare(a.q.ID, b.q.ID)) })
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

// example ranks one tree for one query with weights that do not matter.
func example(ctx context.Context, q ev.Query, dir, git, cache string, o *options) (*ranking.Example, error) {
	seg, err := index(ctx, dir)
	if err != nil {
		return nil, err
	}
	var log *ranking.Log
	if !o.noHistory {
		h, err := history.Open(ctx, dir, history.Options{
			CacheDir: filepath.Join(cache, q.Mirror), GitDir: git, Head: q.Commit,
			Tokenizer: ranking.LogWords, TokenizerKey: ranking.TokenizerKey,
		})
		if err != nil {
			return nil, err
		}
		log = ranking.NewLog(h)
	}
	log.Set(seg.Info)
	ranking.SharesOf(seg.Info).Set(seg.Info)
	r := ranking.Rank(ranking.Parse(q.Text), []ranking.Segment{seg}, log, ranking.Learned())
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
	tree, err := source.Scan(ctx, dir, source.Options{})
	if err != nil {
		return ranking.Segment{}, err
	}
	root, err := source.OpenRoot(dir)
	if err != nil {
		return ranking.Segment{}, err
	}
	defer root.Close()
	b := lexical.NewBuilder()
	ix := ranking.NewIndexer(b)
	var table []ranking.Info
	for _, f := range tree.Files {
		raw, _, err := root.ReadFile(f.Path, source.DefaultMaxFileSize)
		if err != nil {
			return ranking.Segment{}, err
		}
		text, _ := source.Text(raw)
		table = append(table, ranking.Info{Path: f.Path, Class: f.Class, Lines: ix.Add(f.Path, text)})
	}
	lex, err := lexical.Open(b.Bytes())
	if err != nil {
		return ranking.Segment{}, err
	}
	return ranking.Segment{Lex: lex, Sizes: ranking.SizesOf(lex), Info: table}, nil
}

func examples(all []asked) []*ranking.Example {
	var out []*ranking.Example
	for _, a := range all {
		out = append(out, a.Example)
	}
	return out
}

// folds is how many parts the repositories are cut into to measure.
const folds = 5

// crossed measures each part with the weights learned from the others.
func crossed(all []asked, repos []string) []ev.Result {
	var out []ev.Result
	for k := range folds {
		held := func(a asked) bool { return slices.Index(repos, a.q.Repo)%folds == k }
		m := ranking.Learn(examples(slices.DeleteFunc(slices.Clone(all), held)), ranking.LearnOptions{})
		for _, a := range all {
			if !held(a) {
				continue
			}
			files, places := a.Rank(m)
			var hits []ev.Hit
			for _, p := range places {
				hits = append(hits, ev.Hit{Path: p.Path, StartLine: p.Start, EndLine: p.End})
			}
			out = append(out, ev.Score(a.q, files).WithPlace(a.q, hits))
		}
	}
	return out
}
