package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// boxed is a tree under another name than its path. It fails if a view and a change overlap, or if
// the store is used while the tree is being changed, when a box's user would lack the rights.
type boxed struct {
	t     *testing.T
	root  *os.Root
	store string
	open  bool
}

func (b *boxed) Name() string { return "/work" }
func (b *boxed) ID() string   { return "commit 1234, fork 1" }

func (b *boxed) once(do func(*os.Root) error) error {
	if b.open {
		return errors.New("the tree is viewed or changed twice at a time")
	}
	b.open = true
	defer func() { b.open = false }()
	return do(b.root)
}

func (b *boxed) View(_ context.Context, do func(*os.Root) error) error { return b.once(do) }

func (b *boxed) Change(_ context.Context, do func(*os.Root) error) error {
	hidden := b.store + ".hidden"
	if err := os.Rename(b.store, hidden); err != nil {
		return err
	}
	defer func() {
		if err := os.Rename(hidden, b.store); err != nil {
			b.t.Error(err)
		}
	}()
	return b.once(do)
}

// TestTrees: a workspace without a path of its own is recorded, undone and redone as a directory
// is, and stores name the tree that they belong to.
func TestTrees(t *testing.T) {
	ctx := context.Background()
	work, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	put(t, work, messy)
	runGit(t, work, "init", "-q")
	runGit(t, work, "add", "-f", "a.go", "out.o")
	must(t, os.WriteFile(filepath.Join(work, tempPrefix+"left"), nil, 0o600))
	root := must1[*os.Root](t)(os.OpenRoot(work))
	defer root.Close()
	b := &boxed{t: t, root: root, store: store}
	s := must1[*Store](t)(OpenTree(b, store, Options{}))
	first, err := s.Snapshot(ctx, "first")
	must(t, err)
	if _, err := os.Lstat(filepath.Join(work, tempPrefix+"left")); err == nil {
		t.Error("what a killed restore left is still there")
	}
	before := state(t, work)
	must(t, os.WriteFile(filepath.Join(work, "a.go"), []byte("package b\n"), 0o644))
	must(t, os.Chmod(filepath.Join(work, "sub", "b.go"), 0o755))
	must(t, os.RemoveAll(filepath.Join(work, "deep")))
	must(t, os.WriteFile(filepath.Join(work, "out.o"), []byte("tracked, so it is recorded"), 0o644))
	must(t, os.WriteFile(filepath.Join(work, "new"), []byte("new"), 0o644))
	changed := state(t, work)
	_, err = s.Undo(ctx)
	must(t, err)
	if diff := cmp.Diff(before, state(t, work)); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	_, err = s.Redo(ctx)
	must(t, err)
	if diff := cmp.Diff(changed, state(t, work)); diff != "" {
		t.Errorf("redone (-want +got):\n%s", diff)
	}
	_, err = s.Restore(ctx, first)
	must(t, err)
	if diff := cmp.Diff(before, state(t, work)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	must(t, s.Close())
	if _, err := Open(work, store, Options{}); err == nil || !strings.Contains(err.Error(), "fork 1") {
		t.Errorf("the store of a tree opens for a directory: %v", err)
	}
	b.t, b.root = t, root
	must(t, must1[*Store](t)(OpenTree(b, store, Options{})).Close())
}

// TestForgedIndex: the index of a tree in which commands run names files that git tracks, but not
// their content.
func TestForgedIndex(t *testing.T) {
	work := clone(t, many+commit+"git gc -q")
	root := must1[*os.Root](t)(os.OpenRoot(work))
	defer root.Close()
	store := filepath.Join(t.TempDir(), "store")
	s := must1[*Store](t)(OpenTree(&boxed{t: t, root: root, store: store}, store, Options{}))
	defer s.Close()
	s.packFrom = 1
	if _, err := s.Snapshot(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	packs := must1[[]string](t)(filepath.Glob(filepath.Join(store, "objects", "pack", "*.pack")))
	if len(packs) != 1 { // the store's own
		t.Errorf("packs %q", packs)
	}
}
