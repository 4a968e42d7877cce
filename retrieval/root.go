package retrieval

import (
	"context"
	"os"
	"sync"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A source reads the files of a tree: it is a root, or a lent tree.
type source interface {
	refresh() error // looks whether another directory has taken the tree's place
	scan(ctx context.Context, opts worktree.Options) (*worktree.Tree, error)
	look(ctx context.Context, opts worktree.Options, paths ...string) ([]worktree.File, error)
	// read reads a file as [worktree.Root.ReadFile] does.
	read(ctx context.Context, path string, max int64) ([]byte, worktree.File, error)
	// Close prevents further reads from starting.
	Close() error
}

// A root reads the files of the directory that is at the tree's path now, even if the directory was
// removed and created again. It is safe for concurrent use, including with Close.
type root struct {
	dir string
	mu  sync.Mutex
	now *openRoot // nil after Close
}

// openRoot is an open directory. It is closed when it is no longer current and no reader uses it
// any more.
type openRoot struct {
	*worktree.Root
	is    os.FileInfo
	users int // number of readers, plus one while this is root.now
}

func newRoot(dir string) (*root, error) {
	r := &root{dir: dir}
	return r, r.refresh()
}

// refresh opens the directory again if another one has taken its place.
func (r *root) refresh() error {
	is, err := os.Stat(r.dir)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && os.SameFile(r.now.is, is) {
		return nil
	}
	opened, err := worktree.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	if r.now != nil {
		_ = r.now.drop() // its directory is gone
	}
	r.now = &openRoot{Root: opened, is: is, users: 1}
	return nil
}

func (r *root) scan(ctx context.Context, opts worktree.Options) (*worktree.Tree, error) {
	return worktree.Scan(ctx, r.dir, opts)
}

func (r *root) look(ctx context.Context, opts worktree.Options, paths ...string) ([]worktree.File, error) {
	return worktree.Look(ctx, r.dir, opts, paths...)
}

func (r *root) read(_ context.Context, path string, max int64) ([]byte, worktree.File, error) {
	r.mu.Lock()
	o := r.now
	if o == nil {
		r.mu.Unlock()
		return nil, worktree.File{}, ErrClosed
	}
	o.users++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		_ = o.drop() // an error is harmless, since the directory was only read
	}()
	return o.Root.ReadFile(path, max)
}

func (r *root) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		return nil
	}
	o := r.now
	r.now = nil
	return o.drop()
}

// drop releases one use. root.mu is held.
func (o *openRoot) drop() error {
	if o.users--; o.users > 0 {
		return nil
	}
	return o.Root.Close()
}
