package sandbox

import (
	"context"

	"github.com/luthier-dev/luthier/sandbox/internal/layers"
)

// Snapshot is a starting state of a workspace. Make one with SnapshotDir or
// SnapshotCommit; equal snapshots compare equal with ==.
type Snapshot struct {
	dir string
	rev string // empty for the directory as it is
}

// SnapshotDir is a directory as it is when the sandbox opens. Where the host can
// mount an overlay the directory is not copied, so it should not be changed
// while sandboxes over it are open: such changes may or may not show inside.
func SnapshotDir(dir string) Snapshot { return Snapshot{dir: dir} }

// SnapshotCommit is the tree of a commit, named as git rev-parse would take it,
// of the git repository that holds dir. The workspace has no .git directory;
// submodules are empty directories.
func SnapshotCommit(dir, rev string) Snapshot { return Snapshot{dir: dir, rev: rev} }

func (s Snapshot) isZero() bool { return s == Snapshot{} }

// String names the snapshot for messages, such as "/repo@HEAD".
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
