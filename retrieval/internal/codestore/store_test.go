package codestore

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

func wantIndex(t *testing.T, s *Store, root string) {
	t.Helper()
	got, err := contents(s)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(onDisk(t, root), got); d != "" {
		t.Fatalf("index -want +got\n%s", d)
	}
}

// counts holds the numbers of a report that a test compares.
type counts struct{ Unchanged, Rehashed, Built, Removed, Folded, Adopted int }

func countsOf(r Report) counts {
	return counts{r.Unchanged, r.Rehashed, r.Built, r.Removed, r.Folded, r.Adopted}
}

func TestSyncAndUpdate(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, map[string]string{"a.go": "package a", "b/b.go": "package b", "b/c.go": "package c", "d": ""})
	s := open(t, dir, Options{})
	if d := cmp.Diff(counts{Built: 4}, countsOf(syncTree(t, s, root))); d != "" {
		t.Errorf("first: -want +got\n%s", d)
	}
	wantIndex(t, s, root)
	put(t, root, map[string]string{"b/b.go": "package b // changed", "e.go": "package e"})
	if err := os.Remove(filepath.Join(root, "a.go")); err != nil {
		t.Fatal(err)
	}
	tree := scan(t, root)
	var files []worktree.File
	for _, p := range []string{"b/b.go", "e.go"} {
		f, _ := tree.Lookup(p)
		files = append(files, f)
	}
	files = append(files, worktree.File{Path: "a.go", Skip: worktree.SkipGone})
	r, err := s.Update(context.Background(), root, nil, files...)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(counts{Built: 2, Removed: 1}, countsOf(r)); d != "" {
		t.Errorf("update: -want +got\n%s", d)
	}
	wantIndex(t, s, root)
	again := open(t, dir, Options{})
	wantIndex(t, again, root)
	r = syncTree(t, again, root)
	if r.Built != 0 || r.Removed != 0 || r.Unchanged+r.Rehashed != 4 {
		t.Errorf("again: %+v", r)
	}
	wantIndex(t, again, root)
}
