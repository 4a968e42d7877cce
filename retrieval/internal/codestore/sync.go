package codestore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Sync brings the index up to date with the tree. Files that look the same as when they were
// indexed are kept, files with the same content are kept after reading them, and the rest is built,
// in several segments at the same time. Views see the old index until everything is done. After an
// error, for example because ctx ended, the old index stays; the next Sync reuses the finished
// segments. The parameter since protects what other writers have indexed since the scan; it is nil
// if there are none. The parameter progress may be nil; it is called from one goroutine at a time.
func (s *Store) Sync(ctx context.Context, tree *worktree.Tree, since *Since, progress func(Progress)) (Report, error) {
	base, end, err := s.begin(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("codestore: sync: %w", err)
	}
	defer end()
	w, err := s.newWriter(tree.Root, progress)
	if err != nil {
		return Report{}, fmt.Errorf("codestore: sync: %w", err)
	}
	defer w.close()
	if tree, err = since.tree(ctx, base, tree); err != nil {
		return Report{}, fmt.Errorf("codestore: sync: %w", err)
	}
	p := newPlan(base)
	open, removed := p.matchTree(tree.Files)
	w.report.Unchanged, w.report.Removed = len(tree.Files)-len(open), removed
	if len(open) > 0 {
		w.adopt(p, base)
		if err := w.compare(ctx, p, tree.Files, open); err != nil {
			return w.report, fmt.Errorf("codestore: sync: %w", err)
		}
	}
	p.dropUseless()
	w.report.Folded = p.foldSparse() + p.foldSmall(s.opts.SegmentBytes/smallShare)
	if err := w.finish(ctx, p, base, true); err != nil {
		return w.report, fmt.Errorf("codestore: sync: %w", err)
	}
	return w.report, nil
}

// A writer holds the data of one Sync or Update.
type writer struct {
	store    *Store
	root     *worktree.Root // nil if the store has a Tree
	report   Report
	opened   []*segmentFile // opened by this writer; those not in the new state are closed at the end
	mu       sync.Mutex
	progress func(Progress)
	told     Progress
}

func (s *Store) newWriter(root string, progress func(Progress)) (*writer, error) {
	w := &writer{store: s, progress: progress}
	if s.opts.Tree != nil {
		return w, nil
	}
	var err error
	w.root, err = worktree.OpenRoot(root)
	return w, err
}

func (w *writer) close() {
	if w.root != nil {
		_ = w.root.Close()
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for _, f := range w.opened {
		if f.refs == 0 {
			_ = f.unmap()
		}
	}
}

func (w *writer) stage(name string, files int, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = Progress{Stage: name, TotalFiles: files, TotalBytes: bytes}
	if w.progress != nil {
		w.progress(w.told)
	}
}

func (w *writer) tell(files int, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told.Files += files
	w.told.Bytes += bytes
	w.report.BytesRead += bytes
	if w.progress != nil {
		w.progress(w.told)
	}
}

func (w *writer) skip(f worktree.File, why worktree.Skip) {
	f.Skip = why
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Skipped = append(w.report.Skipped, f)
}

// adopt adds to p the segments in the directory that no manifest names: leftovers of an interrupted
// run.
func (w *writer) adopt(p *plan, base *state) {
	if w.store.inMemory() != "" {
		return
	}
	d := &w.store.disk
	named := map[string]bool{}
	for _, seg := range base.segments {
		named[seg.file.name] = true
	}
	for _, name := range d.files(segmentSuffix) {
		if named[name] {
			continue
		}
		file, err := openSegment(d.at(name), name, w.store.format, w.store.opts)
		if err != nil {
			continue // the sweep will remove it
		}
		w.opened = append(w.opened, file)
		if file.verify() != nil {
			continue
		}
		dead := newBitmap(file.docs)
		dead.fill(file.docs)
		p.kept = append(p.kept, &kept{seg: &Segment{file: file, dead: dead}, live: newBitmap(file.docs), adopted: true})
	}
}

// dropUseless drops adopted segments of which no document is kept.
func (p *plan) dropUseless() {
	p.kept = slices.DeleteFunc(p.kept, func(k *kept) bool { return k.adopted && k.live.count() == 0 })
}

// compare looks for documents that have the same content as the files numbered in open. Files
// without such a document remain to be built.
func (w *writer) compare(ctx context.Context, p *plan, files []worktree.File, open []int) error {
	found := make([]ref, len(open))
	states := make([]worktree.File, len(open))
	var bytes int64
	for _, i := range open {
		bytes += files[i].Size
	}
	w.stage("compare", len(open), bytes)
	err := parallel(ctx, w.store.opts.Workers, len(open), func(n int) error {
		f := &files[open[n]]
		found[n], states[n] = w.match(ctx, p, f)
		return nil
	})
	if err != nil {
		return err
	}
	for n, r := range found {
		f := files[open[n]]
		switch {
		case r.seg == nil:
			p.build = append(p.build, f)
		default:
			r.keep(&states[n])
			if r.seg.adopted {
				w.report.Adopted++
			} else {
				w.report.Rehashed++
			}
		}
	}
	return nil
}

// match finds a document with the path and content of f. It also returns the state of f when they
// were compared.
func (w *writer) match(ctx context.Context, p *plan, f *worktree.File) (ref, worktree.File) {
	refs := p.candidates(f)
	if len(refs) == 0 {
		return ref{}, worktree.File{}
	}
	for _, r := range refs {
		if d := r.seg.recorded(r.doc); d.Fresh(f) {
			return r, *f
		}
	}
	content, state, err := w.read(ctx, f)
	if err != nil {
		return ref{}, worktree.File{} // the build will notice and report it
	}
	w.tell(1, state.Size)
	hash := worktree.HashOf(content)
	for _, r := range refs {
		if r.seg.seg.file.hash(r.doc) == hash {
			return r, state
		}
	}
	return ref{}, worktree.File{}
}

// read reads a file that the scan saw as f. The returned state has f's class, or that of the new
// content.
func (w *writer) read(ctx context.Context, f *worktree.File) ([]byte, worktree.File, error) {
	content, state, err := w.readFile(ctx, f.Path, max(f.Size, w.store.opts.MaxFileSize))
	if err != nil {
		return nil, state, err
	}
	state.Class = f.Class
	if !state.Same(f) {
		state.Class = worktree.Classify(f.Path, content)
	}
	return content, state, nil
}

func (w *writer) readFile(ctx context.Context, path string, max int64) ([]byte, worktree.File, error) {
	if w.root == nil {
		return worktree.ReadLent(ctx, w.store.opts.Tree, path, max)
	}
	return w.root.ReadFile(path, max)
}

// finish builds the files that p lists and commits the result.
func (w *writer) finish(ctx context.Context, p *plan, base *state, durable bool) error {
	built, err := w.buildAll(ctx, p.build, durable)
	if err != nil {
		return err
	}
	segs, changed := p.segments()
	for _, f := range built {
		w.report.SegmentsBuilt++
		segs = append(segs, &Segment{file: f, dead: newBitmap(f.docs), live: f.docs})
	}
	slices.SortFunc(segs, func(a, b *Segment) int { return strings.Compare(a.Path(0), b.Path(0)) })
	w.report.Segments = len(segs)
	return w.store.commit(w, base, segs, changed || len(built) > 0, durable)
}

// parallel calls fn for 0 to n-1 from several goroutines until one call fails or ctx ends.
func parallel(ctx context.Context, workers, n int, fn func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
