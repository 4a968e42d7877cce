package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Trees provides the trees of commits as directories. It turns the previous directory of a
// repository into the next one: only files that differ are written, so unchanged files keep their
// times. It may be used by several goroutines at once, each of which then gets its own directory.
type Trees struct {
	mirrors string // mirrors/OWNER+NAME/repo are git directories, which are only read
	dir     string
	keep    bool

	mu   sync.Mutex
	free map[string][]*tree
	all  []*tree
	next map[string]int
}

// NewTrees stores trees below dir, where a later call finds them again. An empty dir means a
// temporary one, which Close removes.
func NewTrees(mirrors, dir string) (*Trees, error) {
	t := &Trees{mirrors: mirrors, dir: dir, keep: dir != "", free: map[string][]*tree{}, next: map[string]int{}}
	var err error
	if dir == "" {
		t.dir, err = os.MkdirTemp("", "luthier-trees-*")
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		t.dir, err = filepath.Abs(t.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("eval: make trees: %w", err)
	}
	return t, nil
}

// GitDir returns the git directory of a repository.
func (t *Trees) GitDir(mirror string) string { return filepath.Join(t.mirrors, mirror, "repo") }

// Checkout returns a directory with the files of a commit. The function release makes the directory
// available for the next commit; until then no other caller gets the directory. Files whose
// contents the repository lacks are left out.
func (t *Trees) Checkout(ctx context.Context, mirror, commit string) (dir string, release func(), err error) {
	if !isHash(commit) || strings.ContainsAny(mirror, `/\`) || !filepath.IsLocal(mirror) {
		return "", nil, fmt.Errorf("eval: check out %s of %s: no commit of a mirror", commit, mirror)
	}
	w, err := t.take(mirror, commit)
	if err == nil {
		if err = w.checkout(ctx, commit); err != nil {
			t.giveBack(mirror, w)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("eval: check out %s of %s: %w", commit, mirror, err)
	}
	return w.dir, sync.OnceFunc(func() { t.giveBack(mirror, w) }), nil
}

// take returns a directory, preferably one that is at the commit already.
func (t *Trees) take(mirror, commit string) (*tree, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if free := t.free[mirror]; len(free) > 0 {
		i := max(0, slices.IndexFunc(free, func(w *tree) bool { return w.commit == commit }))
		w := free[i]
		t.free[mirror] = slices.Delete(free, i, i+1)
		return w, nil
	}
	name := fmt.Sprintf("%s.%d", mirror, t.next[mirror])
	w, err := openTree(t.GitDir(mirror), filepath.Join(t.dir, name))
	if err != nil {
		return nil, err
	}
	t.next[mirror]++
	t.all = append(t.all, w)
	return w, nil
}

func (t *Trees) giveBack(mirror string, w *tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free[mirror] = append(t.free[mirror], w)
}

// Close ends the started programs and removes temporary directories. Directories from Checkout must
// have been released.
func (t *Trees) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	for _, w := range t.all {
		err = errors.Join(err, w.close())
	}
	t.all, t.free = nil, map[string][]*tree{}
	if !t.keep {
		err = errors.Join(err, os.RemoveAll(t.dir))
	}
	return err
}
