package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Forker is implemented by sandboxes whose workspace can be forked, for attempts that continue in
// parallel from one state.
type Forker interface {
	// Fork opens a second sandbox whose workspace starts in the current state of this one. Later
	// changes of either are invisible to the other. If the workspace is an overlay, nothing is
	// copied: the changes so far become a read-only layer of both, however large they are.
	// Otherwise the workspace is copied.
	//
	// No command may be running: Fork fails with [ErrBusy] rather than take a state in the middle
	// of a write. It waits for calls on the workspace's [Tree], with the same error if ctx ends. If
	// anything has changed since the last fork, processes that earlier commands left behind are
	// ended. Only the workspace is forked; /tmp and home start empty. Both sandboxes must be
	// closed, in any order.
	Fork(ctx context.Context) (Sandbox, error)
}

// Restorer is implemented by sandboxes whose workspace can return to an earlier state.
type Restorer interface {
	// Restore drops the changes since a point. It fails with [ErrBusy] while a command runs, and
	// ends processes that commands left behind.
	Restore(ctx context.Context, to Point) error
}

// ErrBusy means that a command, or a call on the workspace's tree, is running and must end first.
var ErrBusy = errors.New("a command or a call on the tree is running; wait for it or end it first")

// reopenLimit bounds the time for a sandbox to start again. The caller's context does not apply,
// since a sandbox stopped halfway would be lost.
const reopenLimit = time.Minute

func (l *local) Fork(ctx context.Context) (Sandbox, error) {
	unlock, err := l.alone(ctx)
	var out *local
	if err == nil {
		defer unlock()
		out, err = l.fork(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: fork %s: %w", l.ws.dir, err)
	}
	return out, nil
}

// fork implements Fork; the caller holds the gates.
func (l *local) fork(ctx context.Context) (*local, error) {
	if err := l.still(ctx); err != nil {
		return nil, err
	}
	if l.ws.inPlace() {
		return nil, ErrInPlace
	}
	same := false
	err := l.retire(ctx)
	if err == nil {
		same, err = l.ws.untouched()
	}
	if err == nil && !same {
		err = l.freeze()
	}
	if err != nil {
		return nil, err
	}
	ws, err := l.ws.fork(l.cfg.ScratchDir)
	if err != nil {
		return nil, err
	}
	out, err := startHighest(ctx, l.sameTier(), ws)
	if err != nil {
		return nil, errors.Join(err, ws.remove())
	}
	out.cfg = l.cfg
	return out, nil
}

// freeze turns the changes so far into a layer that is no longer written.
func (l *local) freeze() error {
	if !l.ws.overlay { // it was copied, so commands can go on in the original
		return l.ws.freeze(l.cfg.ScratchDir)
	}
	return l.reopen(func() error {
		if err := l.ws.freeze(l.cfg.ScratchDir); err != nil {
			return err
		}
		return l.ws.flatten(l.cfg.ScratchDir)
	})
}

func (l *local) Restore(ctx context.Context, to Point) error {
	unlock, err := l.alone(ctx)
	if err == nil {
		defer unlock()
		err = l.restore(ctx, to)
	}
	if err != nil {
		return fmt.Errorf("sandbox: restore %s: %w", l.ws.dir, err)
	}
	return nil
}

// restore implements Restore; the caller holds the gates.
func (l *local) restore(ctx context.Context, to Point) error {
	if err := l.still(ctx); err != nil {
		return err
	}
	if l.ws.inPlace() {
		return ErrInPlace
	}
	if to != AtSnapshot && to != AtFork {
		return fmt.Errorf("%d is no Point", to)
	}
	if err := l.retire(ctx); err != nil {
		return err
	}
	return l.reopen(func() error { return l.ws.reset(to) })
}

// still returns an error if the workspace may be in use. The caller holds the gate, so no command
// can start.
func (l *local) still(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if l.once.closed() {
		return ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.live {
		select {
		case <-p.done:
		default:
			return ErrBusy
		}
	}
	return nil
}

// reopen ends everything inside, changes the workspace and starts again at the same tier. The
// caller holds the gate for writing. If it fails, the sandbox can only be closed.
func (l *local) reopen(change func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), reopenLimit)
	defer cancel()
	err := l.run.Close()
	if err == nil {
		err = change()
	}
	if err != nil {
		return err
	}
	next, err := startHighest(ctx, l.sameTier(), l.ws)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next.iso.Tried = l.iso.Tried
	l.run, l.env, l.iso = next.run, next.env, next.iso
	return nil
}

// sameTier returns the configuration that this sandbox was opened with, restricted to the tier it
// reached.
func (l *local) sameTier() *Config {
	cfg := l.cfg
	cfg.Floor, cfg.Ceiling = l.iso.Tier, l.iso.Tier
	return &cfg
}
