package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/internal/tier"
)

func skipped(tree *Tree) map[string]string {
	out := map[string]string{}
	for _, f := range tree.Skipped {
		out[f.Path] = f.Skip.String()
	}
	return out
}

// TestScanAgainstGit compares a scan with the files that git lists, in this repository.
func TestScanAgainstGit(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("not in a repository: ", err)
	}
	git := map[string]bool{}
	for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		git[p] = true
	}
	tree := scan(t, root, Options{MaxFileSize: 1 << 40, KeepTools: true})
	ours := map[string]bool{}
	for _, f := range append(slices.Clone(tree.Files), tree.Skipped...) {
		if !f.Mode.IsDir() {
			ours[f.Path] = true
		}
	}
	missing, extra := 0, 0
	for p := range git {
		if _, err := os.Lstat(filepath.Join(root, p)); err == nil && !ours[p] {
			missing++
			t.Logf("git has %s", p)
		}
	}
	for p := range ours {
		if _, err := os.Lstat(filepath.Join(root, p)); err == nil && !git[p] {
			extra++
			t.Logf("we have %s", p)
		}
	}
	// Other processes may change the tree meanwhile.
	if missing+extra > len(git)/100 || len(ours) < 100 {
		t.Errorf("%d of git's files are missing, %d are too many, of %d", missing, extra, len(git))
	}
}

func TestScanOddFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links and pipes are rare there")
	}
	root := write(t, map[string]string{"a.go": "package a\n", "large": strings.Repeat("x\n", 600), "deep/1/2/3/f": "x", "odd\xff\nname": "x"})
	for link, to := range map[string]string{"loop": ".", "dir/up": "..", "dir/file": "../a.go", "outside": "/etc", "dangling": "nowhere"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755), os.Symlink(to, filepath.Join(root, link))); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("mkfifo", filepath.Join(root, "pipe")).CombinedOutput(); err != nil {
		t.Skip(string(out))
	}
	tree := scan(t, root, Options{MaxFileSize: 1000, MaxDepth: 3})
	if d := cmp.Diff([]string{"a.go", "odd\xff\nname"}, paths(tree.Files)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	link := "symbolic link"
	if d := cmp.Diff(map[string]string{
		"loop": link, "dir/up": link, "dir/file": link, "outside": link, "dangling": link, "pipe": "special file", "large": "too large", "deep/1/2/3": "too deep",
	}, skipped(tree)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, p := range []string{"loop/a.go", "dir/file", "outside/passwd", "../x", "/etc/passwd", "dir/up/a.go", "nothing"} {
		for name, open := range map[string]func(string) (*os.File, error){"open": r.open, "slowly": r.openSlowly} {
			if f, err := open(p); err == nil {
				f.Close()
				t.Errorf("%s: %s was opened", name, p)
			}
		}
	}
	for _, open := range []func(string) (*os.File, error){r.open, r.openSlowly} {
		f, err := open("deep/1/2/3/f")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if _, _, err := r.ReadFile("pipe", 1000); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe: %v", err)
	}
	if _, _, err := r.ReadFile("large", 1000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	if text, f, err := r.ReadFile("a.go", 1000); err != nil || string(text) != "package a\n" || f.Size != 10 {
		t.Errorf("%q, %+v, %v", text, f, err)
	}
	now, _ := tree.Lookup("a.go")
	if _, f, _ := r.ReadFile("a.go", 1000); !f.Same(&now) {
		t.Errorf("a scan sees %+v, a read %+v", now, f)
	}
}

func TestScanUnreadable(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("everything can be read")
	}
	root := write(t, map[string]string{"a": "x", "shut/b": "x", "c": "x"})
	if err := errors.Join(os.Chmod(filepath.Join(root, "shut"), 0), os.Chmod(filepath.Join(root, "c"), 0)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(root, "shut"), 0o755)
	tree := scan(t, root, Options{})
	if d := cmp.Diff(map[string]string{"shut": "unreadable", "c": "unreadable"}, skipped(tree)); d != "" || len(tree.Files) != 1 {
		t.Errorf("%v -want +got\n%s", paths(tree.Files), d)
	}
}

func TestScanMany(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d/e/f%02d", i)] = "x"
		files[fmt.Sprintf("d/g%02d", i)] = "x"
	}
	root := write(t, files)
	first := scan(t, root, Options{MaxFiles: 40})
	if len(first.Files) != 40 || first.SkipCounts()[SkipMany] != 20 {
		t.Fatalf("%d files, %v", len(first.Files), first.SkipCounts())
	}
	if _, ok := search(first.Files, "d/g29"); !ok {
		t.Error("a file near the root gave way to deeper ones")
	}
	again := scan(t, root, Options{MaxFiles: 40, Previous: first})
	if d := cmp.Diff(paths(first.Files), paths(again.Files)); d != "" {
		t.Errorf("another choice: %s", d)
	}
	if more := scan(t, root, Options{Previous: first}); len(more.Files) != 60 {
		t.Errorf("%d files once there may be more", len(more.Files))
	}
}

