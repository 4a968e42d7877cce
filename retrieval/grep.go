package retrieval

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/grep"
	"github.com/luthier-dev/luthier/retrieval/internal/trigram"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// GrepQuery selects the lines to find.
type GrepQuery struct {
	Pattern  string // a regular expression in RE2's syntax, matched line by line
	Literal  bool   // the pattern is text, not an expression
	FoldCase bool   // ignore case
	Under    []string
	Limit    int // maximum number of lines; 0 means no limit
}

// Line is a matching line.
type Line struct {
	Path   string
	Number int    // from 1
	Text   []byte // without its line ending; the caller may keep and change it
}

// Grep finds the matching lines of indexed files, by path and line. It uses the index to read only
// files that may contain a match; until the index is ready, it reads all files. The result is exact
// for files that did not change since the last [Index.Update]. A file that cannot be read yields an
// error, after which the search continues.
func (x *Index) Grep(ctx context.Context, q GrepQuery) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		if err := x.grep(ctx, &q, yield); err != nil {
			yield(Line{}, fmt.Errorf("retrieval: grep: %w", err))
		}
	}
}

func (x *Index) grep(ctx context.Context, q *GrepQuery, yield func(Line, error) bool) error {
	if x.closed.Load() {
		return ErrClosed
	}
	p, err := grep.Compile(q.Pattern, grep.Options{Literal: q.Literal, FoldCase: q.FoldCase})
	if err != nil {
		return err
	}
	if err := x.current(ctx); err != nil {
		return err
	}
	defer x.lent.hold()()
	paths, err := x.mayMatch(ctx, trigram.CompileTree(p.Tree()))
	if err != nil {
		return err
	}
	under := Query{Under: q.Under}
	paths = slices.DeleteFunc(paths, func(p string) bool { return !under.allows(p) })
	slices.Sort(paths)
	docs := make([]uint32, len(paths))
	for i := range docs {
		docs[i] = uint32(i)
	}
	read := func(doc uint32, _ []byte) ([]byte, error) {
		raw, _, err := x.root.read(ctx, paths[doc], max(x.cfg.MaxFileSize, worktree.DefaultMaxFileSize))
		text, _ := worktree.Text(raw)
		return text, err
	}
	for m, err := range grep.Search(ctx, docs, read, p, grep.SearchOptions{Limit: q.Limit}) {
		l := Line{Number: m.Number, Text: bytes.Clone(m.Text)}
		if int(m.Doc) < len(paths) {
			l.Path = paths[m.Doc]
		}
		if refused(err) {
			return err
		}
		if err != nil {
			err = fmt.Errorf("retrieval: grep: %w", err)
		}
		if !yield(l, err) {
			return nil
		}
	}
	return nil
}

// mayMatch returns the paths of the files that may contain a match.
func (x *Index) mayMatch(ctx context.Context, q *trigram.Query) ([]string, error) {
	if x.trigrams == nil || !x.trigrams.isReady() || x.trigrams.wait(ctx) != nil {
		tree, err := x.files(ctx)
		if err != nil {
			return nil, err
		}
		paths := make([]string, 0, len(tree.Files))
		for i := range tree.Files {
			paths = append(paths, tree.Files[i].Path)
		}
		return paths, nil
	}
	var paths []string
	err := x.rebuilding(ctx, func() error {
		paths = nil
		view, err := x.trigrams.store.View()
		if err != nil {
			return err
		}
		defer view.Close()
		for _, seg := range view.Segments() {
			r, err := opened(seg, trigramSection, trigram.Open)
			if err != nil {
				return err
			}
			for _, d := range r.Candidates(q) {
				if int(d) < seg.Docs() && seg.Live(int(d)) {
					paths = append(paths, strings.Clone(seg.Path(int(d))))
				}
			}
		}
		return nil
	})
	return paths, err
}
