package layers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/luthier-dev/luthier/internal/atomicfile/regular"
	"github.com/luthier-dev/luthier/internal/atomicfile/regular/gitfs"
)

// snapshotName returns the name of a commit for messages, such as "/repo@HEAD".
func snapshotName(dir, rev string) string { return dir + "@" + rev }

// resolve opens the repository and finds the commit that a revision names.
func resolve(dir, rev string) (*git.Repository, plumbing.Hash, error) {
	repo, err := gitfs.Open(dir, true)
	if err != nil {
		return nil, plumbing.ZeroHash, fmt.Errorf("snapshot %s: open repository: %w", snapshotName(dir, rev), err)
	}
	hash, err := repo.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		return nil, plumbing.ZeroHash, fmt.Errorf("snapshot %s: resolve revision: %w", snapshotName(dir, rev), err)
	}
	return repo, *hash, nil
}

// IsCommitName reports whether a revision is a commit's full hash.
func IsCommitName(rev string) bool { return plumbing.IsHash(rev) }

// CommitName returns the hash of the commit that a revision names, and the full name of the branch
// if the revision names one: by itself or, for HEAD, by the branch that the repository is on.
func CommitName(dir, rev string) (hash, branch string, err error) {
	repo, commit, err := resolve(dir, rev)
	if err != nil {
		return "", "", err
	}
	name := plumbing.NewBranchReferenceName(strings.TrimPrefix(rev, "refs/heads/"))
	if rev == "HEAD" || rev == "@" {
		if head, err := repo.Reference(plumbing.HEAD, false); err == nil {
			name = head.Target() // empty if HEAD is on no branch
		}
	}
	if r, err := repo.Reference(name, true); err == nil && name.IsBranch() && r.Hash() == commit {
		branch = name.String()
	}
	return commit.String(), branch, nil
}

// Checkout writes a commit's tree below the empty directory dst. With a dot, it adds that .git
// directory.
func Checkout(ctx context.Context, dir, rev, dst string, dot *Dot) error {
	repo, hash, err := resolve(dir, rev)
	if err != nil {
		return err
	}
	objects := verifiedObjects{repo.Storer}
	var k *clone
	if dot != nil {
		k, err = cloneOf(repo, hash, dir, dot.Branch)
	}
	var tree plumbing.Hash
	if err == nil {
		tree, err = objects.commitTree(hash)
	}
	if err == nil {
		_, err = checkoutTree(ctx, nil, objects, tree, dst, k)
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", snapshotName(dir, rev), err)
	}
	return nil
}

// verifiedObjects reads objects and checks that the content of each matches its hash: content
// stored under a hash is shared between repositories, and a command may have written one of them.
// The hash function detects known collisions.
type verifiedObjects struct{ from storer.EncodedObjectStorer }

// copy writes an object's content, and fails if it does not match the hash.
func (v verifiedObjects) copy(w io.Writer, kind plumbing.ObjectType, hash plumbing.Hash) (int64, error) {
	o, err := v.from.EncodedObject(kind, hash)
	if err != nil {
		return 0, err
	}
	r, err := o.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	h := plumbing.NewHasher(kind, o.Size())
	n, err := io.Copy(io.MultiWriter(w, h), r)
	if err != nil {
		return n, err
	}
	if sum := h.Sum(); sum != hash {
		return n, fmt.Errorf("%v %v has the content of %v: the repository is damaged or forged", kind, hash, sum)
	}
	return n, nil
}

// read returns the content of an object of a kind that is small.
func (v verifiedObjects) read(kind plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	var b bytes.Buffer
	_, err := v.copy(&limitedBuffer{&b, 64 << 20}, kind, hash)
	return b.Bytes(), err
}

type limitedBuffer struct {
	b    *bytes.Buffer
	room int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if l.room -= len(p); l.room < 0 {
		return 0, errors.New("object is too large")
	}
	return l.b.Write(p)
}

// commitTree returns the tree of a commit.
func (v verifiedObjects) commitTree(commit plumbing.Hash) (plumbing.Hash, error) {
	b, err := v.read(plumbing.CommitObject, commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	hash, ok := bytes.CutPrefix(line, []byte("tree "))
	if !ok || !plumbing.IsHash(string(hash)) {
		return plumbing.ZeroHash, fmt.Errorf("commit %v names no tree", commit)
	}
	return plumbing.NewHash(string(hash)), nil
}

// entries returns the entries of a tree.
func (v verifiedObjects) entries(tree plumbing.Hash) ([]object.TreeEntry, error) {
	b, err := v.read(plumbing.TreeObject, tree)
	if err != nil {
		return nil, err
	}
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.TreeObject)
	if _, err := o.Write(b); err != nil {
		return nil, err
	}
	var t object.Tree
	if err := t.Decode(o); err != nil {
		return nil, fmt.Errorf("tree %v: %w", tree, err)
	}
	return t.Entries, nil
}