func TestScanErrors(t *testing.T) {
	if _, err := Scan(context.Background(), filepath.Join(t.TempDir(), "nothing"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := Scan(ctx, t.TempDir(), Options{}); !errors.Is(err, why) {
		t.Errorf("err = %v", err)
	}
	// A cancellation in the middle of the scan.
	ctx, cancel = context.WithCancelCause(context.Background())
	_, err := Scan(ctx, filepath.Join(runtime.GOROOT(), "src"), Options{Progress: func(int, int64) { cancel(why) }})
	if !errors.Is(err, why) {
		t.Errorf("err = %v", err)
	}
	tier.NoLeaks(t)
}

func TestScanProgress(t *testing.T) {
	var files int
	var bytes int64
	tree := scan(t, write(t, map[string]string{"a": "12345", "b/c": "123"}), Options{Progress: func(f int, b int64) { files, bytes = f, b }})
	if files != 2 || bytes != 8 || tree.Bytes != 8 {
		t.Errorf("%d files, %d bytes, %d", files, bytes, tree.Bytes)
	}
}

// TestScanWhileChanging scans a tree while directories and files are created and removed.
func TestScanWhileChanging(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"stays/a.go": "package a\n"})
	done := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			dir := filepath.Join(root, fmt.Sprintf("d%d", rand.IntN(5)))
			_ = os.MkdirAll(filepath.Join(dir, "sub"), 0o755)
			_ = os.WriteFile(filepath.Join(dir, "sub", fmt.Sprint(i%7)), []byte("text"), 0o644)
			switch i % 11 {
			case 3:
				_ = os.RemoveAll(dir)
			case 5:
				_ = os.Rename(filepath.Join(dir, "sub"), filepath.Join(root, "elsewhere"))
			case 7:
				_ = os.Remove(filepath.Join(root, "elsewhere"))
				_ = os.Symlink(root, filepath.Join(root, "elsewhere"))
			}
		}
	})
	var previous *Tree
	for range 200 {
		previous = scan(t, root, Options{Previous: previous})
		if _, ok := previous.Lookup("stays/a.go"); !ok {
			t.Fatal("a file that was there all the time was not found")
		}
		if !slices.IsSortedFunc(previous.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) }) {
			t.Fatal("not sorted")
		}
	}
	close(done)
	changing.Wait()
}

func TestDiff(t *testing.T) {
	root := write(t, map[string]string{"same": "1", "size": "1", "touched": "1", "gone": "1", "replaced": "1", "big": "1"})
	time.Sleep(80 * time.Millisecond)
	old := scan(t, root, Options{})
	for _, f := range old.Files {
		if f.Racy {
			t.Errorf("%s is racy", f.Path)
		}
	}
	if c := Diff(old, scan(t, root, Options{})); !c.Empty() {
		t.Errorf("nothing has changed: %+v", c)
	}
	put(t, root, map[string]string{"size": "12", "touched": "2", "new": "1", "big": strings.Repeat("x", 100)})
	before, _ := old.Lookup("touched")
	when := time.Unix(0, before.ModTime)
	if err := errors.Join(
		os.Chtimes(filepath.Join(root, "touched"), when, when), // different content of the same size, with the time set back
		os.WriteFile(filepath.Join(root, "r"), []byte("2"), 0o644), os.Chtimes(filepath.Join(root, "r"), when, when),
		os.Rename(filepath.Join(root, "r"), filepath.Join(root, "replaced")),
		os.Remove(filepath.Join(root, "gone")),
	); err != nil {
		t.Fatal(err)
	}
	now := scan(t, root, Options{MaxFileSize: 50})
	c := Diff(old, now)
	got := map[string][]string{"added": paths(c.Added), "changed": paths(c.Changed), "removed": paths(c.Removed), "suspect": paths(c.Suspect)}
	want := map[string][]string{"added": {"new"}, "changed": {"replaced", "size", "touched"}, "removed": {"big", "gone"}, "suspect": nil}
	if runtime.GOOS == "windows" {
		want["changed"] = []string{"size"}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff([]string{"big", "gone", "new", "replaced", "size", "touched"}, paths(c.Files())); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	// Files that had just been changed at the time of the scan must be examined again.
	if c := Diff(now, scan(t, root, Options{MaxFileSize: 50})); !slices.Contains(paths(c.Suspect), "new") {
		t.Errorf("%+v", c)
	}
	if c := Diff(nil, now); len(c.Added) != len(now.Files) {
		t.Errorf("%+v", c)
	}
}

// TestRacy writes a file repeatedly right after it was examined. If the file's state then looks
// unchanged, the earlier state must have been marked as racy.
func TestRacy(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "f")
	same := 0
	for i := range 300 {
		if err := os.WriteFile(name, []byte(fmt.Sprintf("%05d", i)), 0o644); err != nil {
			t.Fatal(err)
		}
		before := scan(t, root, Options{}).Files[0]
		if err := os.WriteFile(name, []byte(fmt.Sprintf("%05d", i+1)), 0o644); err != nil {
			t.Fatal(err)
		}
		after := scan(t, root, Options{}).Files[0]
		if before.Same(&after) {
			same++
		}
		if before.Fresh(&after) {
			t.Fatal("a change went unnoticed")
		}
	}
	t.Logf("%d of 300 changes left the state the same", same)
}

