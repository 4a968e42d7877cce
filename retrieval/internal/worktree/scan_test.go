package worktree

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write creates files below a new directory, with the given content by path.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	put(t, root, files)
	return root
}

func put(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		name := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func scan(t testing.TB, root string, opts Options) *Tree {
	t.Helper()
	tree, err := Scan(context.Background(), root, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func paths(files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	return out
}

func TestScan(t *testing.T) {
	root := write(t, map[string]string{
		".gitignore": "*.log\nbuild/\n", "a.go": "package a\n", "b/c.py": "x = 1\n", "b-c.py": "", "c.go": "", "b/d/e.rs": "fn main() {}\n", "x.log": "no",
		"build/out.go": "package no\n", "icon.png": "text all the same", "data.raw": "a\x00b", "host/skip.txt": "x",
		"node_modules/m/index.js": "x", "cache/CACHEDIR.TAG": "", "cache/x": "y", "wt/.git": "gitdir: /r/.git/worktrees/wt\n", "wt/a.go": "package a\n",
		"sub/.git": "gitdir: ../.git/modules/sub\n", "sub/a.go": "package a\n",
	})
	got := scan(t, root, Options{Ignore: []string{"/host"}})
	want := []string{".gitignore", "a.go", "b-c.py", "b/c.py", "b/d/e.rs", "c.go", "sub/a.go"}
	if d := cmp.Diff(want, paths(got.Files)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	skipped := map[string]string{}
	for _, f := range got.Skipped {
		skipped[f.Path] = f.Skip.String()
	}
	if d := cmp.Diff(map[string]string{
		"icon.png": "binary", "data.raw": "binary", "node_modules": "directory of a tool", "cache": "directory of a tool", "wt": "another work tree",
	}, skipped); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func BenchmarkScanGoroot(b *testing.B) {
	root := filepath.Join(runtime.GOROOT(), "src")
	var previous *Tree
	for _, kind := range []string{"first", "again"} {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			var tree *Tree
			for b.Loop() {
				tree = scan(b, root, Options{Previous: previous})
			}
			b.ReportMetric(float64(len(tree.Files)), "files")
			previous = tree
		})
	}
}
