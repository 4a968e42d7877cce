//go:build unix

package coding

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func link(t testing.TB, target string, at ...string) {
	t.Helper()
	must(t, os.Symlink(target, filepath.Join(at...)))
}

func TestResolve(t *testing.T) {
	outside := t.TempDir()
	files{"secret": "s"}.write(t, outside)
	w := openWith(t, Config{}, files{"a.txt": "a", "dir/b.txt": "b", "dir/sub/c.txt": "c", " odd name ": "x", "new\nline": "y"})
	d := w.Dir()
	link(t, "dir/b.txt", d, "rel-link")
	link(t, filepath.Join(d, "dir"), d, "abs-link")
	link(t, outside, d, "out-dir")
	link(t, filepath.Join(outside, "secret"), d, "out-file")
	link(t, "../../../../../../etc/passwd", d, "up-link")
	link(t, "loop-b", d, "loop-a")
	link(t, "loop-a", d, "loop-b")
	link(t, ".", d, "self")
	link(t, "nowhere", d, "dangling")
	link(t, "../a.txt", d, "dir", "up-inside")
	for p, want := range map[string]string{
		"a.txt":                              "a.txt",
		"./a.txt":                            "a.txt",
		"dir//b.txt":                         "dir/b.txt",
		"dir/../a.txt":                       "a.txt",
		"dir/sub/../../a.txt":                "a.txt",
		filepath.Join(d, "dir/b.txt"):        "dir/b.txt",
		d:                                    ".",
		d + "/":                              ".",
		"":                                   "!empty",
		".":                                  ".",
		"rel-link":                           "dir/b.txt",
		"abs-link/b.txt":                     "dir/b.txt",
		"self/self/self/a.txt":               "a.txt",
		"dir/up-inside":                      "a.txt",
		"abs-link/../a.txt":                  "a.txt",
		"abs-link/sub/../b.txt":              "dir/b.txt",
		"dangling":                           "nowhere",
		"new/file.txt":                       "new/file.txt",
		" odd name ":                         " odd name ",
		"new\nline":                          "new\nline",
		"..":                                 "!outside",
		"../x":                               "!outside",
		"dir/../../x":                        "!outside",
		"/etc/passwd":                        "!outside",
		outside + "/secret":                  "!outside",
		d + "-sibling/x":                     "!outside",
		"out-dir/secret":                     "!leads out",
		"out-file":                           "!leads out",
		"up-link":                            "!outside",
		"loop-a":                             "!loop",
		"a.txt/b":                            "!not a directory",
		"nul\x00byte":                        "!NUL",
		strings.Repeat("x/", 5000):           "!longer",
		strings.Repeat("n", 300):             "!name too long",
		"dir/" + strings.Repeat("../", 2000): "!longer",
	} {
		got, err := inside(w).resolve(p)
		if msg, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), msg) {
				t.Errorf("resolve(%.60q) = %q, %v; want an error that says %q", p, got.rel, err, msg)
			}
			continue
		}
		if err != nil || got.rel != want {
			t.Errorf("resolve(%q) = %q, %v; want %q", p, got.rel, err, want)
		}
	}
}

