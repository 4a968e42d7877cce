package codestore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Update brings a few paths of the index up to date. The parameter files has their current states
// below root, as [worktree.Look] returns them. A file with Skip set stands for everything at and
// below its path; such paths are dropped first. Then the other files are read and, if their content
// differs, built into one small segment; small segments are folded if there are many. Unlike Sync
// it does not wait for the disk. The parameter since may be nil, as for Sync.
func (s *Store) Update(ctx context.Context, root string, since *Since, files ...worktree.File) (Report, error) {
	base, end, err := s.begin(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("codestore: update: %w", err)
	}
	defer end()
	w, err := s.newWriter(root, nil)
	if err != nil {
		return Report{}, fmt.Errorf("codestore: update: %w", err)
	}
	defer w.close()
	if files, err = since.files(ctx, base, files); err != nil {
		return Report{}, fmt.Errorf("codestore: update: %w", err)
	}
	p := newPlan(base)
	p.keepAll()
	touched := w.updateFiles(ctx, p, files)
	if len(p.build) > 0 {
		w.report.Folded = p.foldSmall(tinySegment)
	}
	if err := w.finish(ctx, p, base, false); err != nil {
		return w.report, fmt.Errorf("codestore: update: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range touched {
		if _, _, ok := s.state.find(path); !ok {
			w.report.Removed++
		}
	}
	return w.report, nil
}

// updateFiles adds files to the plan and returns the paths whose documents were alive before and
// may be dead now.
func (w *writer) updateFiles(ctx context.Context, p *plan, files []worktree.File) (touched map[string]bool) {
	touched = map[string]bool{}
	latest := map[string]worktree.File{}
	for _, f := range files {
		if f.Skip != worktree.NotSkipped {
			p.remove(f.Path, touched)
		} else {
			latest[f.Path] = f
		}
	}
	for _, path := range slices.Sorted(maps.Keys(latest)) {
		w.updateFile(ctx, p, latest[path], touched)
	}
	return touched
}

// remove marks the document at path, and all documents below it, as dead.
func (p *plan) remove(path string, touched map[string]bool) {
	below := path + "/"
	if path == "." {
		below = ""
	}
	for _, k := range p.kept {
		kill := func(i int) {
			if k.live.has(i) {
				k.live.remove(i)
				touched[string(k.seg.file.path(i))] = true
			}
		}
		if i, ok := k.seg.file.find(path); ok {
			kill(i)
		}
		first, _ := k.seg.file.find(below)
		for i := first; i < k.seg.file.docs && strings.HasPrefix(string(k.seg.file.path(i)), below); i++ {
			kill(i)
		}
	}
}

// updateFile keeps the document with the content of f, or else adds f to the files to build.
func (w *writer) updateFile(ctx context.Context, p *plan, f worktree.File, touched map[string]bool) {
	for _, r := range p.candidates(&f) {
		if r.seg.live.has(r.doc) {
			r.seg.live.remove(r.doc)
			touched[f.Path] = true
		}
	}
	if same, _ := w.match(ctx, p, &f); same.seg != nil {
		// Newer times are not recorded; the next Sync reads the file once more to check it.
		same.seg.live.add(same.doc)
		w.report.Rehashed++
		return
	}
	p.build = append(p.build, f)
}
