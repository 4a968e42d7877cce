package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Layers is a store of read-only directory trees that sandboxes start from, each
// kept once under the hash of its content. Make one with OpenLayers and name it
// in Config.Layers. Any number of processes may share a directory.
//
// A layer is made beside the others and renamed into place when it is whole, so
// that a process killed at any moment leaves no half a layer, only a directory
// that the next Collect removes. What a crash of the machine may have torn is not
// used after it: every boot of the machine has a part of the store to itself.
type Layers struct {
	dir string // the part of this boot
	top string
	cfg LayersConfig
}

// LayersConfig bounds a store of layers.
type LayersConfig struct {
	// MaxBytes is how much the store may hold before the layers longest unused are
	// removed. A layer in use stays whatever its size. Zero means 4 GiB, a
	// negative value no bound.
	MaxBytes int64
}

const defaultLayerBytes = 4 << 30

// The parts of a store.
const (
	layersByID   = "layers"  // id → directory with tree and meta
	layersBlobs  = "blobs"   // content of files that commits have in common
	layersAlias  = "commits" // commit → id
	layersMaking = "making"  // what is not whole yet, or about to be removed
	layerTree    = "tree"
	layerUsed    = "used" // its time is that of the last use, its size in text is its content
)

// OpenLayers opens the store in dir, and makes it if it is not there. The
// directory must be out of reach for commands and is only for this user; a good
// place is below os.UserCacheDir.
func OpenLayers(dir string, cfg LayersConfig) (*Layers, error) {
	s, err := openLayers(dir, cfg)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open layers %s: %w", dir, err)
	}
	return s, nil
}

func openLayers(dir string, cfg LayersConfig) (*Layers, error) {
	if err := lockable(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultLayerBytes
	}
	s := &Layers{top: abs, dir: filepath.Join(abs, bootName()), cfg: cfg}
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

// Layer is one tree of a store, held for as long as it is not closed.
type Layer struct {
	id    string
	path  string
	from  string // directory that a workspace over it has as its path
	lease *os.File
}

// ID names the layer's content: equal trees have equal ids.
func (l *Layer) ID() string { return l.id }

// Path is the layer's tree on the host. It must not be changed.
func (l *Layer) Path() string { return l.path }

// Snapshot is the layer as a starting state for Config.Snapshot, together with
// the store in Config.Layers. It is good for as long as the layer is in the store,
// which it surely is until Close.
func (l *Layer) Snapshot() Snapshot { return Snapshot{dir: l.from, rev: layerRev + l.id} }

// Close lets the store remove the layer when it needs room.
func (l *Layer) Close() error { return l.lease.Close() }

// layerRev begins the revision of a snapshot that is a layer; no git revision
// has a colon in front.
const layerRev = ":layer:"

// layer returns the id of the layer that the snapshot is, if it is one.
func (s Snapshot) layer() (string, bool) { return strings.CutPrefix(s.rev, layerRev) }

// snapshot holds the layer of a commit, or the layer that snap names.
func (s *Layers) snapshot(ctx context.Context, snap Snapshot) (*Layer, error) {
	if id, ok := snap.layer(); ok {
		l, err := s.hold(id)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("layer %s is not, or no longer, in the store %s; make it again", id, s.top)
		}
		return l, err
	}
	return s.commit(ctx, snap)
}

// Commit holds the tree of a commit, named as in [SnapshotCommit], and makes its
// layer if there is none yet. Every object is checked against its hash, so that a
// repository cannot put its content under another's name. Files that several
// commits have in common are stored once.
func (s *Layers) Commit(ctx context.Context, dir, rev string) (*Layer, error) {
	dir, err := resolveDir("directory", dir)
	var l *Layer
	if err == nil {
		l, err = s.commit(ctx, Snapshot{dir: dir, rev: rev})
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: make layer: %w", err)
	}
	return l, nil
}

func (s *Layers) commit(ctx context.Context, snap Snapshot) (*Layer, error) {
	if plumbing.IsHash(snap.rev) { // a commit's own name: the repository need not be asked
		if l, err := s.aliased(snap.rev); err == nil {
			l.from = snap.dir
			return l, nil
		}
	}
	repo, hash, err := snap.resolve()
	if err != nil {
		return nil, err
	}
	l, err := s.aliased(hash.String())
	if err != nil {
		objects := verifiedObjects{repo.Storer}
		var tree plumbing.Hash
		if tree, err = objects.commitTree(hash); err != nil {
			return nil, fmt.Errorf("snapshot %v: %w", snap, err)
		}
		id := "git-" + tree.String()
		if l, err = s.hold(id); errors.Is(err, fs.ErrNotExist) {
			l, err = s.make(id, func(dst string) (int64, error) { return checkoutTree(ctx, s, objects, tree, dst) })
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot %v: %w", snap, err)
		}
		if err := s.alias(hash.String(), id); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	l.from = snap.dir
	return l, nil
}

// Dir holds the content of a directory as it is now, and makes its layer if there
// is none yet. Sockets, pipes and devices are left out.
func (s *Layers) Dir(ctx context.Context, dir string) (*Layer, error) {
	l, err := s.copyDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: make layer of %s: %w", dir, err)
	}
	return l, nil
}

func (s *Layers) copyDir(ctx context.Context, dir string) (*Layer, error) {
	dir, err := resolveDir("directory", dir)
	if err != nil {
		return nil, err
	}
	if within(s.top, dir) {
		return nil, fmt.Errorf("the store %s is in it; choose another place", s.top)
	}
	// The copy is hashed, not the original, which may change meanwhile.
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
