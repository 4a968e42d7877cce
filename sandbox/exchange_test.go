package sandbox

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/layers"
	"github.com/luthier-dev/luthier/sandbox/internal/obeyed"
)

// looks does what a host does with a workspace before and after commands run in it.
func looks(t *testing.T, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	protectedIn(dir)
	obeyed.Find(dir).Walls()
	ReviewWrite(dir, FileWrite{Path: "a"}, FileWrite{Path: "package.json"}, FileWrite{Path: ".git/config"})
	_ = layers.Checkout(ctx, dir, "HEAD", t.TempDir())
	if cmd, done, err := SafeGit(ctx, dir, "status"); err == nil {
		_ = cmd.Run()
		_ = done()
	}
}

// TestNothingElseThanFilesIsReviewed checks that reviewing a workspace, taking a commit from it and
// running git over it end when a FIFO, a socket, a directory or a device has the place of a file.
func TestNothingElseThanFilesIsReviewed(t *testing.T) {
	tier.Normal(t)
	paths := []string{"a", ".gitattributes", "package.json", ".git", ".git/HEAD", ".git/config", ".git/index", ".git/packed-refs",
		".git/commondir", ".git/refs/heads/main", ".git/hooks", ".git/hooks/pre-commit", ".git/objects/info/alternates", ".husky"}
	regulartest.Each(t, regulartest.Repository(t), paths, looks)
}

// TestExchangedWhileReviewed checks that a process that exchanges files and FIFOs does not keep a
// host waiting.
//
// Evidence: sandbox · A FIFO exchanged for a file of a workspace does not hang a review or git
func TestExchangedWhileReviewed(t *testing.T) {
	tier.Normal(t)
	dir := regulartest.Repository(t)
	write(t, dir, "d/e", "x")
	for _, name := range []string{"a", "d", ".git/HEAD", ".git/config", ".git/index"} {
		regulartest.Flip(t, filepath.Join(dir, filepath.FromSlash(name)))
	}
	regulartest.Within(t, func() {
		for range 20 {
			looks(t, dir)
		}
	})
}

// TestSafeGitEnds checks that git over a repository whose objects are FIFOs is ended with the
// context, and has a deadline if the context has none.
func TestSafeGitEnds(t *testing.T) {
	dir := regulartest.Repository(t)
	for _, k := range regulartest.Kinds(t) {
		if k.Name != "FIFO" {
			continue
		}
		for _, pattern := range []string{"??/*", "pack/*"} {
			files, _ := filepath.Glob(filepath.Join(dir, ".git", "objects", pattern))
			for _, f := range files {
				regulartest.Place(t, f, k)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	cmd, done, err := SafeGit(ctx, dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	regulartest.Within(t, func() { _ = cmd.Run() })
	if err := done(); err != nil {
		t.Error(err)
	}
}
