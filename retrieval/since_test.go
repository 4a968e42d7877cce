package retrieval_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/luthier-dev/luthier/retrieval"
)

// TestScanBesideUpdates lets another index of the same tree, as another process has one, take in
// changes after a scan has looked at the tree and before its result is written. What
// Update has indexed must be found afterwards: the scan is older.
//
// Evidence: retrieval · A change that one process has indexed survives an older scan of another
func TestScanBesideUpdates(t *testing.T) {
	dir, cache := tree(t, shop), t.TempDir()
	put(t, dir, "old.go", animal("ostrich"))
	put(t, dir, "gone.go", animal("dodo"))
	settle()
	theirs := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, theirs)
	between := func() {
		put(t, dir, "new.go", animal("egret"))
		put(t, dir, "old.go", animal("heron"))
		if err := os.Remove(filepath.Join(dir, "gone.go")); err != nil {
			t.Error(err)
		}
		if err := theirs.Update(t.Context(), "new.go", "old.go", "gone.go"); err != nil {
			t.Error(err)
		}
	}
	var armed atomic.Bool
	mine := open(t, dir, retrieval.Config{CacheDir: cache, Progress: func(p retrieval.Progress) {
		// The last call of a scan has the number of all files.
		if p.Stage == "scan" && p.Files == len(shop)+2 && armed.Swap(false) {
			between()
		}
	}})
	allReady(t, mine)
	armed.Store(true)
	if err := mine.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if armed.Load() {
		t.Fatal("the scan did not tell its end")
	}
	for name, x := range map[string]*retrieval.Index{"the scanning one": mine, "the other one": theirs} {
		changesAreFound(t, name, x)
	}
	asFresh(t, mine, dir, "after a scan beside updates")
}

// changesAreFound checks the changes that the tests of this file make.
func changesAreFound(t *testing.T, name string, x *retrieval.Index) {
	t.Helper()
	for word, want := range map[string][]string{"egret": {"new.go"}, "heron": {"old.go"}, "ostrich": nil, "dodo": nil} {
		if got := filesFor(t, x, word); !slices.Equal(got, want) {
			t.Errorf("%s finds %q in %q, want %q", name, word, got, want)
		}
		var lines []string
		for _, w := range want {
			lines = append(lines, w+":3")
		}
		if got := grepped(t, x, retrieval.GrepQuery{Pattern: word + " lives"}); !slices.Equal(got, lines) {
			t.Errorf("%s: grep finds %q in %q, want %q", name, word, got, lines)
		}
	}
}

// A watchedBox calls after once, after the next View.
type watchedBox struct {
	*box
	after atomic.Pointer[func()]
}

func (b *watchedBox) View(ctx context.Context, do func(*os.Root) error) error {
	err := b.box.View(ctx, do)
	if after := b.after.Swap(nil); after != nil {
		(*after)()
	}
	return err
}

// TestUpdateBesideUpdates does the same to an Update of single files, which has looked at them
// before the other one.
func TestUpdateBesideUpdates(t *testing.T) {
	dir, cache := tree(t, shop), t.TempDir()
	put(t, dir, "old.go", animal("ostrich"))
	put(t, dir, "gone.go", animal("dodo"))
	settle()
	b := &watchedBox{box: newBox(t, dir, "box")}
	mine := openTree(t, b, retrieval.Config{CacheDir: cache})
	theirs := openTree(t, b.box, retrieval.Config{CacheDir: cache})
	allReady(t, mine)
	allReady(t, theirs)
	paths := []string{"new.go", "old.go", "gone.go"}
	between := func() {
		put(t, dir, "new.go", animal("egret"))
		put(t, dir, "old.go", animal("heron"))
		if err := os.Remove(filepath.Join(dir, "gone.go")); err != nil {
			t.Error(err)
		}
		if err := theirs.Update(t.Context(), paths...); err != nil {
			t.Error(err)
		}
	}
	b.after.Store(&between)
	if err := mine.Update(t.Context(), paths...); err != nil {
		t.Fatal(err)
	}
	if b.after.Load() != nil {
		t.Fatal("the update did not look at the tree")
	}
	for name, x := range map[string]*retrieval.Index{"the earlier one": mine, "the later one": theirs} {
		changesAreFound(t, name, x)
	}
}
