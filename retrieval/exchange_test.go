package retrieval_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval"
)

// searches opens an index, with its own files in the workspace's repository, and uses it.
func searches(dir string) {
	x, err := retrieval.Open(context.Background(), dir, retrieval.Config{CacheDir: filepath.Join(dir, ".git", "cache")})
	if err != nil {
		return
	}
	defer x.Close()
	_, _ = x.Search(context.Background(), retrieval.Query{Text: "a"})
	for range 3 {
		_ = x.Update(context.Background())
	}
}

// TestNothingElseThanFilesIsIndexed checks that an index opens, updates and answers, or fails, when
// a FIFO, a socket, a directory or a device has the place of a file of the workspace or its
// repository.
func TestNothingElseThanFilesIsIndexed(t *testing.T) {
	tier.Normal(t)
	paths := []string{"a", ".gitignore", ".git", ".git/HEAD", ".git/index", ".git/packed-refs", ".git/commondir", ".git/shallow",
		".git/info/exclude", ".git/refs/heads/main", ".git/objects", ".git/cache"}
	regulartest.Each(t, regulartest.Repository(t), paths, func(_ *testing.T, dir string) { searches(dir) })
}

// TestExchangedWhileIndexed checks that a process that exchanges files and FIFOs does not keep an
// index waiting.
func TestExchangedWhileIndexed(t *testing.T) {
	tier.Normal(t)
	dir := regulartest.Repository(t)
	for _, name := range []string{"a", ".git/HEAD", ".git/packed-refs", ".git/refs/heads/main"} {
		regulartest.Flip(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	regulartest.Within(t, func() {
		for range 10 {
			searches(dir)
		}
	})
}
