//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must1[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// put writes files. A name ending in "/" is a directory, a text beginning with "-> " a symbolic
// link.
func put(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			os.Remove(p)
			must(t, os.Symlink(target, p))
			continue
		}
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
}

// state lists a tree: type, permissions and content of everything except .git.
func state(t testing.TB, root string) map[string]string {
	t.Helper()
	m := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == ".git" {
			return filepath.SkipDir
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case rel == ".":
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			m[rel] = "-> " + target
			return err
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(p)
			m[rel] = fmt.Sprintf("%v %s", fi.Mode(), data)
			return err
		default:
			m[rel] = fi.Mode().String()
		}
		return nil
	}))
	return m
}

func open(t testing.TB, work string, opts Options) *Store {
	t.Helper()
	s, err := Open(work, filepath.Join(t.TempDir(), "store"), opts)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// messy is a workspace with one file of each kind.
var messy = map[string]string{
	".gitignore": "*.o\nbuild/\n!keep.o\n", "a.go": "package a\n", "sub/b.go": "package sub\n", "sub/.gitignore": "!x.o\nlocal\n", "sub/x.o": "kept by negation",
	"sub/local": "ignored here", "keep.o": "kept", "out.o": "ignored", "build/big": "ignored", "crlf.txt": "a\r\nb", "empty": "", "binary": "\x00\xff\x01",
	"link": "-> a.go", "dangling": "-> nowhere", "loop": "-> loop", "outside": "-> /etc/hostname", "dirlink": "-> sub", "void/": "", "deep/void/": "",
	"new\nline": "1", "tab\tname": "2", `quote"'name`: "3", `back\slash`: "4", "-dash": "5", "bytes\xff\xfe": "6", "übung/日本": "7", " space ": "8", "*star": "9", "CON": "10",
}

// Evidence: sessions · A checkpoint restores the workspace exactly
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, repo := range []bool{true, false} {
		t.Run(fmt.Sprintf("git=%v", repo), func(t *testing.T) {
			work := t.TempDir()
			put(t, work, messy)
			must(t, os.Chmod(filepath.Join(work, "a.go"), 0o755))
			must(t, os.Chmod(filepath.Join(work, "crlf.txt"), 0o600))
			must(t, os.Chmod(filepath.Join(work, "sub"), 0o700))
			if repo {
				runGit(t, work, "init", "-q")
				runGit(t, work, "add", "a.go", "sub")
				runGit(t, work, "add", "-f", "out.o") // tracked although ignored
				runGit(t, work, "commit", "-qm", "one")
				put(t, work, map[string]string{"sub/b.go": "staged\n"})
				runGit(t, work, "add", "sub/b.go")
				put(t, work, map[string]string{"sub/b.go": "changed after staging\n"})
			}
			s := open(t, work, Options{})
			before, status := state(t, work), ""
			if repo {
				status = runGit(t, work, "status", "--porcelain", "-z")
			}
			id := must1[string](t)(s.Snapshot(ctx, "one of everything"))
			if d := cmp.Diff(before, state(t, work)); d != "" {
				t.Fatalf("the snapshot changed the workspace: %s", d)
			}
			meta := state(t, filepath.Join(work, ".git", ".."))

			// Everything is changed, removed, or replaced with something of a different kind.
			for name := range messy {
				if p := filepath.Join(work, name); !strings.Contains(name, "build") && name != "sub/local" && !strings.HasPrefix(name, "sub") && (name != "out.o" || repo) {
					must(t, os.RemoveAll(p))
				}
			}
			put(t, work, map[string]string{"a.go/now/a/dir": "x", "link": "a file", "void": "a file", "deep": "-> sub", "new/file": "n", "empty2/": "", "sub/b.go": "other", "build/big": "rebuilt", "new.o": "ignored, new"})
			must(t, os.Chmod(filepath.Join(work, "sub"), 0o755))
			mid := state(t, work)

			undo := must1[string](t)(s.Restore(ctx, id))
			want := map[string]string{}
			for k, v := range before {
				want[k] = v
			}
			if !repo {
				delete(want, "new.o")
			}
			got := state(t, work)
			want["build/big"] = "-rw-r--r-- rebuilt"
			want["new.o"] = "-rw-r--r-- ignored, new" // ignored files are not touched
			if !repo {
				delete(want, "out.o")
				if _, ok := before["out.o"]; ok {
					delete(got, "out.o")
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("after the restore: -want +got\n%s", d)
			}
			if repo {
				if d := cmp.Diff(status, runGit(t, work, "status", "--porcelain", "-z")); d != "" {
					t.Errorf("git status changed: %s", d)
				}
				runGit(t, work, "fsck", "--strict")
			}
			if _, err := s.Restore(ctx, undo); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(mid, state(t, work)); d != "" {
				t.Errorf("after undoing the restore: -want +got\n%s", d)
			}
			_ = meta
		})
	}
}

// TestGitUntouched checks that no operation changes the workspace's own git repository, by hashing
// its files before and after.
//
// Evidence: sessions · Checkpoints leave the user's git repository untouched
func TestGitUntouched(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, work, map[string]string{"a": "1", "b": "2"})
	runGit(t, work, "init", "-q")
	runGit(t, work, "add", ".")
	runGit(t, work, "commit", "-qm", "one")
	before := state(t, filepath.Join(work, ".git"))
	s := open(t, work, Options{})
	id := must1[string](t)(s.Snapshot(ctx, ""))
	put(t, work, map[string]string{"a": "changed", "c": "3"})
	must1[string](t)(s.Restore(ctx, id))
	must1[string](t)(s.Undo(ctx))
	must1[string](t)(s.Redo(ctx))
	must1[string](t)(s.Diff(ctx, id, Now))
	if d := cmp.Diff(before, state(t, filepath.Join(work, ".git"))); d != "" {
		t.Errorf("the repository changed: %s", d)
	}
}