func TestPreviousIsTrusted(t *testing.T) {
	root := write(t, map[string]string{"a.c": "int x;\n", "b.c": "int y;\n", "young.c": "int z;\n"})
	first := scan(t, root, Options{})
	for i := range first.Files { // marks that must be kept from the previous tree
		first.Files[i].Class, first.Files[i].Racy = Vendored, first.Files[i].Path == "young.c"
	}
	put(t, root, map[string]string{"b.c": "int changed;\n"})
	got := map[string]Class{}
	for _, f := range scan(t, root, Options{Previous: first}).Files {
		got[f.Path] = f.Class
	}
	if d := cmp.Diff(map[string]Class{"a.c": Vendored, "b.c": 0, "young.c": 0}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestLookIsScan changes a tree at random and checks that Look at the changed paths gives the same
// result as a new scan.
func TestLookIsScan(t *testing.T) {
	files := map[string]string{".gitignore": "*.log\nbuild/\n/host\n"}
	for i := range 60 {
		files[fmt.Sprintf("d%d/e%d/f%d.go", i%3, i%4, i)] = fmt.Sprint(i)
	}
	root := write(t, files)
	opts := Options{Ignore: []string{"secret"}, MaxFileSize: 100}
	known := map[string]File{}
	for _, f := range scan(t, root, opts).Files {
		known[f.Path] = f
	}
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a.go", "x.log", "build", "secret", "node_modules", "f1.go", "sub", "CACHEDIR.TAG", ".git"}
	for round := range 300 {
		p := fmt.Sprintf("d%d", r.IntN(4))
		for range r.IntN(3) {
			p += "/" + names[r.IntN(len(names))]
		}
		at := filepath.Join(root, p)
		_ = os.RemoveAll(at) // fails below a file
		changed := []string{p}
		switch r.IntN(6) {
		case 0, 1:
			if os.MkdirAll(filepath.Dir(at), 0o755) == nil {
				_ = os.WriteFile(at, []byte(strings.Repeat("x", 1+r.IntN(120))), 0o644)
			}
		case 2:
			_ = os.MkdirAll(filepath.Join(at, "sub"), 0o755)
			_ = os.WriteFile(filepath.Join(at, "sub", "g.go"), []byte("x"), 0o644)
		case 3:
			to := fmt.Sprintf("d%d", r.IntN(4))
			if p != to && !strings.HasPrefix(p, to+"/") && !strings.HasPrefix(to, p+"/") {
				_ = os.RemoveAll(filepath.Join(root, to))
				_ = os.MkdirAll(filepath.Dir(at), 0o755)
				_ = os.Rename(filepath.Join(root, fmt.Sprintf("d%d", r.IntN(4))), filepath.Join(root, to))
				changed = []string{"d0", "d1", "d2", "d3"}
			}
		}
		// A mark in a directory affects all of it, and a new mark above a file may or may not be
		// seen.
		for _, c := range slices.Clone(changed) {
			for dir := c; dir != "."; dir = filepath.Dir(dir) {
				changed = append(changed, filepath.ToSlash(dir))
			}
		}
		looked, err := Look(t.Context(), root, opts, changed...)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range looked {
			if f.Skip != NotSkipped {
				for q := range known {
					if q == f.Path || strings.HasPrefix(q, f.Path+"/") {
						delete(known, q)
					}
				}
			}
		}
		for _, f := range looked {
			if f.Skip == NotSkipped {
				known[f.Path] = f
			}
		}
		want := scan(t, root, opts)
		got := slices.Collect(func(yield func(File) bool) {
			for _, f := range known {
				yield(f)
			}
		})
		sortFiles(got)
		if d := cmp.Diff(paths(want.Files), paths(got)); d != "" {
			t.Fatalf("round %d, %v: -scan +look\n%s", round, changed, d)
		}
		for i := range got {
			if !got[i].Same(&want.Files[i]) || got[i].Class != want.Files[i].Class {
				t.Fatalf("%+v, scan %+v", got[i], want.Files[i])
			}
		}
	}
	if _, err := Look(t.Context(), root, opts, "../outside"); err == nil {
		t.Error("a path outside of the root was looked at")
	}
}
