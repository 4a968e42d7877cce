package coding

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/filelock"
	"github.com/luthier-dev/luthier/internal/tier"
)

// useAll opens a workspace and asks everything of it that reads files.
func useAll(dir string) {
	ctx := context.Background()
	w, err := Open(dir, Config{})
	if err != nil {
		return
	}
	defer w.Close()
	w.rgSilence = 200 * time.Millisecond
	for _, op := range []string{"status", "diff", "log", "show", "blame"} {
		_, _ = inside(w).git(ctx, gitIn{Op: op, Path: map[string]string{"blame": "a"}[op]})
	}
	_, _ = inside(w).read(ctx, readIn{Path: "a"})
	_, _ = inside(w).grep(ctx, grepIn{Pattern: "a"})
	_, _ = inside(w).list(ctx, listIn{})
	_, _ = inside(w).plantedRepository(), inside(w).otherToolchain("sub")
	_, _ = inside(w).write(ctx, writeIn{Path: "sub/new", Content: "x"})
}

// TestNothingElseThanFilesIsOpened checks that opening a workspace and every tool that reads it end
// when a FIFO, a socket, a directory or a device has the place of a file of the workspace or of its
// repository.
func TestNothingElseThanFilesIsOpened(t *testing.T) {
	tier.Normal(t)
	src := regulartest.Repository(t)
	(files{"sub/b": "x", "go.mod": "module m\n"}).write(t, src)
	paths := []string{"a", "sub", "sub/b", "sub/new", "go.mod", ".gitignore", ".gitattributes", ".git", ".git/HEAD", ".git/config", ".git/index",
		".git/packed-refs", ".git/commondir", ".git/shallow", ".git/info/exclude", ".git/refs/heads/main", ".git/objects",
		".git/objects/info/alternates", ".luthier-0123456789abcdef" + undoSuffix}
	regulartest.Each(t, src, paths, func(_ *testing.T, dir string) { useAll(dir) })
}

// TestExchangedWhileUsed checks that a process that exchanges files and FIFOs does not keep a tool
// waiting.
//
// Evidence: coding · A FIFO exchanged for a file or a part of .git does not hang a tool
func TestExchangedWhileUsed(t *testing.T) {
	tier.Normal(t)
	dir := regulartest.Repository(t)
	(files{"sub/b": "x"}).write(t, dir)
	names := []string{"a", "sub", ".git/HEAD", ".git/index", ".git/config", ".git/refs/heads/main"}
	loose, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", "??", "*"))
	for _, l := range loose {
		regulartest.Flip(t, l)
	}
	for _, name := range names {
		regulartest.Flip(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	regulartest.Within(t, func() {
		for range 20 {
			useAll(dir)
		}
	})
}

// TestHeldLock checks that a write ends with its context although another program holds the lock of
// the workspace's directory, and succeeds when that is released.
func TestHeldLock(t *testing.T) {
	dir := t.TempDir()
	w := openAt(t, dir, Config{})
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if ok, err := filelock.Try(d); !ok || err != nil {
		t.Skip("no locks of directories here: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	regulartest.Within(t, func() {
		if _, err := inside(w).write(ctx, writeIn{Path: "a", Content: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a write with the lock held: %v", err)
		}
	})
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) > 0 {
		t.Errorf("it left %v", names)
	}
	d.Close()
	if _, err := inside(w).write(t.Context(), writeIn{Path: "a", Content: "x"}); err != nil {
		t.Errorf("a write with the lock released: %v", err)
	}
}