// checkout is the state of writing one commit into a layer.
type checkout struct {
	ctx     context.Context
	objects verifiedObjects
	store   *Store // nil if there is none
	top     string
	root    *os.Root
	linked  map[string]bool // blobs that this layer already links
	bytes   int64
	index   *index.Index // receives the entries of files; nil if nobody wants them
}

// checkoutTree writes a tree below dst, with the clone's .git unless that is nil, and returns the
// bytes that are not shared. If there is a store, it shares the files with other layers.
func checkoutTree(ctx context.Context, s *Store, v verifiedObjects, tree plumbing.Hash, dst string, k *clone) (int64, error) {
	root, err := regular.OpenRoot(dst)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	c := &checkout{ctx: ctx, objects: v, store: s, top: dst, root: root, linked: map[string]bool{}}
	if k != nil {
		c.index = &index.Index{Version: 2}
	}
	err = c.dir(tree, ".", 0)
	if err != nil || k == nil {
		return c.bytes, err
	}
	n, err := k.write(ctx, dst, root, c.index)
	return c.bytes + n, err
}

// maxDepth is the deepest nesting of directories. A tree cannot contain itself, but it can be
// deeper than the longest path.
const maxDepth = 512

func (c *checkout) dir(tree plumbing.Hash, rel string, depth int) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("%q: directories are nested too deep", rel)
	}
	entries, err := c.objects.entries(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(rel, e.Name)
		if e.Name == "" || e.Name == "." || e.Name == ".." || path.Base(name) != e.Name {
			return fmt.Errorf("tree %v has the name %q, which no file can have", tree, e.Name)
		}
		switch e.Mode {
		case filemode.Dir:
			if err = c.root.Mkdir(name, 0o755); err == nil {
				err = c.dir(e.Hash, name, depth+1)
			}
		case filemode.Submodule:
			err = c.root.Mkdir(name, 0o755)
		case filemode.Symlink:
			var target []byte
			if target, err = c.objects.read(plumbing.BlobObject, e.Hash); err == nil {
				err = c.root.Symlink(string(target), name)
			}
		default:
			err = c.file(e, name)
		}
		if err == nil && c.index != nil && e.Mode != filemode.Dir {
			err = c.record(e, name)
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", name, err)
		}
	}
	return nil
}

// record adds what was written to the index, so that git sees it as unchanged.
func (c *checkout) record(e object.TreeEntry, name string) error {
	in := &index.Entry{Hash: e.Hash, Name: name, Mode: e.Mode}
	if e.Mode != filemode.Submodule {
		fi, err := c.root.Lstat(name)
		if err != nil {
			return err
		}
		in.ModifiedAt, in.Size = fi.ModTime(), uint32(fi.Size())
		if in.Mode == filemode.Deprecated {
			in.Mode = filemode.Regular
		}
	}
	c.index.Entries = append(c.index.Entries, in)
	return nil
}

// file links a blob that the store has, or writes it. A layer never has two links to one blob:
// commands would consider the files identical ("cp: are the same file").
func (c *checkout) file(e object.TreeEntry, name string) error {
	perm, suffix := os.FileMode(0o644), ""
	if e.Mode == filemode.Executable {
		perm, suffix = 0o755, "x"
	}
	var blob string
	if c.store != nil {
		hash := e.Hash.String()
		blob = filepath.Join(c.store.dir, layersBlobs, hash[:2], hash[2:]+suffix)
	}
	target := filepath.Join(c.top, filepath.FromSlash(name))
	first := blob != "" && !c.linked[blob]
	if first && os.Link(blob, target) == nil {
		c.linked[blob] = true
		return nil
	}
	w, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	n, err := c.objects.copy(w, plumbing.BlobObject, e.Hash)
	err = errors.Join(err, w.Chmod(perm), w.Close()) // whatever the umask
	if err != nil {
		return err
	}
	if first {
		err = os.Link(target, blob)
		if errors.Is(err, os.ErrNotExist) {
			if err = os.MkdirAll(filepath.Dir(blob), 0o700); err == nil {
				err = os.Link(target, blob)
			}
		}
		if err == nil {
			c.linked[blob] = true
			return nil
		}
	}
	c.bytes += n // not shared: a second copy, or a file system without links
	return nil
}
