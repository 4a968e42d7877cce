// Package regulartest puts what is no regular file in the place of files, to test that what reads
// them neither waits nor fails to end.
package regulartest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Limit bounds the time of a call in a test. It only has to be shorter than for ever.
const Limit = 2 * time.Minute

// A Kind is a kind of file that cannot be read as a regular one.
type Kind struct {
	Name string
	Make func(path string) error
}

// Kinds returns the kinds that this system and user can make: a FIFO, a socket, a directory, a link
// to a device, and a device.
func Kinds(t testing.TB) []Kind {
	t.Helper()
	all := append([]Kind{
		{"socket", socket},
		{"directory", func(path string) error { return os.Mkdir(path, 0o755) }},
	}, special()...)
	var out []Kind
	for _, k := range all {
		path := filepath.Join(t.TempDir(), "x")
		if k.Make(path) == nil {
			out = append(out, k)
		}
	}
	return out
}

func socket(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// Each runs fn in a subtest for every path and kind, on a copy of the tree src with that kind in
// the path's place. Paths are relative to the tree. fn may fail, but must return.
func Each(t *testing.T, src string, paths []string, fn func(t *testing.T, dir string)) {
	t.Helper()
	kinds := Kinds(t)
	for _, path := range paths {
		for _, k := range kinds {
			t.Run(path+"="+k.Name, func(t *testing.T) {
				dir := Copy(t, src)
				Place(t, filepath.Join(dir, filepath.FromSlash(path)), k)
				Within(t, func() { fn(t, dir) })
			})
		}
	}
}

// Place removes what a path holds and makes a file of a kind there.
func Place(t testing.TB, path string, k Kind) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if here, err := os.Getwd(); err == nil && len(path) > 100 { // the path of a socket is short
		if rel, err := filepath.Rel(here, path); err == nil && len(rel) < len(path) {
			path = rel
		}
	}
	if err := k.Make(path); err != nil {
		t.Skip("cannot make a ", k.Name, ": ", err)
	}
}

// Within fails the test if fn takes longer than Limit.
func Within(t testing.TB, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(Limit):
		t.Fatal("it hangs")
	}
}

// Copy copies a tree to a new directory.
func Copy(t testing.TB, src string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(src)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Repository makes a git repository with a packed and a loose commit, of the files a and b.
func Repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	Git(t, dir, "init", "-q", "--template=", "-b", "main")
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		Git(t, dir, "add", ".")
		Git(t, dir, "commit", "-q", "-m", name)
		if name == "a" {
			Git(t, dir, "gc", "-q")
		}
	}
	return dir
}

// Git runs git in a directory. It skips the test if git is not installed.
func Git(t testing.TB, dir string, args ...string) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command(program, append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}
