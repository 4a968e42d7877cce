//go:build unix

package retrieval_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/luthier-dev/luthier/retrieval"
)

// TestLinksAndSpecialFiles puts links, pipes and sockets into a tree: none is followed or opened,
// and none stops the index.
func TestLinksAndSpecialFiles(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"secret.go": "package s\n\n// platypus of the outside\nfunc platypus() {}\n"})
	dir := tree(t, map[string]string{"a/in.go": "package a\n\n// echidna is inside\nfunc echidna() {}\n"})
	for name, target := range map[string]string{
		"loop": "loop", "self": ".", "a/up": "..", "out": outside, "out.go": filepath.Join(outside, "secret.go"),
		"a/in2.go": "in.go", "dangling.go": "nowhere", "ring1": "ring2", "ring2": "ring1",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.go"), 0o644); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "s") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Rename(filepath.Join(short, "s"), filepath.Join(dir, "sock.go")); err != nil {
		t.Skip(err)
	}
	for name, cfg := range map[string]retrieval.Config{"": {}, "watched": {Watch: true}} {
		x := open(t, dir, cfg)
		if got := filesFor(t, x, "platypus"); len(got) > 0 {
			t.Errorf("%s: found what lies outside: %v", name, got)
		}
		if got := filesFor(t, x, "echidna"); len(got) != 1 || got[0] != "a/in.go" {
			t.Errorf("%s: found %v", name, got)
		}
		s := x.Status()
		for p, want := range map[string]string{"loop": "symbolic link", "out.go": "symbolic link", "out": "symbolic link", "pipe.go": "special file", "sock.go": "special file"} {
			if got := skipped(s, p); got != want {
				t.Errorf("%s: %s is skipped as %q, want %q", name, p, got, want)
			}
		}
		if err := x.Update(t.Context(), "loop", "out.go", "out/secret.go", "pipe.go", "sock.go", "a/up/a/in.go", "ring1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := filesFor(t, x, "platypus echidna"); len(got) != 1 {
			t.Errorf("%s: after an update found %v", name, got)
		}
	}
	// An indexed file becomes a link to the outside, a pipe, a directory.
	x := open(t, dir, retrieval.Config{})
	in := filepath.Join(dir, "a/in.go")
	for what, change := range map[string]func() error{
		"link": func() error { return os.Symlink(filepath.Join(outside, "secret.go"), in) },
		"pipe": func() error { return syscall.Mkfifo(in, 0o644) },
		"dir":  func() error { return os.Mkdir(in, 0o755) },
	} {
		os.Remove(in)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := filesFor(t, x, "platypus echidna"); len(got) > 0 {
			t.Errorf("a file became a %s: found %v", what, got)
		}
		os.Remove(in)
		put(t, dir, "a/in.go", "package a\n\n// echidna is inside\nfunc echidna() {}\n")
		if err := x.Update(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if got := filesFor(t, x, "platypus echidna"); len(got) != 1 {
			t.Errorf("after a %s became a file: found %v", what, got)
		}
	}
	// A tree opened through a link is the same tree.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	y := open(t, link, retrieval.Config{})
	if got := first(t, y, "echidna"); got != "a/in.go" {
		t.Errorf("by a link: %q", got)
	}
	if err := y.Update(t.Context(), filepath.Join(dir, "a/in.go")); err != nil {
		t.Errorf("by a link, an absolute path below what it leads to: %v", err)
	}
}

// TestOddNames indexes files whose names are not valid text.
func TestOddNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("names must be UTF-8 there")
	}
	names := []string{"a\nb.go", "\xff\xfe.go", "sp ace.go", "-rf.go", "q'\"uote.go", "tab\t.go", "back\\slash.go", "ü.go", "*.go", "[x].go", "#x.go", "!x.go", "a:1:2.go", strings.Repeat("n", 240) + ".go"}
	dir := t.TempDir()
	for _, n := range names {
		put(t, dir, "d/"+n, "package p\n\n// capybara\nfunc capybara() {}\n")
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "Rodents of the lowland")
	x := open(t, dir, retrieval.Config{})
	check := func(when string, find func(string) []string, text string) {
		t.Helper()
		got := map[string]bool{}
		for _, p := range find(text) {
			got[p] = true
		}
		for _, n := range names {
			if !got["d/"+n] {
				t.Errorf("%s: %q is not found", when, n)
			}
		}
	}
	words := func(text string) []string { return filesFor(t, x, text) }
	check("first", words, "capybara")
	check("by the log", func(text string) []string { return paths(t, x, retrieval.Query{Text: text, K: 100}) }, "rodents lowland")
	for _, n := range names {
		put(t, dir, "d/"+n, "package p\n\n// dormouse\nfunc dormouse() {}\n")
		if err := x.Update(t.Context(), "d/"+n); err != nil {
			t.Errorf("%q: %v", n, err)
		}
	}
	check("updated", words, "dormouse")
	if got := filesFor(t, x, "capybara"); len(got) > 0 {
		t.Errorf("old text is found: %q", got)
	}
	if got := grepped(t, x, retrieval.GrepQuery{Pattern: "func dormouse"}); len(got) != len(names) {
		t.Errorf("grep finds %q", got)
	}
}

