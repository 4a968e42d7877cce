package sandbox

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// ChangeKind says what happened to a path.
type ChangeKind string

// The kinds of change.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
)

// Change is one path that differs from the snapshot.
type Change struct {
	// Path is relative to the workspace, with forward slashes.
	Path string
	Kind ChangeKind
	// Mode is the file's current type and permissions, or those before it was deleted.
	Mode fs.FileMode
}

// Point is a state of a workspace to compare with or to restore.
type Point int

// The points.
const (
	// AtSnapshot is the state of Config.Snapshot.
	AtSnapshot Point = iota
	// AtFork is the state at the last Fork that involved this sandbox, or AtSnapshot if there was
	// none.
	AtFork
)

func (l *local) Changes(ctx context.Context) ([]Change, error) {
	return l.ChangesSince(ctx, AtSnapshot)
}

func (l *local) ChangesSince(ctx context.Context, since Point) ([]Change, error) {
	d, err := l.compare(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("sandbox: list changes: %w", err)
	}
	defer d.Close()
	return changesOf(d), nil
}

// compare finds the differences. The sandbox must not be forked meanwhile.
func (l *local) compare(ctx context.Context, since Point) (*tree.Comparison, error) {
	l.gate.RLock()
	defer l.gate.RUnlock()
	if l.once.closed() {
		return nil, ErrClosed
	}
	return l.ws.compare(ctx, since)
}

func (ws *workspace) compare(ctx context.Context, since Point) (*tree.Comparison, error) {
	if ws.inPlace() {
		return nil, &fs.PathError{Op: "compare", Path: ws.dir, Err: ErrInPlace}
	}
	was, now := ws.state(since), ws.now()
	return tree.Compare(ctx, was, now, max(1, len(now)-len(was)), !ws.overlay)
}

// changeOf converts a difference into a Change.
func changeOf(p tree.Pair) Change {
	switch {
	case p.Now == nil:
		return Change{Path: p.Was.Rel, Kind: Deleted, Mode: p.Was.Info.Mode()}
	case p.Was == nil:
		return Change{Path: p.Now.Rel, Kind: Added, Mode: p.Now.Info.Mode()}
	}
	return Change{Path: p.Now.Rel, Kind: Modified, Mode: p.Now.Info.Mode()}
}

// changesOf lists the changes of a comparison.
func changesOf(c *tree.Comparison) []Change {
	out := make([]Change, len(c.Pairs))
	for i, p := range c.Pairs {
		out[i] = changeOf(p)
	}
	return out
}

// ErrTooLarge means that a change is larger than a host should have to hold in memory. To recover,
// let commands remove the files they made, or call Restore.
var ErrTooLarge = tree.ErrTooLarge
