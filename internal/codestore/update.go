package codestore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/internal/source"
)

// Update brings a few paths of the index up to date: files as a scan below root found them now, with Skip set for those
// that are gone or are not to be indexed any more. It reads each file, builds one small segment of those whose content
// differs, and folds small segments when there are many. Unlike Sync it does not wait for the disk.
func (s *Store) Update(ctx context.Context, root string, files ...source.File) (Report, error) {
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
	p := newPlan(base)
	p.keepAll()
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b source.File) int { return strings.Compare(a.Path, b.Path) })
	for i := range files {
		if i+1 < len(files) && files[i+1].Path == files[i].Path {
			continue // the later word counts
		}
		w.updateFile(p, files[i])
	}
	if len(p.build) > 0 {
		w.report.Folded = p.foldSmall(tinySegment)
	}
	if err := w.finish(ctx, p, base, false); err != nil {
		return w.report, fmt.Errorf("codestore: update: %w", err)
	}
	return w.report, nil
}

// updateFile sorts one file into the plan.
func (w *writer) updateFile(p *plan, f source.File) {
	var alive *ref
	for _, r := range p.candidates(&f) {
		if r.seg.live.has(r.doc) {
			alive = &r
		}
	}
	if f.Skip == source.NotSkipped {
		content, state, err := w.read(&f)
		if f.Skip = unfit(state, err); f.Skip != source.NotSkipped {
			w.skip(f, f.Skip)
		} else if alive != nil && alive.seg.seg.file.hash(alive.doc) == source.HashOf(content) {
			w.report.Rehashed++
			return
		} else {
			p.build = append(p.build, f)
		}
	}
	if alive != nil {
		alive.seg.live.remove(alive.doc)
		if f.Skip != source.NotSkipped {
			w.report.Removed++
		}
	}
}
