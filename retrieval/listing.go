package retrieval

import (
	"sync"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A listing holds the known state of the tree's files: the last scan, and the files examined since.
// It is safe for concurrent use.
type listing struct {
	mu     sync.Mutex
	tree   *worktree.Tree // nil before the first scan
	looked []worktree.File
}

// manyLooked is the maximum number of files examined since the scan that are kept separately from
// it.
const manyLooked = 20_000

// Store replaces everything with a scan.
func (l *listing) Store(t *worktree.Tree) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree, l.looked = t, nil
}

// limit skips new files that would make the tree larger than allowed. If the tree is full, the next
// scan decides which files it contains.
func (l *listing) limit(files []worktree.File, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tree == nil || len(l.tree.Files)+len(l.looked)+len(files) <= most {
		return
	}
	if len(l.looked) > 0 {
		l.tree, l.looked = worktree.Amend(l.tree, l.looked), nil
	}
	over := len(worktree.Amend(l.tree, files).Files) - most
	for i := len(files) - 1; i >= 0 && over > 0; i-- {
		f := &files[i]
		if before, ok := l.tree.Lookup(f.Path); f.Skip == worktree.NotSkipped && (!ok || before.Skip != worktree.NotSkipped) {
			f.Skip = worktree.SkipMany
			over--
		}
	}
}

// add adds results of [worktree.Look].
func (l *listing) add(files []worktree.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tree == nil {
		return // the first scan will find it
	}
	l.looked = append(l.looked, files...)
	if len(l.looked) > manyLooked {
		l.tree, l.looked = worktree.Amend(l.tree, l.looked), nil
	}
}

// Load returns the tree as currently known, or nil before the first scan. It must not be changed.
func (l *listing) Load() *worktree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.looked) > 0 {
		l.tree, l.looked = worktree.Amend(l.tree, l.looked), nil
	}
	return l.tree
}

// scanned returns the last scan without later changes, which costs nothing.
func (l *listing) scanned() *worktree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree
}
