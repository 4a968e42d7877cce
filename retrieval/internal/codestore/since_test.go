package codestore

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// look examines paths below root.
func look(t *testing.T, root string) func(context.Context, ...string) ([]worktree.File, error) {
	return func(ctx context.Context, paths ...string) ([]worktree.File, error) {
		return worktree.Look(ctx, root, worktree.Options{}, paths...)
	}
}

// aged waits until the states of all files can be trusted.
func aged(t *testing.T, root string) {
	t.Helper()
	racy := func(f worktree.File) bool { return f.Racy }
	for end := time.Now().Add(time.Minute); slices.ContainsFunc(scan(t, root).Files, racy); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the states of files stay racy")
		}
	}
}

// TestOlderObservationYields lets another store of the same directory change the index between the
// moment at which a writer examines the tree and the moment at which it writes. What the other one
// has indexed must stay: it is newer.
func TestOlderObservationYields(t *testing.T) {
	type change struct {
		what   string
		before map[string]string // put and indexed before the tree is examined
		do     func(t *testing.T, root string)
		paths  []string
	}
	write := func(files map[string]string) func(*testing.T, string) {
		return func(t *testing.T, root string) { put(t, root, files) }
	}
	remove := func(paths ...string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			for _, p := range paths {
				if err := os.RemoveAll(filepath.Join(root, p)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	changes := []change{
		{"a new file", nil, write(map[string]string{"n": "new"}), []string{"n"}},
		{"a new directory", nil, write(map[string]string{"nd/a": "new", "nd/b": "new"}), []string{"nd"}},
		{"a change", map[string]string{"c": "old"}, write(map[string]string{"c": "new text"}), []string{"c"}},
		{"a change of the same size", map[string]string{"c": "old"}, write(map[string]string{"c": "new"}), []string{"c"}},
		{"a removal", map[string]string{"r": "old"}, remove("r"), []string{"r"}},
		{"a removed directory", map[string]string{"rd/a": "old", "rd/b": "old"}, remove("rd"), []string{"rd"}},
		{"a move", map[string]string{"m": "old"}, func(t *testing.T, root string) {
			if err := os.Rename(filepath.Join(root, "m"), filepath.Join(root, "moved")); err != nil {
				t.Fatal(err)
			}
		}, []string{"m", "moved"}},
		{"a file in place of a directory", map[string]string{"x/a": "old"}, func(t *testing.T, root string) {
			remove("x")(t, root)
			put(t, root, map[string]string{"x": "new"})
		}, []string{"x"}},
		{"a directory in place of a file", map[string]string{"x": "old"}, func(t *testing.T, root string) {
			remove("x")(t, root)
			put(t, root, map[string]string{"x/a": "new"})
		}, []string{"x"}},
		{"a text that became binary", map[string]string{"b": "old"}, write(map[string]string{"b": "a\x00b"}), []string{"b"}},
	}
	// Each writer gets what it sees of the tree before the change.
	writers := map[string]func(t *testing.T, s *Store, root string, c change) (run func(*Since) error){
		"sync": func(t *testing.T, s *Store, root string, c change) func(*Since) error {
			tree := scan(t, root)
			return func(since *Since) error {
				_, err := s.Sync(t.Context(), tree, since, nil)
				return err
			}
		},
		"update": func(t *testing.T, s *Store, root string, c change) func(*Since) error {
			files, err := look(t, root)(t.Context(), append(slices.Clone(c.paths), "d0/f0")...)
			if err != nil {
				t.Fatal(err)
			}
			return func(since *Since) error {
				_, err := s.Update(t.Context(), root, since, files...)
				return err
			}
		},
	}
	others := map[string]func(t *testing.T, s *Store, root string, c change){
		"an update": func(t *testing.T, s *Store, root string, c change) {
			files, err := look(t, root)(t.Context(), c.paths...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Update(t.Context(), root, nil, files...); err != nil {
				t.Fatal(err)
			}
		},
		"a sync": func(t *testing.T, s *Store, root string, c change) { syncTree(t, s, root) },
	}
	for name, writer := range writers {
		for beside, other := range others {
			for _, c := range changes {
				t.Run(name+"/"+beside+"/"+c.what, func(t *testing.T) {
					t.Parallel()
					root, dir := t.TempDir(), t.TempDir()
					put(t, root, someFiles("x"))
					put(t, root, c.before)
					aged(t, root)
					mine, theirs := open(t, dir, smallSegments()), open(t, dir, smallSegments())
					syncTree(t, mine, root)
					view, err := mine.View()
					if err != nil {
						t.Fatal(err)
					}
					defer view.Close()
					write := writer(t, mine, root, c)
					c.do(t, root)
					other(t, theirs, root, c)
					if err := write(&Since{View: view, Look: look(t, root)}); err != nil {
						t.Fatal(err)
					}
					wantIndex(t, mine, root)
					wantIndex(t, theirs, root)
				})
			}
		}
	}
}

// TestSinceExaminesLittle counts what is examined again: only paths that another writer changed and
// about which the scan says something else.
func TestSinceExaminesLittle(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	mine, theirs := open(t, dir, smallSegments()), open(t, dir, smallSegments())
	var asked []string
	since := func() *Since {
		view, err := mine.View()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(view.Close)
		return &Since{View: view, Look: func(ctx context.Context, paths ...string) ([]worktree.File, error) {
			asked = append(asked, paths...)
			return look(t, root)(ctx, paths...)
		}}
	}
	do := func(what string, want []string, change func()) {
		t.Helper()
		s, tree := since(), scan(t, root)
		asked = nil
		change()
		if _, err := mine.Sync(t.Context(), tree, s, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: %q are examined, want %q", what, asked, want)
		}
		wantIndex(t, mine, root)
	}
	do("nobody else writes", nil, func() {})
	do("another process indexes the same scan", nil, func() { syncTree(t, theirs, root) })
	do("another process indexes one more file", []string{"n"}, func() {
		put(t, root, map[string]string{"n": "new"})
		syncTree(t, theirs, root)
	})
	do("another process removes a file", []string{"n"}, func() {
		if err := os.Remove(filepath.Join(root, "n")); err != nil {
			t.Fatal(err)
		}
		syncTree(t, theirs, root)
	})
	if all, err := contents(mine); err != nil || !maps.Equal(all, onDisk(t, root)) {
		t.Errorf("%v, %v", all, err)
	}
}
