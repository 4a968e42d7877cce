package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/luthier-dev/luthier/sandbox/internal/layers"
)

// Layers is a store of read-only directory trees that sandboxes start from, each kept once under
// the hash of its content. Make one with OpenLayers and set it in Config.Layers. Any number of
// processes may share a directory.
//
// A layer is made next to the others and renamed into place when it is complete. If a process is
// killed at any moment, it leaves no partial layer, only a directory that the next Collect removes.
// Layers that a crash of the machine may have damaged are not used afterwards: every boot of the
// machine uses its own part of the store.
type Layers struct{ store *layers.Store }

// LayersConfig bounds a store of layers.
type LayersConfig struct {
	// MaxBytes is the size above which the store removes the layers that have been unused the
	// longest. A layer in use stays whatever its size. Zero means 4 GiB, a negative value no limit.
	MaxBytes int64
}

// OpenLayers opens the store in dir, and makes it if it does not exist. The directory must be out
// of reach of commands and only for this user; a good place is below os.UserCacheDir.
func OpenLayers(dir string, cfg LayersConfig) (*Layers, error) {
	s, err := layers.Open(dir, cfg.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open layers %s: %w", dir, err)
	}
	return &Layers{s}, nil
}

// Layer is one tree of a store. It is held until it is closed.
type Layer struct{ held *layers.Layer }

// ID identifies the layer's content: equal trees have equal ids.
func (l *Layer) ID() string { return l.held.ID() }

// Path is the layer's tree on the host. It must not be changed.
func (l *Layer) Path() string { return l.held.Path() }

// Snapshot returns the layer as a starting state for Config.Snapshot, to be used together with the
// store in Config.Layers. It is valid while the layer is in the store, which is certain only until
// Close.
func (l *Layer) Snapshot() Snapshot {
	return Snapshot{dir: l.held.From(), rev: layerRev + l.held.ID()}
}

// Close allows the store to remove the layer when it needs space.
func (l *Layer) Close() error { return l.held.Close() }

// layerRev is the prefix of the revision of a snapshot that is a layer; no git revision starts with
// a colon.
const layerRev = ":layer:"

// layer returns the id of the layer if the snapshot is one.
func (s Snapshot) layer() (string, bool) { return strings.CutPrefix(s.rev, layerRev) }

// snapshot holds the layer of a commit, or the layer that snap names.
func (s *Layers) snapshot(ctx context.Context, snap Snapshot) (*layers.Layer, error) {
	if id, ok := snap.layer(); ok {
		l, err := s.store.Hold(id)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("layer %s is not, or no longer, in the store %s; make it again", id, s.store.Top())
		}
		return l, err
	}
	if snap.git {
		return s.store.Clone(ctx, snap.dir, snap.rev, layers.Dot{Branch: snap.on})
	}
	return s.store.Commit(ctx, snap.dir, snap.rev)
}

// Commit returns the layer of a commit, named as in [SnapshotCommit], held, and makes it if it does
// not exist yet. Every object is checked against its hash, so that a repository cannot put its
// content under another one's name. Files that several commits have in common are stored once.
func (s *Layers) Commit(ctx context.Context, dir, rev string) (*Layer, error) {
	dir, err := resolveDir("directory", dir)
	var l *layers.Layer
	if err == nil {
		l, err = s.store.Commit(ctx, dir, rev)
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: make layer: %w", err)
	}
	return &Layer{l}, nil
}

// Dir returns the layer of a directory's current content, held, and makes it if it does not exist
// yet. Sockets, pipes and devices are left out.
func (s *Layers) Dir(ctx context.Context, dir string) (*Layer, error) {
	real, err := resolveDir("directory", dir)
	if err == nil && within(s.store.Top(), real) {
		err = fmt.Errorf("the store %s is in it; choose another place", s.store.Top())
	}
	var l *layers.Layer
	if err == nil {
		l, err = s.store.Dir(ctx, real)
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: make layer of %s: %w", dir, err)
	}
	return &Layer{l}, nil
}

// Collected reports what a collection removed and kept.
type Collected struct {
	Layers int   // removed
	Bytes  int64 // freed
	Kept   int   // layers that remain, used or not
	Held   int64 // bytes that remain
}

// Collect removes the incomplete layers of killed processes and those of earlier boots of the
// machine. While the store is larger than LayersConfig.MaxBytes, it then removes layers that nobody
// holds, the longest unused first. The store collects by itself after making a layer.
func (s *Layers) Collect() (Collected, error) {
	c, err := s.store.Collect()
	if err != nil {
		return Collected(c), fmt.Errorf("sandbox: collect layers in %s: %w", s.store.Top(), err)
	}
	return Collected(c), nil
}
