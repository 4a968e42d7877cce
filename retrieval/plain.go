package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/luthier-dev/luthier/retrieval/internal/codestore"
	"github.com/luthier-dev/luthier/retrieval/internal/ranking"
	"github.com/luthier-dev/luthier/retrieval/internal/words"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// plainBytes limits the bytes that a search without an index reads.
const plainBytes = 64 << 20

// plainReason is the Why of hits that were found without an index.
const plainReason = "found without the index, which is still being made"

// plain searches the files directly: the files with the most query words are indexed in memory, and
// ranked as usual. It needs no index and no log.
func (x *Index) plain(ctx context.Context, q Query) ([]Hit, error) {
	tree, err := x.files(ctx)
	if err != nil {
		return nil, fmt.Errorf("retrieval: search: %w", err)
	}
	parsed := ranking.Parse(q.Text)
	best, err := x.mostWords(ctx, parsed, tree)
	if err != nil {
		return nil, fmt.Errorf("retrieval: search: %w", err)
	}
	memory := ranking.NewMemory()
	texts := map[string]*text{}
	for _, f := range best {
		t := x.readText(ctx, codestore.Doc{File: f})
		if t.err != nil {
			continue
		}
		t.stale = false // the text that was just read is the text that was ranked
		texts[f.Path] = t
		memory.Add(&f, t.content)
	}
	seg, err := memory.Segment()
	if err != nil {
		return nil, fmt.Errorf("retrieval: search: %w", err)
	}
	r := ranking.Rank(parsed, []ranking.Segment{seg}, nil, ranking.Learned(), nil)
	x.personalise(&q, r)
	return q.pick(r, r.Places(ranking.Learned(), nil), func(f *ranking.File) (*text, string) {
		return texts[r.Path(f)], plainReason
	}), nil
}

// files returns the tree as currently known. If there was no scan yet, it scans the tree.
func (x *Index) files(ctx context.Context) (*worktree.Tree, error) {
	if tree := x.tree.Load(); tree != nil {
		return tree, nil
	}
	return x.root.scan(ctx, x.scanOptions())
}

// plainFiles is the number of files that a search without an index ranks.
const plainFiles = 300

// mostWords returns the files of a tree that contain the most query words.
func (x *Index) mostWords(ctx context.Context, pq *ranking.Query, tree *worktree.Tree) ([]worktree.File, error) {
	type counted struct {
		f worktree.File
		n float32
	}
	var mu sync.Mutex
	var all []counted
	var failed error // the tree cannot be opened
	var wg sync.WaitGroup
	next := make(chan worktree.File)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var l words.Lexer
			var s words.Splitter
			for f := range next {
				t := x.readText(ctx, codestore.Doc{File: f})
				if t.err != nil {
					if refused(t.err) {
						mu.Lock()
						failed = t.err
						mu.Unlock()
					}
					continue
				}
				if n := pq.Count(&l, &s, f.Path, t.content); n > 0 {
					mu.Lock()
					all = append(all, counted{f, n})
					mu.Unlock()
				}
			}
		})
	}
	read := int64(0)
	for _, f := range tree.Files {
		if read += f.Size; read > plainBytes || ctx.Err() != nil {
			break
		}
		next <- f
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if failed != nil {
		return nil, failed
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.f.Path, b.f.Path)) })
	var out []worktree.File
	for _, c := range all[:min(len(all), plainFiles)] {
		out = append(out, c.f)
	}
	slices.SortFunc(out, func(a, b worktree.File) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}
