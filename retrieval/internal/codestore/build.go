package codestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// maxBatchDocs limits the documents of a segment, so that many tiny files are also spread over the
// workers.
const maxBatchDocs = 1 << 14

// splitShare is the minimum size of a segment, as a share of Options.SegmentBytes, when a build is
// spread over the workers. It is above the limit below which a segment counts as small, so that
// folded segments are not folded again.
const splitShare = smallShare / 2

// batches splits files, sorted by path, into groups of about the same size, one for each segment.
func (o *Options) batches(files []worktree.File) [][]worktree.File {
	var total int64
	for i := range files {
		total += files[i].Size
	}
	n := max(int((total+o.SegmentBytes-1)/o.SegmentBytes), (len(files)+maxBatchDocs-1)/maxBatchDocs, 1)
	n = max(n, int(min(int64(o.Workers), total/(o.SegmentBytes/splitShare))))
	share, most := total/int64(n)+1, (len(files)+n-1)/n*2
	var out [][]worktree.File
	start, size := 0, int64(0)
	for i := range files {
		if i > start && (size+files[i].Size/2 > share || i-start >= min(most, maxBatchDocs)) {
			out = append(out, files[start:i])
			start, size = i, 0
		}
		size += files[i].Size
	}
	if start < len(files) {
		out = append(out, files[start:])
	}
	return out
}

// buildAll builds segments from the files.
func (w *writer) buildAll(ctx context.Context, files []worktree.File, durable bool) ([]*segmentFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	slices.SortFunc(files, func(a, b worktree.File) int { return strings.Compare(a.Path, b.Path) })
	files = slices.CompactFunc(files, func(a, b worktree.File) bool { return a.Path == b.Path })
	batches := w.store.opts.batches(files)
	var bytes int64
	for i := range files {
		bytes += files[i].Size
	}
	w.stage("build", len(files), bytes)
	built := make([]*segmentFile, len(batches))
	err := parallel(ctx, w.store.opts.Workers, len(batches), func(i int) (err error) {
		built[i], err = w.build(ctx, batches[i], durable)
		return err
	})
	for _, f := range built {
		if f != nil {
			w.opened = append(w.opened, f)
			w.report.Built += f.docs
		}
	}
	w.report.Built = max(0, w.report.Built-w.report.Folded) // a folded document may be gone by now
	return slices.DeleteFunc(built, func(f *segmentFile) bool { return f == nil }), err
}

// build builds one segment from the files. It returns nil if none of the files is left.
func (w *writer) build(ctx context.Context, files []worktree.File, durable bool) (*segmentFile, error) {
	docs := make([]Doc, 0, len(files))
	contents := make([][]byte, 0, len(files))
	var bytes int64
	for i := range files {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		content, state, err := w.read(ctx, &files[i])
		if refused, ok := errors.AsType[*worktree.RefusedError](err); ok {
			return nil, refused // it says nothing about the file
		}
		if why := unfit(state, err); why != worktree.NotSkipped {
			w.skip(files[i], why)
			continue
		}
		docs = append(docs, Doc{File: state, Hash: worktree.HashOf(content)})
		contents = append(contents, content)
		bytes += int64(len(content))
		docs[len(docs)-1].Size = int64(len(content))
	}
	if len(docs) == 0 {
		return nil, nil
	}
	read := func(i int) ([]byte, error) {
		if i < 0 || i >= len(contents) {
			return nil, fmt.Errorf("codestore: read document %d: there are %d", i, len(contents))
		}
		return contents[i], nil
	}
	sections, err := w.store.format.Build(ctx, docs, read)
	if err != nil {
		return nil, fmt.Errorf("build segment of %d files: %w", len(docs), err)
	}
	w.tell(len(docs), bytes)
	return w.store.writeSegment(docs, sections, durable)
}

// unfit returns the reason why a file just read is not indexed.
func unfit(state worktree.File, err error) worktree.Skip {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return worktree.SkipGone
	case errors.Is(err, worktree.ErrTooLarge):
		return worktree.SkipLarge
	case errors.Is(err, worktree.ErrNotRegular):
		return worktree.SkipSpecial
	case err != nil:
		return worktree.SkipUnreadable
	case state.Class.Any(worktree.Binary):
		return worktree.SkipBinary
	case state.Class.Any(worktree.Minified):
		return worktree.SkipMinified
	}
	return worktree.NotSkipped
}

// writeSegment writes a segment and opens it. If it cannot be written, the store continues in
// memory.
func (s *Store) writeSegment(docs []Doc, sections []Section, durable bool) (*segmentFile, error) {
	pieces, name, err := encodeSegment(s.format, docs, sections)
	if err != nil {
		return nil, err
	}
	if s.inMemory() == "" {
		err := s.disk.write(name, durable, time.Time{}, pieces...)
		if err == nil {
			var f *segmentFile
			if f, err = openSegment(s.disk.at(name), name, s.format, s.opts); err == nil {
				return f, nil
			}
		}
		s.degrade(err)
	}
	data := slices.Concat(pieces...)
	return parseSegment(name, s.format, data, data)
}

// commit makes segs the index. Only a durable commit sweeps the directory, because it has examined
// the files left there.
func (s *Store) commit(w *writer, base *state, segs []*Segment, changed, durable bool) error {
	s.mu.Lock()
	w.report.Rebuilt = s.rebuilt
	next := &state{generation: max(base.generation, s.state.generation) + 1, segments: segs}
	before, foreign := s.stamp, base != s.state
	s.mu.Unlock()
	at := before
	if changed || w.report.Rebuilt != "" || base.generation == 0 || foreign {
		if s.inMemory() == "" {
			var err error
			if at, err = s.save(next, before, durable); err != nil {
				s.degrade(err)
			}
		}
		s.mu.Lock()
		s.diverged = s.memory != ""
		s.install(next, at)
		s.rebuilt = ""
		s.mu.Unlock()
	} else {
		next = base
	}
	w.report.Memory = s.inMemory()
	switch {
	case w.report.Memory != "":
	case durable:
		s.disk.sweep(next.manifest(s.format))
	default:
		s.disk.removeReplaced(base.manifest(s.format), next.manifest(s.format))
	}
	return nil
}

// save writes a state to disk: first the files that the manifest names, then the manifest.
func (s *Store) save(st *state, before stamp, durable bool) (stamp, error) {
	for _, seg := range st.segments {
		if seg.state != nil && seg.stat == "" {
			raw, name := encodeStates(seg.state)
			if err := s.disk.write(name, false, time.Time{}, raw); err != nil {
				return stamp{}, err
			}
			seg.stat = name
		}
	}
	if durable {
		s.disk.flush()
	}
	at, err := s.disk.writeManifest(st.manifest(s.format), before, durable)
	if err == nil && durable {
		s.disk.flush()
	}
	return at, err
}
