package codestore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// TestFoldingEnds checks that segments that were just built or folded are large and few enough not
// to be folded again at once.
func TestFoldingEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range tier.Pick(30, 100, 300) {
		o := Options{Workers: 1 + r.IntN(64), SegmentBytes: 1 << (20 + r.IntN(5))}.withDefaults()
		files := make([]worktree.File, 1+r.IntN(200_000))
		most := 1 + r.IntN(1<<r.IntN(20))
		docs := 0
		for i := range files {
			files[i].Size = int64(r.IntN(most))
		}
		small := 0
		for _, b := range o.batches(files) {
			var bytes int64
			for i := range b {
				bytes += b[i].Size
			}
			docs += len(b)
			if isSmall(len(b), bytes, o.SegmentBytes/smallShare) {
				small++
			}
			if len(b) > maxBatchDocs || len(b) > 1 && bytes > 2*o.SegmentBytes {
				t.Fatalf("a batch of %d files, %d bytes of %d", len(b), bytes, o.SegmentBytes)
			}
		}
		if small >= manySegments || docs != len(files) {
			t.Fatalf("%d small batches; %d of %d files; %+v", small, docs, len(files), o)
		}
	}
}

func TestManyUpdatesAreFolded(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	s := open(t, dir, Options{})
	syncTree(t, s, root)
	folded, most := 0, 0
	for i := range 60 {
		path := fmt.Sprintf("new/f%d", i)
		put(t, root, map[string]string{path: path})
		files, err := worktree.Look(t.Context(), root, worktree.Options{}, path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Update(t.Context(), root, nil, files...)
		if err != nil || r.Built != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		folded += r.Folded
		most = max(most, r.Segments)
	}
	if folded == 0 || most > manySegments+2 {
		t.Errorf("folded %d documents, up to %d segments", folded, most)
	}
	wantIndex(t, s, root)
	wantIndex(t, open(t, dir, Options{}), root)
}

func TestUpdateDirectories(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	put(t, root, map[string]string{"d0x": "not below d0", "d0-1/a": "nor this"})
	s := open(t, dir, smallSegments())
	syncTree(t, s, root)
	update := func(want counts, paths ...string) {
		t.Helper()
		files, err := worktree.Look(t.Context(), root, worktree.Options{}, paths...)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Update(t.Context(), root, nil, files...)
		if err != nil {
			t.Fatal(err)
		}
		if got := countsOf(r); got != want {
			t.Errorf("%v: %+v, want %+v", paths, got, want)
		}
		wantIndex(t, s, root)
	}
	if err := os.RemoveAll(filepath.Join(root, "d1")); err != nil {
		t.Fatal(err)
	}
	update(counts{Removed: 10}, "d1")
	if err := os.Rename(filepath.Join(root, "d0"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	update(counts{Removed: 10, Built: 10}, "d0", "moved")
	put(t, root, map[string]string{"moved/f0": "changed", "moved/sub/g": "new"})
	if err := os.Remove(filepath.Join(root, "moved/f1")); err != nil {
		t.Fatal(err)
	}
	update(counts{Removed: 1, Built: 2, Rehashed: 8}, "moved")
	put(t, root, map[string]string{"d2/f0": "a\x00b"})
	update(counts{Removed: 1}, "d2/f0")
}
