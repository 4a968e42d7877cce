package retrieval

import (
	"slices"
	"strings"
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
		l.tree, l.looked = amended(l.tree, l.looked), nil
	}
	over := len(amended(l.tree, files).Files) - most
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
		l.tree, l.looked = amended(l.tree, l.looked), nil
	}
}

// Load returns the tree as currently known, or nil before the first scan. It must not be changed.
func (l *listing) Load() *worktree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.looked) > 0 {
		l.tree, l.looked = amended(l.tree, l.looked), nil
	}
	return l.tree
}

// scanned returns the last scan without later changes, which costs nothing.
func (l *listing) scanned() *worktree.Tree {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tree
}

// amended returns a scan updated with the files examined later. A removed file stands for
// everything that was at and below its path before.
func amended(t *worktree.Tree, looked []worktree.File) *worktree.Tree {
	gone, now := map[string]int{}, map[string]int{}
	for i := range looked {
		if looked[i].Skip == worktree.SkipGone {
			gone[looked[i].Path] = i + 1
		} else {
			now[looked[i].Path] = i + 1
		}
	}
	// holds reports whether an observation of path, made at position seen, is still valid.
	holds := func(path string, seen int) bool {
		if now[path] > seen || gone["."] > seen {
			return false
		}
		for p := path; ; {
			if gone[p] > seen {
				return false
			}
			i := strings.LastIndexByte(p, '/')
			if i < 0 {
				return true
			}
			p = p[:i]
		}
	}
	out := &worktree.Tree{Root: t.Root, Started: t.Started}
	for i := range t.Files {
		if holds(t.Files[i].Path, 0) {
			out.Files = append(out.Files, t.Files[i])
		}
	}
	for i := range t.Skipped {
		if holds(t.Skipped[i].Path, 0) {
			out.Skipped = append(out.Skipped, t.Skipped[i])
		}
	}
	for i := range looked {
		f := &looked[i]
		switch {
		case f.Skip == worktree.SkipGone || !holds(f.Path, i+1):
		case f.Skip == worktree.NotSkipped:
			out.Files = append(out.Files, *f)
		default:
			out.Skipped = append(out.Skipped, *f)
		}
	}
	byPath := func(a, b worktree.File) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(out.Files, byPath)
	slices.SortFunc(out.Skipped, byPath)
	for i := range out.Files {
		out.Bytes += out.Files[i].Size
	}
	return out
}
