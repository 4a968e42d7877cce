package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
)

// base is the state of a commit on disk, shared by a workspace and its forks.
type base struct {
	path string
	refs atomic.Int32
	done func() error
}

// openBase finds the commit's tree in the layer store. If there is no store, it checks the commit
// out for this workspace alone.
func openBase(ctx context.Context, snap Snapshot, cfg *Config) (*base, error) {
	b := &base{}
	b.refs.Store(1)
	if cfg.Layers != nil {
		layer, err := cfg.Layers.snapshot(ctx, snap)
		if err != nil {
			return nil, err
		}
		b.path, b.done = layer.Path(), layer.Close
		return b, nil
	}
	if id, ok := snap.layer(); ok {
		return nil, fmt.Errorf("Config.Snapshot is layer %s, so Config.Layers must name its store", id)
	}
	own, err := newFrozen(cfg.ScratchDir)
	if err != nil {
		return nil, err
	}
	b.path, b.done = filepath.Join(own.home, "tree"), own.release
	err = os.Mkdir(b.path, 0o755)
	if err == nil {
		err = snap.checkout(ctx, b.path)
	}
	if err != nil {
		return nil, errors.Join(err, b.done())
	}
	return b, nil
}

func (b *base) share() *base {
	b.refs.Add(1)
	return b
}

func (b *base) release() error {
	if b.refs.Add(-1) > 0 {
		return nil
	}
	return b.done()
}
