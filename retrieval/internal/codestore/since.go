package codestore

import (
	"context"
	"maps"
	"slices"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// Since lets a writer notice what other writers, also of other processes, have done after the tree
// was examined. Without it, an older observation could undo a newer one: a file that another
// process has created and indexed since a scan is not in the scan.
type Since struct {
	View *View // of this store, opened before the tree was examined and not closed yet
	// Look examines paths again, as [worktree.Look] does. It is called while no other writer can
	// change the index.
	Look func(ctx context.Context, paths ...string) ([]worktree.File, error)
}

// moved reports whether base is not the state that the View shows.
func (s *Since) moved(base *state) bool { return s != nil && s.View.state != base }

// tree returns a scan with newer observations of the paths that other writers have changed.
func (s *Since) tree(ctx context.Context, base *state, t *worktree.Tree) (*worktree.Tree, error) {
	if !s.moved(base) {
		return t, nil
	}
	paths := changed(s.View.state, base)
	maps.DeleteFunc(paths, func(path string, _ bool) bool { return agree(base, t, path) })
	if len(paths) == 0 {
		return t, nil
	}
	files, err := s.Look(ctx, slices.Sorted(maps.Keys(paths))...)
	if err != nil {
		return nil, err
	}
	return worktree.Amend(t, files), nil
}

// files returns newer observations of the paths that the parameter files is about, if another
// writer has changed the index.
func (s *Since) files(ctx context.Context, base *state, files []worktree.File) ([]worktree.File, error) {
	if !s.moved(base) {
		return files, nil
	}
	var paths []string
	for i := range files {
		if files[i].Skip == worktree.SkipGone {
			paths = append(paths, files[i].Path)
		}
	}
	if len(paths) == 0 {
		return files, nil
	}
	slices.Sort(paths)
	return s.Look(ctx, slices.Compact(paths)...)
}

// agree reports whether a state and a scan agree about a path: either both have it in the same
// state, or neither has it.
func agree(st *state, t *worktree.Tree, path string) bool {
	f, scanned := t.Lookup(path)
	seg, i, live := st.find(path)
	if !scanned || f.Skip != worktree.NotSkipped || !live {
		return live == (scanned && f.Skip == worktree.NotSkipped)
	}
	d := seg.Doc(i).File
	return d.Same(&f) // if one of them is racy, Sync reads the file
}

// changed returns the paths whose documents differ between two states.
func changed(from, to *state) map[string]bool {
	paths := map[string]bool{}
	old := map[string]*Segment{}
	for _, seg := range from.segments {
		old[seg.file.name] = seg
	}
	for _, seg := range to.segments {
		before := old[seg.file.name]
		delete(old, seg.file.name)
		if before == seg {
			continue
		}
		for i := range seg.file.docs {
			if seg.Live(i) != (before != nil && before.Live(i)) {
				paths[seg.Path(i)] = true
			}
		}
	}
	for _, seg := range old {
		for i := range seg.file.docs {
			if seg.Live(i) {
				paths[seg.Path(i)] = true
			}
		}
	}
	return paths
}
