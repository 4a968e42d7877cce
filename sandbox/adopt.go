package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/luthier-dev/luthier/sandbox/internal/tree"
)

// Adopter is implemented by sandboxes that can take over the state of one of their forks, for
// example the best of several attempts.
type Adopter interface {
	Sandbox
	Forker
	Exporter

	// ChangesSince lists what commands have changed since a point.
	ChangesSince(ctx context.Context, since Point) ([]Change, error)
	// ReviewSince reviews what has changed since a point, as [Reviewer.Review] reviews all changes.
	ReviewSince(ctx context.Context, since Point) (*Review, error)
	// Adopt makes the changes of a fork of this sandbox part of this workspace and closes the fork.
	// Nothing leaves the sandboxes and nothing is copied. It fails with [ErrConflict] if this
	// workspace has changed since the fork, and with [ErrBusy] while a command runs in either;
	// after these two errors both sandboxes remain usable. Processes that commands left behind are
	// ended in both.
	Adopt(ctx context.Context, fork Sandbox) error
}

// self returns the underlying sandbox, also for a wrapper that embeds it.
func (l *local) self() *local { return l }

func (l *local) Adopt(ctx context.Context, fork Sandbox) error {
	f, ok := As[interface{ self() *local }](fork)
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

// errNoFork means that the two workspaces do not have the same origin.
var errNoFork = errors.New("it is no fork of this sandbox")

// besideFork waits until nothing runs in a sandbox and in a fork of it, and keeps others from
// beginning until unlock is called.
func (l *local) besideFork(ctx context.Context, fork *local) (unlock func(), err error) {
	var held []func()
	release := func() {
		for _, f := range slices.Backward(held) {
			f()
		}
	}
	defer func() {
		if err != nil {
			release()
		}
	}()
	mine, err := l.alone(ctx)
	if err != nil {
		return nil, err
	}
	held = append(held, mine)
	// Do not wait without end: another goroutine may be adopting in the opposite direction.
	soon, cancel := context.WithTimeout(ctx, adoptPatience)
	defer cancel()
	if err := fork.files.Gate.Lock(soon); err != nil {
		return nil, fmt.Errorf("%w: a call on the fork has not returned: %w", ErrBusy, err)
	}
	held = append(held, fork.files.Gate.Unlock)
	if !lockSoon(fork.gate.TryLock) {
		return nil, ErrBusy
	}
	held = append(held, fork.gate.Unlock)
	for _, l := range []*local{l, fork} {
		if err := l.still(ctx); err != nil {
			return nil, err
		}
	}
	if l.ws.inPlace() || fork.ws.inPlace() {
		return nil, ErrInPlace
	}
	return release, nil
}

func (l *local) adopt(ctx context.Context, fork *local) error {
	unlock, err := l.besideFork(ctx, fork)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.ws.sameBeginning(ctx, fork.ws); err != nil {
		return err
	}
	// From here on nobody may write in either sandbox.
	for _, l := range []*local{l, fork} {
		if err := l.retire(ctx); err != nil {
			return err
		}
	}
	if err := fork.spawner().Close(); err != nil {
		return err
	}
	if err := l.reopen(func() error { return l.ws.take(fork.ws) }); err != nil {
		return err
	}
	fork.files.Stop()
	return nil
}

// adoptPatience is the time that calls on a fork's tree get to return.
const adoptPatience = 10 * time.Second

// sameBeginning returns an error if the workspace is no longer the one that the fork was made from.
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

// take makes the changes of a fork over the same state its own. No command may run in either.
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
