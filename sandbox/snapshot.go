package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/luthier-dev/luthier/sandbox/internal/layers"
)

// Snapshot is a starting state of a workspace. Make one with SnapshotDir or
// SnapshotCommit; equal snapshots compare equal with ==.
type Snapshot struct {
	dir string
	rev string // empty for the current state of the directory
	git bool   // with a .git directory
	on  string // the branch that HEAD there names, once rev is a commit's hash
}

// SnapshotDir returns the state of a directory when the sandbox opens. If the host can mount an
// overlay, the directory is not copied, so it should not be changed while sandboxes over it are
// open: such changes may or may not be visible inside.
func SnapshotDir(dir string) Snapshot { return Snapshot{dir: dir} }

// SnapshotCommit returns the tree of a commit of the git repository that contains dir. rev names
// the commit as for git rev-parse. The workspace has no .git directory unless [Snapshot.WithGit]
// adds one; submodules are empty directories.
func SnapshotCommit(dir, rev string) Snapshot { return Snapshot{dir: dir, rev: rev} }

// WithGit returns the snapshot with a .git directory that stays in the sandbox: Review and Export
// leave it out.
//
// In the snapshot of a commit it is that of a clone, with the history, branches and tags of the
// repository, and with HEAD at the commit, on the branch if one was named. It has the author's name
// of the repository's configuration, and no remotes, hooks or other settings. Object files are
// shared with the repository where the file system has hard links, and are copied otherwise. In the
// snapshot of a directory it is the one that is there.
func (s Snapshot) WithGit() Snapshot {
	if _, ok := s.layer(); !ok {
		s.git = true
	}
	return s
}

func (s Snapshot) isZero() bool { return s == Snapshot{} }

// live returns the directory, or "" if the snapshot is a commit's tree.
func (s Snapshot) live() string {
	if s.rev != "" {
		return ""
	}
	return s.dir
}

// Resolve returns the snapshot with the commit's hash in place of a revision name, which could
// later mean another commit. A snapshot of a directory is returned unchanged.
func (s Snapshot) Resolve() (Snapshot, error) {
	s, err := s.fix()
	if err != nil {
		return s, fmt.Errorf("sandbox: resolve %s: %w", s, err)
	}
	return s, nil
}

func (s Snapshot) fix() (Snapshot, error) {
	if _, ok := s.layer(); ok || s.rev == "" || layers.IsCommitName(s.rev) {
		return s, nil
	}
	rev, branch, err := layers.CommitName(s.dir, s.rev)
	if err != nil {
		return s, err
	}
	if s.rev = rev; s.git && branch != "" {
		s.on = branch
	}
	return s, nil
}

// Commit returns the revision of the snapshot of a commit, which after [Snapshot.Resolve] is the
// commit's hash. It is empty for a snapshot of a directory.
func (s Snapshot) Commit() string {
	if _, ok := s.layer(); ok {
		return ""
	}
	return s.rev
}

// String returns the snapshot's name for messages, such as "/repo@HEAD".
func (s Snapshot) String() string {
	if s.rev == "" {
		return s.dir
	}
	return s.dir + "@" + s.rev
}

// checkout writes the commit's tree below the empty directory dst.
func (s Snapshot) checkout(ctx context.Context, dst string) error {
	var dot *layers.Dot
	if s.git {
		dot = &layers.Dot{Branch: s.on}
	}
	return layers.Checkout(ctx, s.dir, s.rev, dst, dot)
}

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
