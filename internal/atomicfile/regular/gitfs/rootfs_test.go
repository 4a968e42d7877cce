package gitfs_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/regulartest"
)

func openIn(t testing.TB, dir string) (*git.Repository, error) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return gitfs.OpenIn(root, ".git")
}

// walkIn is walk through a root.
func walkIn(t testing.TB, dir string) (commits int, err error) {
	r, err := openIn(t, dir)
	if err != nil {
		return 0, err
	}
	return walkRepository(r)
}

// TestOpenIn checks that go-git reads a repository through a root, writes nothing, and ends with
// every kind of file in the place of every part.
func TestOpenIn(t *testing.T) {
	dir := regulartest.Repository(t)
	if n, err := walkIn(t, dir); n != 2 || err != nil {
		t.Errorf("%d commits, %v", n, err)
	}
	r, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Storer.SetReference(plumbing.NewHashReference("refs/heads/new", plumbing.ZeroHash)); err == nil {
		t.Error("a reference was written")
	}
	if _, err := openIn(t, t.TempDir()); err == nil {
		t.Error("an empty directory is no repository")
	}
	regulartest.Each(t, dir, parts, func(t *testing.T, dir string) { _, _ = walkIn(t, dir) })
}

// TestOpenInStaysInside checks that nothing outside of the git directory is read: alternates, a
// commondir, links.
func TestOpenInStaysInside(t *testing.T) {
	other := regulartest.Repository(t)
	secret, err := git.PlainOpen(other)
	if err != nil {
		t.Fatal(err)
	}
	head, err := secret.Head()
	if err != nil {
		t.Fatal(err)
	}
	objects := filepath.Join(other, ".git", "objects")
	for name, lead := range map[string]func(dot string) error{
		"alternates": func(dot string) error { return put(dot+"/objects/info/alternates", objects+"\n") },
		"relative alternates": func(dot string) error {
			return put(dot+"/objects/info/alternates", strings.Repeat("../", 20)+objects[1:]+"\n")
		},
		"commondir": func(dot string) error { return put(dot+"/commondir", filepath.Join(other, ".git")+"\n") },
		"link":      func(dot string) error { _ = os.RemoveAll(dot + "/objects"); return os.Symlink(objects, dot+"/objects") },
	} {
		dir := t.TempDir()
		regulartest.Git(t, dir, "init", "-q", "--template=", "-b", "main")
		dot := filepath.Join(dir, ".git")
		if err := lead(dot); err != nil {
			t.Fatal(err)
		}
		if err := put(dot+"/refs/heads/main", head.Hash().String()+"\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := walkIn(t, dir); n > 0 {
			t.Errorf("%s: %d commits from elsewhere, %v", name, n, err)
		}
	}
}

func put(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// TestBounds checks that small files that need gigabytes of memory are refused.
func TestBounds(t *testing.T) {
	dir := regulartest.Repository(t)
	dot := filepath.Join(dir, ".git")
	if err := os.WriteFile(filepath.Join(dot, "index"), growingIndex(50_000), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := openIn(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Storer.Index(); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("an index with %d bytes of paths: %v", 50_000*50_000/2, err)
	}
	if err := os.WriteFile(filepath.Join(dot, "index"), growingIndex(100), 0o644); err != nil {
		t.Fatal(err)
	}
	if idx, err := r.Storer.Index(); err != nil && !strings.Contains(err.Error(), "checksum") || err == nil && len(idx.Entries) != 100 {
		t.Errorf("a small index of version 4: %v", err)
	}
	const hash = "0123456789012345678901234567890123456789"
	for name, head := range map[string]string{"says its size": "commit 268435456\x00", "says less": "commit 10\x00"} {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		_, _ = io.WriteString(z, head) // into memory
		_, _ = io.CopyN(z, zeros{}, 256<<20)
		_ = z.Close()
		if err := put(filepath.Join(dot, "objects", hash[:2], hash[2:]), b.String()); err != nil {
			t.Fatal(err)
		}
		r, err := openIn(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := object.GetCommit(r.Storer, plumbing.NewHash(hash)); err == nil || strings.Contains(err.Error(), "not found") {
			t.Errorf("a commit of 256 MiB that %s: %v", name, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// growingIndex returns an index of version 4 with n paths, each a byte longer than the one before.
func growingIndex(n int) []byte {
	b := append([]byte("DIRC"), 0, 0, 0, 4)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	for range n {
		b = append(b, make([]byte, 62)...)
		b = append(b, 0, 'a', 0)
	}
	return append(b, make([]byte, 20)...)
}

// FuzzIndex checks that an index is read or refused within bounds.
func FuzzIndex(f *testing.F) {
	f.Add(growingIndex(3))
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"))
	dir := regulartest.Repository(f)
	if data, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, ".git", "index")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := openIn(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		idx, err := r.Storer.Index()
		if err != nil {
			return
		}
		total := 0
		for _, e := range idx.Entries {
			total += len(e.Name)
		}
		if total > 128<<20 {
			t.Errorf("the paths have %d bytes", total)
		}
	})
}
