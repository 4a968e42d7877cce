package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
	"github.com/luthier-dev/luthier/sandbox/internal/treefd"
)

// Merger is implemented by sandboxes that can take over the changes of several of their forks, one
// after another.
type Merger interface {
	// Merge makes what a fork of this sandbox changed part of this workspace and closes the fork,
	// like [Adopter.Adopt], also if this workspace has changed since: then it takes over each path
	// that changed in the fork. If one of these paths is neither as it was at the fork nor as the
	// fork has it, Merge changes nothing and fails with [ErrConflict], which names those paths; the
	// fork stays usable. Every file is replaced as a whole. What changed in a .git is taken over
	// only if all of it can be: otherwise the commits of the fork are left behind, and its files
	// are taken over.
	Merge(ctx context.Context, fork Sandbox) error
}

// Merge implements Merger.
func (l *local) Merge(ctx context.Context, fork Sandbox) error {
	err := l.Adopt(ctx, fork)
	if !errors.Is(err, ErrConflict) {
		return err
	}
	f, _ := As[interface{ self() *local }](fork)
	if err = l.merge(ctx, f.self()); err == nil {
		err = fork.Close()
	}
	if err != nil {
		return fmt.Errorf("sandbox: merge: %w", err)
	}
	return nil
}

func (l *local) merge(ctx context.Context, fork *local) error {
	unlock, err := l.besideFork(ctx, fork)
	if err != nil {
		return err
	}
	defer unlock()
	was, newer := fork.ws.beginning()
	c, err := tree.Compare(ctx, was, fork.ws.now(), newer, !fork.ws.overlay)
	if err != nil {
		return err
	}
	defer c.Close()
	v, err := l.openTree(ctx)
	if err != nil {
		return err
	}
	as := func(change func() error) error { return change() }
	if v.As {
		as = func(change func() error) error { return treefd.As(v.UID, v.GID, change) }
	}
	err = c.ApplyTo(ctx, v.Root, as, InGit)
	l.files.Replaced()
	return errors.Join(err, v.Release())
}
