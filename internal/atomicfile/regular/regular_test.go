package regular_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
)

// openers calls every function that opens a file.
func openers(t *testing.T, dir, name string) map[string]func() error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	path := filepath.Join(dir, name)
	closing := func(c io.Closer, err error) error {
		if err != nil {
			return err
		}
		return c.Close()
	}
	open := func(f *os.File, err error) error { return closing(f, err) }
	return map[string]func() error{
		"Open":           func() error { return open(regular.Open(path)) },
		"OpenFile write": func() error { return open(regular.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)) },
		"OpenFile both":  func() error { return open(regular.OpenFile(path, os.O_RDWR, 0)) },
		"OpenIn":         func() error { return open(regular.OpenIn(root, name, os.O_RDONLY)) },
		"OpenIn write":   func() error { return open(regular.OpenIn(root, name, os.O_WRONLY)) },
		"Read":           func() error { _, err := regular.Read(path, 100); return err },
		"ReadIn":         func() error { _, err := regular.ReadIn(root, name, 100); return err },
	}
}

// dirOpeners calls every function that opens a directory.
func dirOpeners(t *testing.T, dir, name string) map[string]func() error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	path := filepath.Join(dir, name)
	file := func(f *os.File, err error) error {
		if err == nil {
			f.Close()
		}
		return err
	}
	sub := func(r *os.Root, err error) error {
		if err == nil {
			r.Close()
		}
		return err
	}
	return map[string]func() error{
		"OpenDir":    func() error { return file(regular.OpenDir(path)) },
		"OpenDirIn":  func() error { return file(regular.OpenDirIn(root, name)) },
		"OpenRoot":   func() error { return sub(regular.OpenRoot(path)) },
		"OpenRootIn": func() error { return sub(regular.OpenRootIn(root, name)) },
	}
}

// TestKinds checks that opening a FIFO, a device, a socket or a directory as a file ends at once
// with ErrNotRegular, and opening anything but a directory as a directory with an error that has
// the caller's path.
func TestKinds(t *testing.T) {
	for _, k := range regulartest.Kinds(t) {
		dir := t.TempDir()
		regulartest.Place(t, filepath.Join(dir, "x"), k)
		if !strings.HasPrefix(k.Name, "link") { // a root does not follow it out of the directory
			for name, open := range openers(t, dir, "x") {
				regulartest.Within(t, func() {
					if err := open(); !errors.Is(err, regular.ErrNotRegular) && !(k.Name == "directory" && err != nil) {
						t.Errorf("%s of a %s: %v", name, k.Name, err)
					}
				})
			}
		}
		for name, open := range dirOpeners(t, dir, "x") {
			regulartest.Within(t, func() {
				err := open()
				if (err == nil) != (k.Name == "directory") {
					t.Errorf("%s of a %s: %v", name, k.Name, err)
				}
				if pe, ok := errors.AsType[*os.PathError](err); ok && strings.HasSuffix(pe.Path, ".") {
					t.Errorf("%s of a %s: the error has the path %s", name, k.Name, pe.Path)
				}
			})
		}
	}
}

// TestFiles checks that regular files, links to them and directories open as before.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Mkdir(filepath.Join(dir, "d"), 0o700), os.Symlink("a", filepath.Join(dir, "l")), os.Symlink("d", filepath.Join(dir, "k"))} {
		if err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for _, name := range []string{"a", "l"} {
		for how, open := range openers(t, dir, name) {
			if err := open(); err != nil {
				t.Errorf("%s of %s: %v", how, name, err)
			}
		}
	}
	for _, name := range []string{"d", "k", "d/"} {
		for how, open := range dirOpeners(t, dir, name) {
			if err := open(); err != nil {
				t.Errorf("%s of %s: %v", how, name, err)
			}
		}
	}
	missing := openers(t, dir, "missing")
	delete(missing, "OpenFile write") // it makes the file
	for how, open := range missing {
		if err := open(); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of a missing file: %v", how, err)
		}
	}
	if b, err := regular.Read(filepath.Join(dir, "a"), 4); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := regular.Read(filepath.Join(dir, "a"), 3); !errors.Is(err, regular.ErrTooLarge) {
		t.Errorf("a file above the limit: %v", err)
	}
}

// TestExchange checks that no open waits while another goroutine exchanges the file and a FIFO.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	regulartest.Flip(t, filepath.Join(dir, "x"))
	regulartest.Flip(t, filepath.Join(dir, "d"))
	files, dirs := openers(t, dir, "x"), dirOpeners(t, dir, "d")
	regulartest.Within(t, func() {
		for range 500 {
			for _, open := range files {
				_ = open() // it may fail
			}
			for _, open := range dirs {
				_ = open()
			}
		}
	})
}
