package retrieval

import (
	"os"
	"sync"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// A root reads the files of the directory that has the tree's path now: one that was
// removed and made again is another one. It is safe for concurrent use, also beside Close.
type root struct {
	dir string
	mu  sync.Mutex
	now *openRoot // nil after Close
}

// openRoot is closed when it was given up and nobody reads by it any more.
type openRoot struct {
	*worktree.Root
	is    os.FileInfo
	users int // and one for root.now
}

func newRoot(dir string) (*root, error) {
	r := &root{dir: dir}
	return r, r.refresh()
}

// refresh opens the directory again when another one has taken its place.
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
		_ = r.now.drop() // what it was of is gone
	}
	r.now = &openRoot{Root: opened, is: is, users: 1}
	return nil
}

// ReadFile reads a file as [worktree.Root.ReadFile] does.
func (r *root) ReadFile(path string, max int64) ([]byte, worktree.File, error) {
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
		_ = o.drop() // it was only read
	}()
	return o.Root.ReadFile(path, max)
}

// Close lets no further reading begin.
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

// drop gives up one use. root.mu is held.
func (o *openRoot) drop() error {
	if o.users--; o.users > 0 {
		return nil
	}
	return o.Root.Close()
}
