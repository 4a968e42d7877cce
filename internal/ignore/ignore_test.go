package ignore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func walked(t *testing.T, m *Matcher, fn func(p string, d fs.DirEntry) error) []string {
	t.Helper()
	var seen []string
	err := m.Walk(func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		seen = append(seen, p)
		if fn != nil {
			return fn(p, d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestRootBelowTop(t *testing.T) {
	root := repo(t, map[string]string{
		".gitignore": "*.o\n/work/only\n/only\nwork/tmp/\n", ".git/info/exclude": "secret\n", "work/.gitignore": "!keep.o\n",
		"work/keep.o": "", "work/x.o": "", "work/only": "", "work/sub/only": "", "work/secret": "", "work/a": "", "work/tmp/t": "",
	})
	got := walked(t, New(filepath.Join(root, "work")), nil)
	if d := cmp.Diff([]string{".", ".gitignore", "a", "keep.o", "sub", "sub/only"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	// A workspace that is itself ignored by an outer repository is still walked, because the user
	// named it.
	if d := cmp.Diff([]string{".", "t"}, walked(t, New(filepath.Join(root, "work/tmp")), nil)); d != "" {
		t.Errorf("ignored root: -want +got\n%s", d)
	}
}

func TestLinkedWorkTree(t *testing.T) {
	root := repo(t, map[string]string{"a": "x", ".git/info/exclude": "secret\n"})
	git(t, root, "add", "a")
	git(t, root, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x")
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, root, "worktree", "add", "-q", linked)
	if err := os.WriteFile(filepath.Join(linked, "secret"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{".", "a"}, walked(t, New(linked), nil)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestWalkSkips(t *testing.T) {
	fsys := fstest.MapFS{"a/1": {}, "a/2": {}, "b/1": {}, "c/1": {}, ".git/config": {}}
	got := walked(t, NewFS(fsys), func(p string, d fs.DirEntry) error {
		switch p {
		case "a", "b/1":
			return fs.SkipDir
		case "c":
			return fs.SkipAll
		}
		return nil
	})
	if d := cmp.Diff([]string{".", "a", "b", "b/1", "c"}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	stop := errors.New("stop")
	if err := NewFS(fsys).Walk(func(string, fs.DirEntry, error) error { return stop }); err != stop {
		t.Errorf("err = %v", err)
	}
	if err := Walk(filepath.Join(t.TempDir(), "absent"), func(_ string, _ fs.DirEntry, err error) error { return err }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent root: err = %v", err)
	}
}

func TestSymlinks(t *testing.T) {
	root := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "real"), 0o755))
	must(os.WriteFile(filepath.Join(root, "real/f"), nil, 0o644))
	must(os.Symlink("..", filepath.Join(root, "real/loop")))
	must(os.Symlink("real", filepath.Join(root, "link")))
	must(os.WriteFile(filepath.Join(root, "rules"), []byte("*\n"), 0o644))
	must(os.Symlink("rules", filepath.Join(root, ".gitignore"))) // git does not follow it either
	if d := cmp.Diff([]string{".", ".gitignore", "link", "real", "real/f", "real/loop", "rules"}, walked(t, New(root), nil)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestMatchOddPaths(t *testing.T) {
	m := NewFS(fstest.MapFS{".gitignore": {Data: []byte("*\n")}})
	for p, want := range map[string]bool{".": false, "": false, "..": false, "../x": false, "/x": false, "x": true, "./x/": true, ".git": true, "sub/.git/config": true} {
		if got := m.Match(p, false); got != want {
			t.Errorf("Match(%q) = %v", p, got)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"*.o\n!a", "a/**/b\n**/c\n/d**", "[[:alpha:]-z]\n[", `\#` + "\n" + `a\ `, strings.Repeat("**/", 40) + "x"} {
		f.Add(s, "a/b/c.o")
	}
	f.Fuzz(func(t *testing.T, rules, p string) {
		m := NewFS(fstest.MapFS{".gitignore": {Data: []byte(rules)}})
		file, dir := m.Match(p, false), m.Match(p, true)
		if file && !dir && !strings.Contains(rules, "/") {
			t.Errorf("%q ignores %q as a file only", rules, p)
		}
		if dir && fs.ValidPath(p) && p != "." && !m.Match(p+"/x", false) {
			t.Errorf("%q ignores the directory %q but not what it holds", rules, p)
		}
	})
}

func BenchmarkWalk10k(b *testing.B) {
	root := b.TempDir()
	os.WriteFile(filepath.Join(root, ".gitignore"), []byte("*.o\n*.tmp\nnode_modules/\n/build\n**/gen/*.pb.go\n!keep.o\n[Tt]humbs.db\n"), 0o644)
	for d := range 100 {
		dir := filepath.Join(root, fmt.Sprintf("pkg%02d", d))
		os.Mkdir(dir, 0o755)
		for f := range 100 {
			os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.go", f)), nil, 0o644)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		Walk(root, func(string, fs.DirEntry, error) error { n++; return nil })
		if n != 10102 {
			b.Fatal(n)
		}
	}
}

// BenchmarkHostilePattern shows that the time for a bad pattern grows with the product of the
// lengths, not exponentially.
func BenchmarkHostilePattern(b *testing.B) {
	m := NewFS(fstest.MapFS{".gitignore": {Data: []byte("/" + strings.Repeat("**/a*", 30) + "/x\n")}})
	p := strings.Repeat("a/", 200) + "y"
	b.ReportAllocs()
	for b.Loop() {
		if m.outer.read(m.fsys, ".", "").ignores(p, false) {
			b.Fatal("matched")
		}
	}
}

func ExampleWalk() {
	root, err := os.MkdirTemp("", "ignore")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	os.WriteFile(filepath.Join(root, ".gitignore"), []byte("*.o\n"), 0o644)
	os.WriteFile(filepath.Join(root, "main.go"), nil, 0o644)
	os.WriteFile(filepath.Join(root, "main.o"), nil, 0o644)
	Walk(root, func(p string, d fs.DirEntry, err error) error {
		fmt.Println(p)
		return err
	})
	// Output:
	// .
	// .gitignore
	// main.go
}
