package sandbox

import (
	"context"

	"github.com/luthier-dev/luthier/sandbox/internal/layers"
)

// Snapshot is a starting state of a workspace. Make one with SnapshotDir or
// SnapshotCommit; equal snapshots compare equal with ==.
type Snapshot struct {
	dir string
	rev string // empty for the current state of the directory
}

// SnapshotDir returns the state of a directory when the sandbox opens. If the host can mount an
// overlay, the directory is not copied, so it should not be changed while sandboxes over it are
// open: such changes may or may not be visible inside.
func SnapshotDir(dir string) Snapshot { return Snapshot{dir: dir} }

// SnapshotCommit returns the tree of a commit of the git repository that contains dir. rev names
// the commit as for git rev-parse. The workspace has no .git directory; submodules are empty
// directories.
func SnapshotCommit(dir, rev string) Snapshot { return Snapshot{dir: dir, rev: rev} }

func (s Snapshot) isZero() bool { return s == Snapshot{} }

// live returns the directory, or "" if the snapshot is a commit's tree.
func (s Snapshot) live() string {
	if s.rev != "" {
		return ""
	}
	return s.dir
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
	return layers.Checkout(ctx, s.dir, s.rev, dst)
}
