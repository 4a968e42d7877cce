package codestore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A View is the index at one moment. A View never changes, whatever writers do. Callers should
// close it soon, since it keeps old segments open.
type View struct {
	store *Store
	state *state
}

// View returns the newest state that any process has committed. It costs one stat of a file.
func (s *Store) View() (*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.reload()
	s.state.refs++
	return &View{store: s, state: s.state}, nil
}

// Close releases the View and all bytes that came from it, which must not be used afterwards.
func (v *View) Close() {
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	if v.state != nil {
		_ = v.store.release(v.state)
		v.state = nil
	}
}

// Segments returns the segments that have live documents.
func (v *View) Segments() []*Segment { return v.state.segments }

// Generation returns a number that grows with each change of the index.
func (v *View) Generation() uint64 { return v.state.generation }

// Docs returns the number of live documents.
func (v *View) Docs() int {
	n := 0
	for _, s := range v.state.segments {
		n += s.live
	}
	return n
}

// Lookup returns the live document at path, as the number of its segment in Segments and its number
// within that segment.
func (v *View) Lookup(path string) (segment, doc int, ok bool) {
	for n, s := range v.state.segments {
		if i, ok := s.Find(path); ok {
			return n, i, true
		}
	}
	return 0, 0, false
}

// Verify reads everything and verifies all checksums. The result is for a person; Sync does not act
// on it.
func (v *View) Verify() error {
	var bad []string
	for _, s := range v.state.segments {
		if err := s.file.verify(); err != nil {
			bad = append(bad, fmt.Sprintf("%s: %v", s.Name(), err))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("codestore: verify index: %s; remove the index to have it built anew", strings.Join(bad, "; "))
	}
	return nil
}

// Files returns the live documents in the states that were recorded, by path.
func (v *View) Files() []worktree.File {
	files := make([]worktree.File, 0, v.Docs())
	for _, s := range v.state.segments {
		for i := range s.Docs() {
			if s.Live(i) {
				files = append(files, s.Doc(i).File)
			}
		}
	}
	slices.SortFunc(files, func(a, b worktree.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
