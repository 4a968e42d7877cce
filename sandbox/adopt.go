package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Adopter is implemented by sandboxes that can go on from where a fork of theirs has
// come to, as from the best of several attempts.
type Adopter interface {
	Sandbox
	Forker
	Exporter

	// ChangesSince lists what commands have changed since a point.
	ChangesSince(ctx context.Context, since Point) ([]Change, error)
	// ReviewSince looks through what has changed since a point, as
	// [Reviewer.Review] does through all.
	ReviewSince(ctx context.Context, since Point) (*Review, error)
	// Adopt makes what a fork of this sandbox has changed part of its workspace,
	// and closes the fork. Nothing leaves the sandboxes by it, and nothing is
	// copied. If this workspace has changed since the fork it fails with
	// [ErrConflict]; while a command runs in either, with [ErrBusy]. What commands
	// left behind is ended in both. After these two errors both can go on.
	Adopt(ctx context.Context, fork Sandbox) error
}

// self is how a sandbox that wraps one of this machine's shows it.
func (l *local) self() *local { return l }

func (l *local) Adopt(ctx context.Context, fork Sandbox) error {
	f, ok := fork.(interface{ self() *local })
	if !ok || f.self() == l {
		return fmt.Errorf("sandbox: adopt: %w", errNoFork)
	}
	err := l.adopt(ctx, f.self())
	if err == nil {
		err = fork.Close()
	}
	if err != nil {
		return fmt.Errorf("sandbox: adopt: %w", err)
	}
	return nil
}

// errNoFork means that two workspaces have not the same beginning.
var errNoFork = errors.New("it is no fork of this sandbox")

func (l *local) adopt(ctx context.Context, fork *local) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	// Not waited for without end: another may adopt this one into that.
	if !lockSoon(fork.gate.TryLock) {
		return ErrBusy
	}
	defer fork.gate.Unlock()
	for _, l := range []*local{l, fork} {
		if err := l.still(ctx); err != nil {
			return err
		}
	}
	if l.ws.inPlace() || fork.ws.inPlace() {
		return ErrInPlace
	}
	if err := l.ws.sameBeginning(ctx, fork.ws); err != nil {
		return err
	}
	// Nothing writes on from here, in either.
	if err := fork.spawner().Close(); err != nil {
		return err
	}
	return l.reopen(func() error { return l.ws.take(fork.ws) })
}

// sameBeginning reports a workspace that is no longer the one that a fork was made of.
func (ws *workspace) sameBeginning(ctx context.Context, fork *workspace) error {
	if ws.origin != fork.origin || ws.lower != fork.lower || ws.overlay != fork.overlay || ws.disk != fork.disk ||
		filepath.Dir(ws.scratch) != filepath.Dir(fork.scratch) {
		return errNoFork
	}
	same := slices.Equal(ws.frozen, fork.frozen)
	if same {
		c, err := ws.compare(ctx, AtFork)
		if err != nil {
			return err
		}
		same = len(c.Pairs) == 0
		c.Close()
	}
	if !same {
		return fmt.Errorf("%w: the workspace is not as it was when it was forked; do it again on a new fork", ErrConflict)
	}
	return nil
}

// take makes the change of a fork that is over the same state its own. Nothing may
// run on either.
func (ws *workspace) take(from *workspace) error {
	to, change := ws.source, from.source
	if ws.overlay {
		to, change = ws.upper(), from.upper()
	}
	if err := tree.Remove(to); err != nil {
		return err
	}
	return os.Rename(change, to)
}
