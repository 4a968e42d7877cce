package codestore

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/luthier-dev/luthier/retrieval/internal/worktree"
)

func TestMemoryOnly(t *testing.T) {
	root := t.TempDir()
	put(t, root, someFiles("x"))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(file, "index"), smallSegments()) // below a file, where not even root can create it
	if r := syncTree(t, s, root); !strings.Contains(r.Memory, "memory only") || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
	if err := disturb(s, root); err != nil {
		t.Fatal(err)
	}
	wantIndex(t, s, root)
	if r := syncTree(t, s, root); r.Built != 0 || r.Memory == "" {
		t.Errorf("%+v", r)
	}
}

// TestReadOnlyDirectory uses an index that this process may read but not change.
func TestReadOnlyDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of directories mean nothing here")
	}
	root, dir := indexed(t)
	if os.Geteuid() == 0 {
		defer asNobody(t, dir, root)()
	}
	if err := os.Chmod(dir, 0o555); err != nil && os.Geteuid() != 0 {
		t.Fatal(err)
	}
	s := open(t, dir, smallSegments())
	wantIndex(t, s, root)
	r := syncTree(t, s, root)
	if r.Memory == "" || r.Built != 0 {
		t.Errorf("%+v", r)
	}
	files := []worktree.File{{Path: "d0", Skip: worktree.SkipGone}}
	if r, err := s.Update(t.Context(), root, nil, files...); err != nil || r.Removed != 10 || r.Memory == "" {
		t.Errorf("%+v, %v", r, err)
	}
	// From now on, changes by another process are not seen.
	var others sync.WaitGroup
	others.Go(func() { // on another thread, which keeps its rights
		put(t, root, map[string]string{"later": "x"})
		syncTree(t, open(t, dir, smallSegments()), root)
	})
	others.Wait()
	if got, err := contents(s); err != nil || len(got) != 30 {
		t.Errorf("%d documents, %v", len(got), err)
	}
}

// asNobody drops root's file permissions on this thread until the result is called. Setfsuid exists
// only on Linux; elsewhere such tests must be run by an ordinary user.
var asNobody = func(t *testing.T, _ ...string) func() {
	t.Skip("run as an ordinary user")
	return nil
}

// TestDiskFull fills up the disk in the middle of a Sync.
func TestDiskFull(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	put(t, root, someFiles("x"))
	o := smallSegments()
	writes := 0
	o.Workers = 1
	o.step = func(point string) {
		if strings.HasPrefix(point, "create ") {
			if writes++; writes == 4 {
				// The store sees a directory in which no file can be created any more.
				_ = os.Rename(dir, dir+".away")
				_ = os.WriteFile(dir, nil, 0o644)
			}
		}
	}
	s := open(t, dir, o)
	if r := syncTree(t, s, root); r.Memory == "" || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, smallSegments())
	if r := syncTree(t, again, root); r.Adopted == 0 || r.Memory != "" {
		t.Errorf("%+v", r)
	}
	wantIndex(t, again, root)
}