// Evidence: coding · No path leaves the workspace
func TestNothingOutsideIsTouched(t *testing.T) {
	outside := t.TempDir()
	files{"secret.txt": "token\n"}.write(t, outside)
	w := openWith(t, Config{}, files{"a.txt": "a\n", "dir/": ""})
	link(t, outside, w.Dir(), "out")
	link(t, filepath.Join(outside, "new.txt"), w.Dir(), "dangling-out")
	before := tree(t, outside)
	for _, p := range []string{"out/secret.txt", "../" + filepath.Base(outside) + "/secret.txt", outside + "/secret.txt", "dangling-out", "out/new.txt"} {
		refused(t, w, "read", args{"path": p})
		refused(t, w, "write", args{"path": p, "content": "pwned", "overwrite": true})
		refused(t, w, "edit", args{"path": p, "old": "token", "new": "pwned"})
		refused(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: " + p + "\n+pwned\n*** End Patch"})
		refused(t, w, "grep", args{"pattern": "token", "path": p})
		refused(t, w, "symbols", args{"path": p})
	}
	refused(t, w, "list", args{"path": "out"}, "leads out")
	refused(t, w, "glob", args{"pattern": "*", "path": "out"}, "leads out")
	for tool, in := range map[string]args{"grep": {"pattern": "token"}, "glob": {"pattern": "**"}, "list": {}} {
		if got := do(t, w, tool, in); strings.Contains(got, "secret.txt") {
			t.Errorf("%s followed a link out of the workspace:\n%s", tool, got)
		}
	}
	if got := tree(t, outside); len(got) != len(before) || got["secret.txt"] != before["secret.txt"] {
		t.Errorf("files outside changed: %v", got)
	}
}

func TestSpecialFilesDoNotHang(t *testing.T) {
	w := openWith(t, Config{}, files{"a.txt": "needle\n"})
	must(t, syscall.Mkfifo(filepath.Join(w.Dir(), "fifo"), 0o644))
	if err := syscall.Mknod(filepath.Join(w.Dir(), "null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Logf("no device file: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, name := range []string{"fifo", "null"} {
			if _, err := os.Lstat(filepath.Join(w.Dir(), name)); err != nil {
				continue
			}
			refused(t, w, "read", args{"path": name}, "not a regular file")
			refused(t, w, "write", args{"path": name, "content": "x", "overwrite": true}, "not a regular file")
			refused(t, w, "edit", args{"path": name, "old": "a", "new": "b"}, "not a regular file")
			refused(t, w, "grep", args{"pattern": "x", "path": name}, "not a regular file")
			refused(t, w, "symbols", args{"path": name})
		}
		contains(t, do(t, w, "grep", args{"pattern": "needle"}), "a.txt")
		contains(t, do(t, w, "list", args{}), "fifo (FIFO)")
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a tool hangs on a special file")
	}
}

func TestGitInternalsAreNotWritten(t *testing.T) {
	w := openWith(t, Config{}, files{".git/config": "[core]\n", ".git/hooks/": "", "sub/.git": "gitdir: x\n"})
	link(t, ".git", w.Dir(), "alias")
	for _, p := range []string{".git/config", ".git/hooks/post-commit", ".GIT/config", "alias/config", "sub/.git", "x/.git/config", ".git./config", "GIT~1/config"} {
		refused(t, w, "write", args{"path": p, "content": "x", "overwrite": true}, "git")
		refused(t, w, "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: " + p + "\n+x\n*** End Patch"})
	}
	refused(t, w, "edit", args{"path": ".git/config", "old": "[core]", "new": "[x]"}, "git")
	contains(t, do(t, w, "read", args{"path": ".git/config"}), "[core]")
	do(t, w, "write", args{"path": ".gitignore", "content": "x\n"})
	do(t, w, "write", args{"path": ".github/workflows/ci.yml", "content": "on: push\n"})
}

func TestOddNamesAreNotMade(t *testing.T) {
	w := openWith(t, Config{}, files{"kept ": "x\n"})
	for _, p := range []string{" lead", "trail ", "dir /x", "a\nb", "a\tb", ".luthier-0123456789abcdef.tmp"} {
		refused(t, w, "write", args{"path": p, "content": "x"})
	}
	do(t, w, "edit", args{"path": "kept ", "old": "x", "new": "y"}) // a file that exists can be changed, whatever its name
	for _, p := range []string{"a b.txt", "-dash", "ümläut", "日本", "a:b", `back\slash`, "quote\"", "#hash", "$(x)"} {
		do(t, w, "write", args{"path": p, "content": p})
		contains(t, do(t, w, "read", args{"path": p}), p)
	}
}

func TestMissingFileNamesTheNearest(t *testing.T) {
	w := openWith(t, Config{}, files{"internal/server.go": "", "internal/store.go": "", "README.md": ""})
	refused(t, w, "read", args{"path": "internal/sever.go"}, "did you mean internal/server.go")
	refused(t, w, "read", args{"path": "readme.md"}, "README.md")
	refused(t, w, "read", args{"path": "internl/server.go"}, "internal/")
	refused(t, w, "read", args{"path": "nothing/like/it"}, "glob or list")
	refused(t, w, "read", args{"path": "internal"}, "use list")
	refused(t, w, "list", args{"path": "README.md"}, "use read")
}

// FuzzResolve looks for a spelling of a path that leads out of the root, or that resolves to
// something os.Root does not open.
func FuzzResolve(f *testing.F) {
	base, err := filepath.EvalSymlinks(f.TempDir())
	must(f, err)
	root := filepath.Join(base, "root")
	files{"root/a.txt": "in", "root/dir/b.txt": "in", "out.txt": "OUT", "outdir/o.txt": "OUT"}.write(f, base)
	for name, dest := range map[string]string{
		"up": "..", "abs": base, "file": "../out.txt", "in": "dir", "dir/back": "..", "dir/far": "../../outdir", "loop": "loop", "absin": root + "/dir",
	} {
		link(f, dest, root, name)
	}
	w := openAt(f, root, Config{})
	for _, s := range []string{
		"a.txt", "../out.txt", "dir/back/../../out.txt", "up/out.txt", "in/../../out.txt", "abs/out.txt", "file", "absin/b.txt",
		root + "/../out.txt", base + "/out.txt", "dir/far/o.txt", "./dir/./back/up/out.txt", "loop", "in/back/a.txt", "\x00", "a.txt/..", "//a.txt", "dir/back/dir/back/..",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		got, err := inside(w).resolve(p)
		if err != nil {
			return
		}
		if !fs.ValidPath(got.rel) && strings.ToValidUTF8(got.rel, "") == got.rel {
			t.Fatalf("resolve(%q) = %q, which is not clean", p, got.rel)
		}
		real, err := filepath.EvalSymlinks(filepath.Join(root, got.rel))
		if err == nil && real != root && !strings.HasPrefix(real, root+"/") {
			t.Fatalf("resolve(%q) = %q, which is %s", p, got.rel, real)
		}
		if err == nil && real != filepath.Join(root, got.rel) {
			t.Fatalf("resolve(%q) = %q, which still has a link: %s", p, got.rel, real)
		}
		data, _, err := inside(w).readAll(got, 1<<20)
		if err == nil && string(data) == "OUT" {
			t.Fatalf("resolve(%q) = %q reads a file outside", p, got.rel)
		}
		if again, err := inside(w).resolve(got.rel); err != nil || again.rel != got.rel {
			t.Fatalf("resolve(%q) = %q, but that resolves to %q, %v", p, got.rel, again.rel, err)
		}
		// The same path resolved by the operating system's own rules, if it stays inside.
		if want, err := filepath.EvalSymlinks(filepath.Join(root, p)); err == nil && !filepath.IsAbs(p) && !strings.Contains(p, "..") && want != filepath.Join(root, got.rel) {
			t.Fatalf("resolve(%q) = %q, the system says %s", p, got.rel, want)
		}
	})
}

// TestOpenedFileIsWhatWasChecked replaces a file with a link out of the workspace and with a FIFO
// while it is read.
func TestOpenedFileIsWhatWasChecked(t *testing.T) {
	outside := t.TempDir()
	files{"secret": "OUT"}.write(t, outside)
	w := openWith(t, Config{}, files{"a": "in"})
	at := filepath.Join(w.Dir(), "a")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := at + "-next"
			switch i % 3 {
			case 0:
				_ = os.Symlink(filepath.Join(outside, "secret"), tmp)
			case 1:
				_ = syscall.Mkfifo(tmp, 0o644)
			case 2:
				_ = os.WriteFile(tmp, []byte("in"), 0o644)
			}
			_ = os.Rename(tmp, at)
		}
	}()
	for range 2000 {
		data, _, err := func() ([]byte, fs.FileInfo, error) {
			tg, err := inside(w).resolve("a")
			if err != nil {
				return nil, nil, err
			}
			return inside(w).readAll(tg, 100)
		}()
		if err == nil && string(data) != "in" {
			t.Fatalf("read %q", data)
		}
		if errors.Is(err, fs.ErrInvalid) {
			t.Fatal(err)
		}
	}
	close(stop)
	<-done
}
