package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/sandbox/internal/sandboxtest"
)

// endsWhen is a context that ends as soon as a condition holds.
type endsWhen struct {
	context.Context
	happened func() bool
}

func (c endsWhen) Err() error {
	if c.happened() {
		return context.Canceled
	}
	return nil
}

// TestCompareStopsWithinAFile checks that comparing a large file can be cancelled too.
func TestCompareStopsWithinAFile(t *testing.T) {
	dir := t.TempDir()
	sandboxtest.Write(t, dir, "a", strings.Repeat("x", 1<<20))
	sandboxtest.Write(t, dir, "b", strings.Repeat("x", 1<<20))
	var f [2]*os.File
	for i, name := range []string{"a", "b"} {
		var err error
		if f[i], err = os.Open(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		defer f[i].Close()
	}
	asked := 0
	_, err := sameContent(endsWhen{t.Context(), func() bool { asked++; return asked > 3 }}, f[0], f[1], 1<<20)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSameContent(t *testing.T) {
	const size = 3 << 20
	files := map[string]func(f *os.File) error{
		"hole":  func(f *os.File) error { return nil },
		"zeros": func(f *os.File) error { _, err := f.Write(make([]byte, size)); return err },
		"front": func(f *os.File) error { _, err := f.WriteAt([]byte("x"), 0); return err },
		"back":  func(f *os.File) error { _, err := f.WriteAt([]byte("x"), size-1); return err },
		"mid":   func(f *os.File) error { _, err := f.WriteAt([]byte("x"), size/2); return err },
		"full": func(f *os.File) error {
			b := make([]byte, size)
			b[size/2] = 'x'
			_, err := f.Write(b)
			return err
		},
	}
	dir := t.TempDir()
	opened := map[string]*os.File{}
	for name, fill := range files {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(fill(f), f.Truncate(size))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		opened[name] = f
	}
	alike := map[string]string{"hole": "zeros", "zeros": "hole", "mid": "full", "full": "mid"}
	for a, x := range opened {
		for b, y := range opened {
			want := a == b || alike[a] == b
			if got, err := sameContent(t.Context(), x, y, size); err != nil || got != want {
				t.Errorf("%s and %s: %v, %v", a, b, got, err)
			}
		}
	}
}

// TestPlaceIsTheOneThatWasSeen checks that a directory that is exchanged while it is read is
// neither read nor followed.
func TestPlaceIsTheOneThatWasSeen(t *testing.T) {
	for what, swap := range map[string]func(dir string) error{
		"by a link":      func(dir string) error { return os.Symlink("other", filepath.Join(dir, "d")) },
		"by a directory": func(dir string) error { return os.Mkdir(filepath.Join(dir, "d"), 0o755) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			sandboxtest.Write(t, dir, "d/f", "1")
			sandboxtest.Write(t, dir, "other/f", "2")
			v, err := OpenView([]Dir{{dir, true}})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			d, err := v.Child(v.Top(), "d")
			if err == nil {
				err = errors.Join(os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "gone")), swap(dir))
			}
			if err != nil {
				t.Fatal(err)
			}
			if names, err := v.Names(d); !errors.Is(err, errChanging) {
				t.Errorf("%v, %v", names, err)
			}
		})
	}
}

// TestPlaceBecameAFIFO checks that reading a directory ends at once if a FIFO takes its place.
func TestPlaceBecameAFIFO(t *testing.T) {
	dir := t.TempDir()
	sandboxtest.Write(t, dir, "d/f", "1")
	v, err := OpenView([]Dir{{dir, true}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	d, err := v.Child(v.Top(), "d")
	if err == nil {
		err = errors.Join(os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "gone")), unix.Mkfifo(filepath.Join(dir, "d"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	regulartest.Within(t, func() {
		if names, _ := v.Names(d); len(names) > 0 { // it is gone, or it is an error
			t.Errorf("the names %v of a FIFO", names)
		}
	})
}

func TestRemoveTree(t *testing.T) {
	tier.Normal(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "outside")
	sandboxtest.Write(t, out, "keep", "k")
	scratch := filepath.Join(dir, "scratch")
	for i := range 300 {
		sandboxtest.Write(t, scratch, fmt.Sprintf("many/%0200d", i), "x")
	}
	for i := range 3 { // deep enough to be lifted more than once
		at := scratch
		for range 200 {
			at += "/" + strconv.Itoa(i)
			sandboxtest.Write(t, at, "f", "x")
		}
	}
	if err := errors.Join(os.Symlink(out, filepath.Join(scratch, "link")), os.Mkdir(filepath.Join(scratch, "none"), 0)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(out, link); err != nil {
		t.Fatal(err)
	}
	fewDescriptors(t, 100)
	for _, p := range []string{scratch, scratch, link} { // the second time nothing is left to do
		if err := Remove(p); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if got := sandboxtest.Read(t, filepath.Join(out, "keep")); got != "k" {
		t.Error("followed a link")
	}
}

// fewDescriptors lets the process open n more until the end of the test.
func fewDescriptors(t testing.TB, n int) {
	t.Helper()
	var limit unix.Rlimit
	open, err := os.ReadDir("/proc/self/fd")
	if err := errors.Join(err, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
		t.Fatal(err)
	}
	lower := limit
	lower.Cur = uint64(len(open) + n)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lower); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
}