// Evidence: sessions · Changes can be undone and redone
func TestUndoRedo(t *testing.T) {
	t.Parallel()
	for _, packFrom := range []int{1, packFrom} {
		t.Run(fmt.Sprint("packs from ", packFrom), func(t *testing.T) { testUndoRedo(t, packFrom) })
	}
}

func testUndoRedo(t *testing.T, packFrom int) {
	work := t.TempDir()
	s := open(t, work, Options{})
	s.packFrom = packFrom
	if _, err := s.Undo(ctx); !errors.Is(err, ErrNothingToUndo) {
		t.Errorf("Undo of an empty history: %v", err)
	}
	write := func(text string) { put(t, work, map[string]string{"f": text}) }
	is := func(want string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(work, "f"))
		if err != nil || string(got) != want {
			t.Fatalf("f is %q (%v), want %q", got, err, want)
		}
	}
	undo := func(want string) { t.Helper(); must1[string](t)(s.Undo(ctx)); is(want) }
	redo := func(want string) { t.Helper(); must1[string](t)(s.Redo(ctx)); is(want) }
	for _, v := range []string{"1", "2", "2", "3"} { // a turn that wrote nothing is not a separate step
		write(v)
		must1[string](t)(s.Snapshot(ctx, v))
	}
	write("4")
	undo("3")
	undo("2")
	redo("3")
	redo("4")
	if _, err := s.Redo(ctx); !errors.Is(err, ErrNothingToRedo) {
		t.Errorf("Redo at the end: %v", err)
	}
	undo("3")
	undo("2")
	undo("1")
	if _, err := s.Undo(ctx); !errors.Is(err, ErrNothingToUndo) {
		t.Errorf("Undo at the start: %v", err)
	}
	redo("2")
	write("new")
	if _, err := s.Redo(ctx); !errors.Is(err, ErrNothingToRedo) {
		t.Errorf("Redo over a change: %v", err)
	}
	is("new")
	undo("2")
	redo("new")

	// The states that undo left are still in the list.
	list := must1[[]Checkpoint](t)(s.List(ctx))
	var four string
	for _, c := range list {
		if c.Label == "before an undo" && four == "" {
			four = c.ID
		}
	}
	must1[string](t)(s.Restore(ctx, four))
	is("4")
	undo("new")

	// Another process sees the same history.
	again, err := Open(work, s.dir, Options{})
	must(t, err)
	defer again.Close()
	if d := cmp.Diff(must1[[]Checkpoint](t)(s.List(ctx)), must1[[]Checkpoint](t)(again.List(ctx))); d != "" {
		t.Errorf("the history reads differently: %s", d)
	}
	must1[string](t)(again.Redo(ctx))
	is("4")
}

