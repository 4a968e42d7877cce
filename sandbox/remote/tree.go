package remote

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// tree is the initial state of a workspace on the server. Forks share it.
type tree struct {
	dir string

	mu    sync.Mutex
	users int
}

func plant(dir string) (*tree, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return &tree{dir: dir, users: 1}, nil
}

func (t *tree) share() *tree {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users++
	return t
}

// release removes the directory when its last user releases it.
func (t *tree) release() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users--; t.users > 0 {
		return nil
	}
	return removeTree(t.dir)
}

// removeTree removes a tree, including directories that their owner may not write to.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() { // called before the directory is read
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