// asUser runs this test in a child process as an ordinary user if the parent is root. It reports
// whether this process is that child or needs none.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("", "user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, exe, filepath.Join(dir, "test"))
	c := exec.Command(filepath.Join(dir, "test"), "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "GOCOVERDIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadable opens a tree with parts that the user may not read.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	if !asUser(t) {
		return
	}
	dir := tree(t, map[string]string{
		"ok.go": "package p\n\n// gecko\nfunc gecko() {}\n", "no.go": "package p\n\n// iguana\nfunc iguana() {}\n",
		"shut/in.go": "package p\n\n// iguana\nfunc iguana() {}\n", "nox/in.go": "package p\n\n// iguana\nfunc iguana() {}\n",
	})
	modes := map[string]os.FileMode{"no.go": 0, "shut": 0, "nox": 0o600}
	for p, m := range modes {
		if err := os.Chmod(filepath.Join(dir, p), m); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for p := range modes {
			os.Chmod(filepath.Join(dir, p), 0o755)
		}
	}()
	x := open(t, dir, retrieval.Config{Watch: true})
	if got := filesFor(t, x, "gecko iguana"); len(got) != 1 || got[0] != "ok.go" {
		t.Errorf("found %v", got)
	}
	s := x.Status()
	for _, p := range []string{"no.go", "shut"} {
		if skipped(s, p) != "unreadable" {
			t.Errorf("%s is skipped as %q:\n%+v", p, skipped(s, p), s.Skipped)
		}
	}
	for _, p := range []string{"no.go", "shut"} {
		if err := os.Chmod(filepath.Join(dir, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Update(t.Context()); err != nil {
		t.Error(err)
	}
	if got := filesFor(t, x, "iguana"); len(got) != 2 {
		t.Errorf("after they can be read: found %v", got)
	}
	// The other direction: an indexed file becomes unreadable.
	if err := os.Chmod(filepath.Join(dir, "ok.go"), 0); err != nil {
		t.Fatal(err)
	}
	if got := filesFor(t, x, "gecko"); len(got) != 0 {
		t.Errorf("a file that must not be read is found: %v", got)
	}
}

// TestUnreadableRoot opens a tree that may not be listed.
func TestUnreadableRoot(t *testing.T) {
	t.Parallel()
	if !asUser(t) {
		return
	}
	dir := tree(t, shop)
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if _, err := retrieval.Open(t.Context(), dir, retrieval.Config{CacheDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "permission") {
		t.Errorf("opened: %v", err)
	}
}

// TestCacheNotWritable opens trees whose cache is read-only or not even readable: everything works
// in memory, and Status reports it.
func TestCacheNotWritable(t *testing.T) {
	t.Parallel()
	if !asUser(t) {
		return
	}
	dir := tree(t, shop)
	settle()
	cache := t.TempDir()
	filled := open(t, dir, retrieval.Config{CacheDir: cache})
	allReady(t, filled)
	filled.Close()
	readOnly := func(root string) {
		var all []string
		filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				all = append(all, p)
			} else {
				os.Chmod(p, 0o444)
			}
			return nil
		})
		for _, p := range all {
			os.Chmod(p, 0o555)
		}
		t.Cleanup(func() {
			for _, p := range all {
				os.Chmod(p, 0o755)
			}
		})
	}
	readOnly(cache)
	empty := t.TempDir()
	readOnly(empty)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]string{"filled": cache, "empty": empty, "a file": file} {
		t.Run(name, func(t *testing.T) {
			x := open(t, dir, retrieval.Config{CacheDir: at})
			allReady(t, x)
			for _, l := range x.Status().Layers {
				if !l.Ready || !strings.Contains(l.InMemory, "in memory only") {
					t.Errorf("%s: %+v", l.Name, l)
				}
			}
			if !strings.Contains(x.Status().String(), "in memory only") {
				t.Errorf("status does not say so:\n%v", x.Status())
			}
			if got := first(t, x, "value added tax"); got != "tax/vat.go" {
				t.Errorf("found %q", got)
			}
			put(t, dir, "new/"+strings.ReplaceAll(name, " ", "")+".go", "package n\n\n// Axolotl is new.\nfunc Axolotl() {}\n")
			defer os.RemoveAll(filepath.Join(dir, "new"))
			if err := x.Update(t.Context(), "new"); err != nil {
				t.Error(err)
			}
			if got := first(t, x, "axolotl"); !strings.HasPrefix(got, "new/") {
				t.Errorf("after an update found %q", got)
			}
			if d, err := x.Definitions(t.Context(), "Axolotl"); err != nil || len(d) != 1 {
				t.Errorf("definitions %v, %v", d, err)
			}
		})
	}
}
