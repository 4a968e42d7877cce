// Package layers implements a store of read-only directory trees, each kept once under the hash of
// its content. Any number of processes may share one.
package layers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Store is a directory of trees, each kept once under the hash of its content.
//
// A layer is made next to the others and renamed into place when it is complete. If a process is
// killed at any moment, it leaves no partial layer, only a directory that the next Collect removes.
// Layers that a crash of the machine may have damaged are not used afterwards: every boot of the
// machine uses its own part of the store.
type Store struct {
	// MaxBytes is the size above which the store removes the layers that have been unused the
	// longest. A layer in use stays whatever its size. A negative value means no limit.
	MaxBytes int64

	dir string // the part for this boot
	top string
}

// Top returns the directory of the store.
func (s *Store) Top() string { return s.top }

const defaultLayerBytes = 4 << 30

// The parts of a store.
const (
	layersByID   = "layers"  // id → directory with tree and meta
	layersBlobs  = "blobs"   // content of files that several commits have in common
	layersAlias  = "commits" // commit → id
	layersMaking = "making"  // layers that are incomplete or about to be removed
	layerTree    = "tree"
	layerUsed    = "used" // its modification time is the last use; its content is the size in text
)

// Open opens the store in dir, and makes it if it does not exist. Zero bytes mean 4 GiB.
func Open(dir string, maxBytes int64) (*Store, error) {
	if err := lockable(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if maxBytes == 0 {
		maxBytes = defaultLayerBytes
	}
	s := &Store{top: abs, dir: filepath.Join(abs, bootName()), MaxBytes: maxBytes}
	for _, d := range []string{"", layersByID, layersBlobs, layersAlias, layersMaking} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	if s.top, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	s.dir = filepath.Join(s.top, bootName())
	for _, d := range []string{s.top, s.dir} {
		fi, err := os.Lstat(d)
		if err != nil {
			return nil, err
		}
		if !fi.IsDir() || !privateTo(fi) {
			return nil, fmt.Errorf("%s must be a directory that belongs to this user and that no other can write; choose or make another", d)
		}
	}
	return s, nil
}

// Layer is one tree of a store. It is held until it is closed.
type Layer struct {
	id    string
	path  string
	from  string // the path of a workspace over it
	lease *os.File
}

// ID identifies the layer's content: equal trees have equal ids.
func (l *Layer) ID() string { return l.id }

// Path is the layer's tree on the host. It must not be changed.
func (l *Layer) Path() string { return l.path }

// From returns the directory that a workspace over the layer uses as its path.
func (l *Layer) From() string { return l.from }

// Close allows the store to remove the layer when it needs space.
func (l *Layer) Close() error { return l.lease.Close() }

// Commit returns the layer of a commit of the git repository that contains dir, held, and makes it
// if it does not exist yet. Every object is checked against its hash, so that a repository cannot
// put its content under another one's name. Files that several commits have in common are stored
// once.
func (s *Store) Commit(ctx context.Context, dir, rev string) (*Layer, error) {
	if plumbing.IsHash(rev) { // a full hash: the repository need not be read
		if l, err := s.aliased(rev); err == nil {
			l.from = dir
			return l, nil
		}
	}
	repo, hash, err := resolve(dir, rev)
	if err != nil {
		return nil, err
	}
	l, err := s.aliased(hash.String())
	if err != nil {
		objects := verifiedObjects{repo.Storer}
		var tree plumbing.Hash
		if tree, err = objects.commitTree(hash); err != nil {
			return nil, fmt.Errorf("snapshot %s: %w", snapshotName(dir, rev), err)
		}
		id := "git-" + tree.String()
		if l, err = s.Hold(id); errors.Is(err, fs.ErrNotExist) {
			l, err = s.make(id, func(dst string) (int64, error) { return checkoutTree(ctx, s, objects, tree, dst, nil) })
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot %s: %w", snapshotName(dir, rev), err)
		}
		if err := s.alias(hash.String(), id); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	l.from = dir
	return l, nil
}

// Clone is Commit with a .git directory in the layer. The branches and tags are those that the
// repository has now.
func (s *Store) Clone(ctx context.Context, dir, rev string, dot Dot) (*Layer, error) {
	repo, hash, err := resolve(dir, rev)
	if err != nil {
		return nil, err
	}
	l, err := s.cloned(ctx, repo, hash, dir, dot)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", snapshotName(dir, rev), err)
	}
	l.from = dir
	return l, nil
}

func (s *Store) cloned(ctx context.Context, repo *git.Repository, hash plumbing.Hash, dir string, dot Dot) (*Layer, error) {
	k, err := cloneOf(repo, hash, dir, dot.Branch)
	if err != nil {
		return nil, err
	}
	l, err := s.Hold(k.id())
	if !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	objects := verifiedObjects{repo.Storer}
	tree, err := objects.commitTree(hash)
	if err != nil {
		return nil, err
	}
	return s.make(k.id(), func(dst string) (int64, error) { return checkoutTree(ctx, s, objects, tree, dst, k) })
}

// Dir returns the layer of a directory's current content, held, and makes it if it does not exist
// yet. Sockets, pipes and devices are left out. The store must not be inside dir.
func (s *Store) Dir(ctx context.Context, dir string) (*Layer, error) {
	// Hash the copy, not the original, which may change meanwhile.
	home, lock, err := s.begin()
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	into := filepath.Join(home, layerTree)
	err = tree.Copy(dir, into, nil)
	var sum treeSum
	if err == nil {
		sum, err = hashTree(ctx, into)
	}
	var l *Layer
	if err == nil {
		l, err = s.publish(home, "dir-"+sum.id, sum.bytes)
	}
	if err != nil {
		return nil, errors.Join(err, tree.Remove(home))
	}
	l.from = dir
	return l, nil
}

// touch records that a layer was used now.
func touch(home string) error {
	now := time.Now()
	return os.Chtimes(filepath.Join(home, layerUsed), now, now)
}
