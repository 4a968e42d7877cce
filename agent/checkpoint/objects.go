package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// put stores an object unless the store has it already. Unlike go-git's own writer, it may be
// called concurrently.
func (s *Store) put(t plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	h := plumbing.ComputeHash(t, content)
	if s.has(h) {
		return h, nil
	}
	if s.pack != nil {
		return h, s.pack.add(t, h, content)
	}
	hex := h.String()
	dir := filepath.Join(s.dir, "objects", hex[:2])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return h, fmt.Errorf("checkpoint: write object: %w", err)
	}
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return h, fmt.Errorf("checkpoint: write object: %w", err)
	}
	w := objfile.NewWriter(f)
	err = w.WriteHeader(t, int64(len(content)))
	if err == nil {
		_, err = w.Write(content)
	}
	if err = errors.Join(err, w.Close(), f.Chmod(0o444), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, hex[2:]))
	}
	if err != nil {
		os.Remove(f.Name())
		return h, fmt.Errorf("checkpoint: write object: %w", err)
	}
	return h, nil
}

// has reports whether the store holds an object, loose or packed.
func (s *Store) has(h plumbing.Hash) bool {
	hex := h.String()
	if fi, err := os.Lstat(filepath.Join(s.dir, "objects", hex[:2], hex[2:])); err == nil {
		return fi.Size() > 0
	}
	if s.pack != nil && s.pack.has(h) {
		return true
	}
	if !s.packed {
		return false
	}
	s.packs.Lock()
	defer s.packs.Unlock()
	return s.repo.HasEncodedObject(h) == nil
}

func (s *Store) putEncoded(o interface {
	Encode(plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	var m plumbing.MemoryObject
	if err := o.Encode(&m); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("checkpoint: write object: %w", err)
	}
	r, err := m.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return s.put(m.Type(), data)
}

// blob reads a file's content and checks it against its hash.
func (s *Store) blob(h plumbing.Hash) ([]byte, error) {
	o, err := s.repo.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read object %s: %w; the store is damaged", h, err)
	}
	r, err := o.Reader()
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read object %s: %w; the store is damaged", h, err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err == nil && plumbing.ComputeHash(plumbing.BlobObject, data) != h {
		err = errors.New("its content does not have its hash")
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read object %s: %w; the store is damaged", h, err)
	}
	return data, nil
}

// node is a directory that is to become a git tree.
type node struct {
	files []object.TreeEntry
	dirs  map[string]*node
}

func (n *node) dir(path string) *node {
	for elem := range strings.SplitSeq(path, "/") {
		if n.dirs == nil {
			n.dirs = map[string]*node{}
		}
		next := n.dirs[elem]
		if next == nil {
			next = &node{}
			n.dirs[elem] = next
		}
		n = next
	}
	return n
}

// putFiles stores the trees for a list of files and returns the top one.
func (s *Store) putFiles(files []file) (plumbing.Hash, error) {
	top := &node{}
	at, dir := top, ""
	for _, f := range files {
		d, name := "", f.path
		if i := strings.LastIndexByte(f.path, '/'); i >= 0 {
			d, name = f.path[:i], f.path[i+1:]
		}
		if d != dir {
			if at, dir = top, d; d != "" {
				at = top.dir(d)
			}
		}
		at.files = append(at.files, object.TreeEntry{Name: name, Mode: gitMode(f.mode), Hash: f.hash})
	}
	return s.putNode(top)
}

func (s *Store) putNode(n *node) (plumbing.Hash, error) {
	t := &object.Tree{Entries: n.files}
	for name, d := range n.dirs {
		h, err := s.putNode(d)
		if err != nil {
			return h, err
		}
		t.Entries = append(t.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: h})
	}
	sort.Sort(object.TreeEntrySorter(t.Entries))
	return s.putEncoded(t)
}

func gitMode(m os.FileMode) filemode.FileMode {
	switch {
	case m&os.ModeSymlink != 0:
		return filemode.Symlink
	case m&0o100 != 0:
		return filemode.Executable
	}
	return filemode.Regular
}

// files lists the files of a stored tree, with one of the two permissions that git distinguishes.
func (s *Store) files(tree plumbing.Hash, prefix string, out []file) ([]file, error) {
	t, err := object.GetTree(s.repo, tree)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: read tree %s: %w; the store is damaged", tree, err)
	}
	for _, e := range t.Entries {
		switch e.Mode {
		case filemode.Dir:
			if out, err = s.files(e.Hash, prefix+e.Name+"/", out); err != nil {
				return nil, err
			}
		case filemode.Symlink:
			out = append(out, file{path: prefix + e.Name, mode: os.ModeSymlink | 0o777, hash: e.Hash})
		default:
			out = append(out, file{path: prefix + e.Name, hash: e.Hash, mode: map[bool]os.FileMode{true: 0o755, false: 0o644}[e.Mode == filemode.Executable]})
		}
	}
	return out, nil
}
