package gitfs_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
)

// walk reads everything that can be read of a repository.
func walk(dir string) (commits int, err error) {
	r, err := gitfs.Open(dir, true)
	if err != nil {
		return 0, err
	}
	return walkRepository(r)
}

func walkRepository(r *git.Repository) (commits int, err error) {
	log, err := r.Log(&git.LogOptions{All: true})
	if err != nil {
		return 0, err
	}
	err = log.ForEach(func(c *object.Commit) error {
		commits++
		files, err := c.Files()
		if err != nil {
			return err
		}
		return files.ForEach(func(f *object.File) error {
			in, err := f.Reader()
			if err != nil {
				return err
			}
			defer in.Close()
			_, err = io.Copy(io.Discard, in)
			return err
		})
	})
	if err == nil {
		_, err = r.Storer.Index()
	}
	return commits, err
}

// parts lists what a git directory holds or may hold.
var parts = []string{".git", ".git/HEAD", ".git/config", ".git/index", ".git/packed-refs", ".git/refs", ".git/refs/heads/main", ".git/objects",
	".git/objects/pack", ".git/objects/info/alternates", ".git/shallow", ".git/commondir", ".git/config.worktree"}

// TestOpen checks that go-git reads an ordinary repository, one in a subdirectory of which the
// workspace is, and a linked work tree.
func TestOpen(t *testing.T) {
	dir := regulartest.Repository(t)
	linked := filepath.Join(t.TempDir(), "linked")
	regulartest.Git(t, dir, "worktree", "add", "-q", linked, "-b", "other")
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, sub, linked} {
		if n, err := walk(at); n != 2 || err != nil {
			t.Errorf("%s: %d commits, %v", at, n, err)
		}
	}
	if _, err := gitfs.Open(t.TempDir(), false); err == nil {
		t.Error("an empty directory is no repository")
	}
}

// TestKinds checks that go-git ends with every kind of file in the place of every part of a git
// directory.
func TestKinds(t *testing.T) {
	regulartest.Each(t, regulartest.Repository(t), parts, func(t *testing.T, dir string) { _, _ = walk(dir) })
}

// TestObjects checks the same for all loose objects and packs at once.
func TestObjects(t *testing.T) {
	src := regulartest.Repository(t)
	for _, k := range regulartest.Kinds(t) {
		dir := regulartest.Copy(t, src)
		for _, pattern := range []string{"??/*", "pack/*"} {
			files, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", pattern))
			for _, f := range files {
				regulartest.Place(t, f, k)
			}
		}
		regulartest.Within(t, func() {
			if n, _ := walk(dir); n > 0 {
				t.Errorf("objects were read although each is a %s", k.Name)
			}
		})
	}
}