func TestIgnoreRulesChange(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	s := open(t, work, Options{})
	// A file that was ignored at the time of the checkpoint was not recorded, so it is not removed
	// even though it is no longer ignored.
	put(t, work, map[string]string{".gitignore": "out\n", "out": "built", "f": "1"})
	one := must1[string](t)(s.Snapshot(ctx, ""))
	put(t, work, map[string]string{".gitignore": "", "f": "2"})
	undo := must1[string](t)(s.Restore(ctx, one))
	if got := state(t, work)["out"]; got != "-rw-r--r-- built" {
		t.Errorf("out is %q", got)
	}
	// A file was recorded, then ignored and changed. The restore brings back the old content, and
	// undoing the restore brings back the new content.
	must1[string](t)(s.Restore(ctx, undo))
	put(t, work, map[string]string{".gitignore": "out\nlater\n", "out": "rebuilt"})
	before := state(t, work)
	back := must1[string](t)(s.Restore(ctx, undo))
	if got := state(t, work)["out"]; got != "-rw-r--r-- built" {
		t.Errorf("out is %q", got)
	}
	must1[string](t)(s.Restore(ctx, back))
	if d := cmp.Diff(before, state(t, work)); d != "" {
		t.Errorf("undone: -want +got\n%s", d)
	}
	// A restore created a file under a name that is ignored. Undoing the restore removes the file
	// again.
	must(t, os.Remove(filepath.Join(work, "out")))
	before = state(t, work)
	back = must1[string](t)(s.Restore(ctx, undo))
	must1[string](t)(s.Restore(ctx, back))
	if d := cmp.Diff(before, state(t, work)); d != "" {
		t.Errorf("undone: -want +got\n%s", d)
	}
}

func TestInTheWay(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, work, map[string]string{".gitignore": "*.o\n", "f": "file"})
	s := open(t, work, Options{})
	id := must1[string](t)(s.Snapshot(ctx, ""))
	must(t, os.Remove(filepath.Join(work, "f")))
	put(t, work, map[string]string{"f/x.o": "ignored", "f/y": "recorded"})
	before := state(t, work)
	if _, err := s.Restore(ctx, id); err == nil || !strings.Contains(err.Error(), "f/x.o") {
		t.Errorf("err = %v", err)
	}
	if d := cmp.Diff(before, state(t, work)); d != "" {
		t.Errorf("a refused restore changed: %s", d)
	}
	must(t, os.RemoveAll(filepath.Join(work, "f")))
	must(t, syscall.Mkfifo(filepath.Join(work, "f"), 0o644))
	if _, err := s.Restore(ctx, id); err == nil || !strings.Contains(err.Error(), "pipe") {
		t.Errorf("err = %v", err)
	}
}

func TestNotRecorded(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, work, map[string]string{"big": strings.Repeat("x", 101), "small": "x"})
	must(t, syscall.Mkfifo(filepath.Join(work, "pipe"), 0o644))
	s := open(t, work, Options{MaxFile: 100})
	id := must1[string](t)(s.Snapshot(ctx, ""))
	list := must1[[]Checkpoint](t)(s.List(ctx))
	want := []string{"big: is larger (101 bytes) than the 100 that are recorded", "pipe: is no file but a pipe"}
	if d := cmp.Diff(want, list[0].Notes); d != "" {
		t.Errorf("notes: %s", d)
	}
	before := state(t, work)
	put(t, work, map[string]string{"small": "y"})
	must1[string](t)(s.Restore(ctx, id))
	if d := cmp.Diff(before, state(t, work)); d != "" {
		t.Errorf("-want +got %s", d)
	}
	// The file is now small enough to be recorded. A restore to a time when it was not recorded
	// still does not touch it.
	put(t, work, map[string]string{"big": "shrunk"})
	must1[string](t)(s.Restore(ctx, id))
	if got := state(t, work)["big"]; got != "-rw-r--r-- shrunk" {
		t.Errorf("big is %q", got)
	}
	// The file is too large now, but a checkpoint has it, so it is recorded before it is replaced.
	two := must1[string](t)(s.Snapshot(ctx, ""))
	put(t, work, map[string]string{"big": strings.Repeat("z", 500)})
	undo := must1[string](t)(s.Restore(ctx, two))
	must1[string](t)(s.Restore(ctx, undo))
	if got := state(t, work)["big"]; len(got) != len("-rw-r--r-- ")+500 {
		t.Errorf("big is %q", got)
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	if _, err := Open(work, filepath.Join(work, "store"), Options{}); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("store inside: %v", err)
	}
	if _, err := Open(filepath.Join(work, "absent"), t.TempDir(), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent workspace: %v", err)
	}
	s := open(t, work, Options{})
	if _, err := Open(t.TempDir(), s.dir, Options{}); err == nil || !strings.Contains(err.Error(), "belongs to") {
		t.Errorf("another's store: %v", err)
	}
	id := must1[string](t)(s.Snapshot(ctx, ""))
	for _, bad := range []string{"", "x", id[:6], strings.Repeat("0", 40), "../../etc"} {
		if _, err := s.Restore(ctx, bad); !errors.Is(err, ErrUnknown) {
			t.Errorf("Restore(%q): %v", bad, err)
		}
	}
	must1[string](t)(s.Restore(ctx, id[:12]))
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Snapshot(done, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSameSizeSameTime checks that a change is recorded even if it is visible only in the file's
// change time.
func TestSameSizeSameTime(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	s := open(t, work, Options{})
	put(t, work, map[string]string{"f": "aaaa"})
	p := filepath.Join(work, "f")
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(p, old, old))
	time.Sleep(60 * time.Millisecond)
	one := must1[string](t)(s.Snapshot(ctx, ""))
	if len(s.cache) != 1 {
		t.Fatalf("the cache knows %d files", len(s.cache))
	}
	must(t, os.WriteFile(p, []byte("bbbb"), 0o644))
	must(t, os.Chtimes(p, old, old))
	two := must1[string](t)(s.Snapshot(ctx, ""))
	changed := must1[[]string](t)(s.Changes(ctx, one, two))
	if d := cmp.Diff([]string{"f"}, changed); d != "" {
		t.Errorf("changes: %s", d)
	}
}

