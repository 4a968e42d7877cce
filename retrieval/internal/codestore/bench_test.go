package codestore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

// manyFiles creates n files of about 100 bytes, 50 per directory.
func manyFiles(t testing.TB, n int) string {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("p%02d/q%03d", i/5000, i/50))
		if i%50 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("package q%d\n\n// F%d returns a number of its own.\nfunc F%d() int {\n\treturn %d\n}\n", i/50, i, i, i*i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestManyFiles indexes a tree of many files and prints the duration of each part. Set
// LUTHIER_FILES=100000 for a tree as large as real ones get.
func TestManyFiles(t *testing.T) {
	n := tier.Pick(300, 4000, 10_000)
	if more, err := strconv.Atoi(os.Getenv("LUTHIER_FILES")); err == nil {
		n = more
	}
	root, dir := manyFiles(t, n), t.TempDir()
	time.Sleep(100 * time.Millisecond) // until all time stamps are old enough to be trusted
	var tree *worktree.Tree
	took := func(what string, fn func()) {
		start, cpu := time.Now(), cpuTime()
		fn()
		t.Logf("%-28s %8v, processor %8v", what, time.Since(start).Round(time.Millisecond/10), (cpuTime() - cpu).Round(time.Millisecond/10))
	}
	look := func(previous *worktree.Tree) {
		var err error
		if tree, err = worktree.Scan(t.Context(), root, worktree.Options{Previous: previous}); err != nil || len(tree.Files) != n {
			t.Fatalf("%d files, %v", len(tree.Files), err)
		}
	}
	took("scan", func() { look(nil) })
	took("scan again", func() { look(tree) })
	s := open(t, dir, Options{})
	sync := func() Report {
		r, err := s.Sync(t.Context(), tree, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	took("sync, all new", func() {
		if r := sync(); r.Built != n {
			t.Errorf("%+v", r)
		}
	})
	took("sync, nothing changed", func() {
		if r := sync(); r.Unchanged != n {
			t.Errorf("%+v", r)
		}
	})
	took("update of one file", func() {
		put(t, root, map[string]string{"p00/q001/f50.go": "package changed"})
		files, err := worktree.Look(t.Context(), root, worktree.Options{}, "p00/q001/f50.go")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Update(t.Context(), root, nil, files...); err != nil || r.Built != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	took("open", func() {
		again := open(t, dir, Options{})
		v, err := again.View()
		if err != nil || v.Docs() != n {
			t.Errorf("%d documents, %v", v.Docs(), err)
		}
		v.Close()
	})
	took("open over it and sync", func() {
		over, err := OpenOver(t.Context(), t.TempDir(), dir, testFormat(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer over.Close()
		if r, err := over.Sync(t.Context(), tree, nil, nil); err != nil || r.Built != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// goroot indexes Go's library, about 11,000 files.
func goroot(b *testing.B) (*Store, *worktree.Tree) {
	b.Helper()
	root := filepath.Join(runtime.GOROOT(), "src")
	s := open(b, b.TempDir(), Options{})
	tree, err := worktree.Scan(context.Background(), root, worktree.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Sync(context.Background(), tree, nil, nil); err != nil {
		b.Fatal(err)
	}
	return s, tree
}

func BenchmarkSyncFirst(b *testing.B) {
	root := filepath.Join(runtime.GOROOT(), "src")
	tree, err := worktree.Scan(context.Background(), root, worktree.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(tree.Bytes)
	b.ReportAllocs()
	for b.Loop() {
		s := open(b, b.TempDir(), Options{})
		if _, err := s.Sync(context.Background(), tree, nil, nil); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkSyncUnchanged(b *testing.B) {
	s, tree := goroot(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Sync(context.Background(), tree, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate changes one file of a large index, with a Build that costs almost nothing.
func BenchmarkUpdate(b *testing.B) {
	s, _ := goroot(b)
	root := b.TempDir()
	put(b, root, map[string]string{"fmt/print.go": "package fmt"})
	var times []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		path := fmt.Sprintf("fmt/f%d.go", i%50)
		put(b, root, map[string]string{path: fmt.Sprintf("package fmt // %d", i)})
		b.StartTimer()
		start := time.Now()
		files, err := worktree.Look(context.Background(), root, worktree.Options{}, path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Update(context.Background(), root, nil, files...); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkView(b *testing.B) {
	s, _ := goroot(b)
	b.ReportAllocs()
	for b.Loop() {
		v, err := s.View()
		if err != nil {
			b.Fatal(err)
		}
		v.Close()
	}
}

func BenchmarkOpen(b *testing.B) {
	s, _ := goroot(b)
	b.ReportAllocs()
	for b.Loop() {
		open(b, s.disk.dir, Options{}).Close()
	}
}

func BenchmarkGuard(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = Guard(func() error { return nil })
	}
}
