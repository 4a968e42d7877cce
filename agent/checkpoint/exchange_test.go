package checkpoint

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// snapshots takes two checkpoints and goes back to the first one. The store is in the workspace's
// repository, where commands can write.
func snapshots(dir string) {
	s, err := Open(dir, filepath.Join(dir, ".git", "luthier"), Options{})
	if err != nil {
		return
	}
	defer s.Close()
	first, err := s.Snapshot(context.Background(), "one")
	if err != nil {
		return
	}
	_, _ = s.Snapshot(context.Background(), "two")
	_, _ = s.Restore(context.Background(), first)
}

// TestNothingElseThanFilesIsRecorded checks that checkpoints end when a FIFO, a socket, a directory
// or a device has the place of a file of the workspace, of its repository, or of the store.
func TestNothingElseThanFilesIsRecorded(t *testing.T) {
	tier.Normal(t)
	src := regulartest.Repository(t)
	snapshots(src)
	paths := []string{"a", ".gitignore", ".git", ".git/index", ".git/info/exclude", ".git/commondir"}
	for _, name := range []string{"HEAD", "config", "lock", "workspace", "stat-cache", "objects", "refs", "packed-refs", "refs/heads"} {
		paths = append(paths, ".git/luthier/"+name)
	}
	regulartest.Each(t, src, paths, func(_ *testing.T, dir string) { snapshots(dir) })
}

// TestExchangedFiles checks that a process that exchanges files and FIFOs does not keep a
// checkpoint waiting.
func TestExchangedFiles(t *testing.T) {
	dir := regulartest.Repository(t)
	snapshots(dir)
	for _, name := range []string{"a", ".git/index", ".git/luthier/workspace", ".git/luthier/stat-cache"} {
		regulartest.Flip(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	regulartest.Within(t, func() {
		for range 20 {
			snapshots(dir)
		}
	})
}
