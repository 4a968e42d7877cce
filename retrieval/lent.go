package retrieval

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// lent reads the files of a Tree. Without holders, it keeps nothing of the tree open between its
// calls.
type lent struct {
	tree    Tree
	history string // directory of what is kept of git logs, for all trees
	closed  atomic.Bool

	mu      sync.Mutex
	holders int
	top     *top // nil without holders

	last uint64 // the generation that the index was last compared with
	same bool   // false if that comparison failed
}

// View implements [worktree.Lent].
func (l *lent) View(ctx context.Context, do func(*worktree.Root) error) error {
	if l.closed.Load() {
		return ErrClosed
	}
	return l.tree.View(ctx, func(root *os.Root) error {
		t, err := l.open(root)
		if err != nil {
			return err
		}
		defer l.release(t)
		return do(t.Root)
	})
}

// top is the open top directory of a tree. It is used only while View lends the same root, so that
// it cannot be that of another tree.
type top struct {
	*worktree.Root
	of    *os.Root
	users int // number of readers, plus one while this is lent.top
}

// hold keeps the top directory open for many reads, until the result is called. Forks do not wait
// for that. The method does nothing for nil.
func (l *lent) hold() (release func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holders++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.holders--; l.holders == 0 && l.top != nil {
			l.top.drop()
			l.top = nil
		}
	}
}

func (l *lent) open(root *os.Root) (*top, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.top != nil && l.top.of == root {
		l.top.users++
		return l.top, nil
	}
	r, err := worktree.Borrow(root)
	if err != nil {
		return nil, err
	}
	t := &top{Root: r, of: root, users: 1}
	if l.holders > 0 {
		if l.top != nil {
			l.top.drop()
		}
		l.top = t
		t.users++
	}
	return t, nil
}

func (l *lent) release(t *top) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.drop()
}

// drop ends one use. lent.mu is held.
func (t *top) drop() {
	if t.users--; t.users == 0 {
		_ = t.Root.Close() // it was only read
	}
}

func (l *lent) refresh() error { return nil }

func (l *lent) scan(ctx context.Context, opts worktree.Options) (tree *worktree.Tree, err error) {
	err = worktree.Visit(ctx, l, func(r *worktree.Root) (err error) {
		tree, err = r.Scan(ctx, opts)
		return err
	})
	return tree, err
}

func (l *lent) look(ctx context.Context, opts worktree.Options, paths ...string) (files []worktree.File, err error) {
	err = worktree.Visit(ctx, l, func(r *worktree.Root) (err error) {
		files, err = r.Look(ctx, opts, paths...)
		return err
	})
	return files, err
}

func (l *lent) read(ctx context.Context, path string, max int64) ([]byte, worktree.File, error) {
	return worktree.ReadLent(ctx, l, path, max)
}

func (l *lent) Close() error {
	l.closed.Store(true)
	return nil
}

// generation returns that of the tree. A scan that begins afterwards finds this one or a later one.
// The method, and the two below, do nothing for nil.
func (l *lent) generation() uint64 {
	if l == nil {
		return 0
	}
	return l.tree.Generation()
}

// compared records that the index was compared with the tree.
func (l *lent) compared(generation uint64) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.last, l.same = generation, true
	}
}

// differs records that some part of the index could not be compared with the tree.
func (l *lent) differs() {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.same = false
	}
}

// replaced reports whether the index must be compared with the tree again, since other files may
// have taken the place of those that it was compared with.
func (l *lent) replaced() bool {
	now := l.tree.Generation()
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.same || l.last != now
}

// refused reports whether a whole tree, and not only a file, could not be read.
func refused(err error) bool {
	_, ok := errors.AsType[*worktree.RefusedError](err)
	return ok
}