// TestQuickWrites checks that no write is missed, even if files of the same size are written as
// fast as snapshots are taken.
func TestQuickWrites(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	s := open(t, work, Options{})
	for i := range 60 {
		text := fmt.Sprintf("%04d", i)
		put(t, work, map[string]string{"f": text})
		id := must1[string](t)(s.Snapshot(ctx, ""))
		e := must1[event](t)(s.find(id))
		m := must1[*manifest](t)(s.getManifest(e.tree))
		if got := must1[[]byte](t)(s.blob(m.files[0].hash)); string(got) != text {
			t.Fatalf("snapshot %d holds %q", i, got)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	s := open(t, work, Options{})
	put(t, work, map[string]string{"a.txt": "one\ntwo\nthree\n", "gone": "x\n", "same": "s\n"})
	one := must1[string](t)(s.Snapshot(ctx, ""))
	put(t, work, map[string]string{"a.txt": "one\n2\nthree\n", "dir/new": "n\n"})
	must(t, os.Remove(filepath.Join(work, "gone")))
	if d := cmp.Diff([]string{"a.txt", "dir/new", "gone"}, must1[[]string](t)(s.Changes(ctx, one, Now))); d != "" {
		t.Errorf("changes: %s", d)
	}
	want := `diff --git a/a.txt b/a.txt
index 4cb29ea38f70d7c61b2a3a25b02e3bdf44905402..2a2b8ae2ccbbb23e3ec5f1a84ecd9f59a3e7e6f1 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
`
	got := must1[string](t)(s.Diff(ctx, one, Now))
	cut := func(s string) string { // without the index line, whose hashes may differ from git's
		var out []string
		for l := range strings.Lines(s) {
			if !strings.HasPrefix(l, "index ") {
				out = append(out, l)
			}
		}
		return strings.Join(out, "")
	}
	if !strings.HasPrefix(cut(got), cut(want)) || !strings.Contains(got, "+++ b/dir/new") || !strings.Contains(got, "deleted file") {
		t.Errorf("diff:\n%s", got)
	}
	if got := must1[string](t)(s.Diff(ctx, one, one)); got != "" {
		t.Errorf("diff with itself: %q", got)
	}
}

// TestGitReadsTheStore checks that git itself can check the store and read a checkpoint.
func TestGitReadsTheStore(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	put(t, work, messy)
	s := open(t, work, Options{})
	id := must1[string](t)(s.Snapshot(ctx, "a label"))
	runGit(t, s.dir, "fsck", "--full")
	if got := runGit(t, s.dir, "show", id+":files/a.go"); got != "package a\n" {
		t.Errorf("git shows %q", got)
	}
	// Packing the store, as git gc does, loses nothing.
	runGit(t, s.dir, "gc", "-q", "--prune=now")
	before := state(t, work)
	again, err := Open(work, s.dir, Options{})
	must(t, err)
	defer again.Close()
	must(t, os.RemoveAll(filepath.Join(work, "übung")))
	must1[string](t)(again.Restore(ctx, id))
	if d := cmp.Diff(before, state(t, work)); d != "" {
		t.Errorf("after gc: %s", d)
	}
}

func TestSortedNames(t *testing.T) { // git sorts "a" after "a.b" if it is a directory
	t.Parallel()
	work := t.TempDir()
	put(t, work, map[string]string{"a/x": "", "a.b": "", "a0": "", "a-": "", "ab/y": ""})
	s := open(t, work, Options{})
	must1[string](t)(s.Snapshot(ctx, ""))
	runGit(t, s.dir, "fsck", "--strict")
	e := s.log[0]
	var names []string
	for _, f := range must1[*manifest](t)(s.getManifest(e.tree)).files {
		names = append(names, f.path)
	}
	if !sort.StringsAreSorted(names) || len(names) != 5 {
		t.Errorf("names: %q", names)
	}
}
