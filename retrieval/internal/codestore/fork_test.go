package codestore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenOver(t *testing.T) {
	for name, link := range map[string]bool{"links": true, "copies": false} {
		t.Run(name, func(t *testing.T) {
			root, dir := indexed(t)
			fork := filepath.Join(t.TempDir(), "fork")
			if err := os.CopyFS(fork, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			put(t, fork, map[string]string{"d0/f0": "changed in the fork", "new": "file"})
			over := filepath.Join(t.TempDir(), "over")
			if !link {
				if over = otherFileSystem(t, dir); over == "" {
					t.Skip("there is no other file system")
				}
			}
			s, err := OpenOver(t.Context(), over, dir, testFormat(), smallSegments())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			want := counts{Built: 2, Rehashed: 39}
			if got := countsOf(syncTree(t, s, fork)); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			wantIndex(t, s, fork)
			if r := syncTree(t, s, fork); r.Built != 0 {
				t.Errorf("%+v", r)
			}
			// The base is unchanged, and base and fork change independently.
			base := open(t, dir, smallSegments())
			wantIndex(t, base, root)
			put(t, root, someFiles("y"))
			syncTree(t, base, root)
			wantIndex(t, base, root)
			wantIndex(t, s, fork)
			again, err := OpenOver(t.Context(), over, dir, testFormat(), smallSegments())
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			wantIndex(t, again, fork)
		})
	}
}

func otherFileSystem(t *testing.T, dir string) string {
	t.Helper()
	shm, err := os.MkdirTemp("/dev/shm", "codestore")
	if err != nil {
		return ""
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	if !otherDevice(dir, shm) {
		return ""
	}
	return filepath.Join(shm, "over")
}

func otherDevice(a, b string) bool {
	probe := filepath.Join(b, "probe")
	err := os.Link(filepath.Join(a, lockName), probe)
	_ = os.Remove(probe)
	return err != nil
}

func TestOpenOverNothing(t *testing.T) {
	root := t.TempDir()
	put(t, root, someFiles("x"))
	s, err := OpenOver(t.Context(), t.TempDir(), t.TempDir(), testFormat(), smallSegments())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := syncTree(t, s, root); !strings.Contains(r.Rebuilt, "cannot be taken over") || r.Built != 40 {
		t.Errorf("%+v", r)
	}
	wantIndex(t, s, root)
}
