package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/luthier-dev/luthier/sandbox/internal/treefd"
)

// Tree implements Treer.
func (l *local) Tree(ctx context.Context) (*Tree, error) {
	t, err := l.newTree(ctx)
	if err != nil {
		return nil, fmt.Errorf("sandbox: open tree of %s: %w", l.ws.dir, err)
	}
	return t, nil
}

func (l *local) newTree(ctx context.Context) (*Tree, error) {
	if err := l.files.Use(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	t := &Tree{name: l.ws.dir, state: &l.files, open: l.openTree}
	// Report now whether it can be opened.
	err := l.files.Call(ctx, l.openTree, func(*treefd.View) error {
		t.id = originID(cmp.Or(l.ws.origin, l.ws.dir), l.cfg.Snapshot.rev) + l.ws.lineage
		return nil
	})
	if errors.Is(err, treefd.ErrOver) {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// treeOpener is implemented by spawners whose workspace exists only inside.
type treeOpener interface {
	openTree(ctx context.Context, dir, at string) (*treefd.View, error)
}

// openTree opens the workspace. Its caller shares the gate of l.files.
func (l *local) openTree(ctx context.Context) (*treefd.View, error) {
	ws := l.ws
	if !ws.overlay {
		return ws.openTree()
	}
	in, ok := withoutNet(l.spawner()).(treeOpener)
	if !ok {
		return nil, errElsewhere
	}
	v, err := in.openTree(ctx, ws.dir, l.cfg.ScratchDir)
	if errors.Is(err, os.ErrProcessDone) {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	if err != nil {
		return nil, err
	}
	if ws.owner != nil {
		v.As, v.UID, v.GID = true, ws.owner.UID, ws.owner.GID
	}
	v.ReadOnly = ws.readOnly
	return v, nil
}

// openTree opens a workspace that has a path on the host. A command's user is the one who owns the
// top, also if it is in place, where commands get the rights of its owner.
func (ws *workspace) openTree() (*treefd.View, error) {
	if ws.source == "" {
		return nil, errElsewhere
	}
	v, err := dirView(ws.source, &treefd.View{ReadOnly: ws.readOnly})
	if err == nil && ws.owner != nil {
		v.As = true
		if v.UID, v.GID, err = treefd.Owner(v.Root); err != nil {
			err = errors.Join(err, v.Root.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// alone waits until no call on the tree runs and no command starts, and keeps others from beginning
// until unlock is called. Calls come first: one that runs may be about to start a command.
func (l *local) alone(ctx context.Context) (unlock func(), err error) {
	if err := l.files.Gate.Lock(ctx); err != nil {
		return nil, fmt.Errorf("%w: a call has not returned: %w", ErrBusy, err)
	}
	l.gate.Lock()
	return func() {
		l.gate.Unlock()
		l.files.Gate.Unlock()
	}, nil
}

// retire makes what was opened of the tree so far useless, before the workspace is replaced. The
// caller holds the gates.
func (l *local) retire(ctx context.Context) error {
	err := l.files.Retire(ctx)
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if err == nil {
		l.files.Replaced() // also if the replacement fails: what was kept is of no use any more
	}
	return err
}
