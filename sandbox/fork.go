package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Forker is implemented by sandboxes whose workspace can be forked, for attempts
// that go on from one state beside each other.
type Forker interface {
	// Fork opens a second sandbox whose workspace starts as this one's is now.
	// What either changes afterwards the other does not see. Where the workspace
	// is an overlay nothing is copied: the change so far becomes a read-only
	// layer of both, however large it is; elsewhere the workspace is copied.
	//
	// No command may be running: Fork fails with [ErrBusy] rather than take a
	// state in the middle of a write. Processes that earlier commands left behind
	// are ended if anything has changed since the last fork. A fork is of the
	// workspace only, /tmp and home start empty. Both sandboxes must be closed,
	// in any order.
	Fork(ctx context.Context) (Sandbox, error)
}

// Restorer is implemented by sandboxes whose workspace can go back.
type Restorer interface {
	// Restore drops what was changed since a point. It fails with [ErrBusy] while
	// a command runs, and ends what commands left behind.
	Restore(ctx context.Context, to Point) error
}

// ErrBusy means that a command is running and must end first.
var ErrBusy = errors.New("a command is running; wait for it or kill it first")

// reopenLimit is how long a sandbox may take to start again. The caller's context
// does not count: a sandbox half-way would be lost.
const reopenLimit = time.Minute

func (l *local) Fork(ctx context.Context) (Sandbox, error) {
	l.gate.Lock()
	defer l.gate.Unlock()
	out, err := l.fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("sandbox: fork %s: %w", l.ws.dir, err)
	}
	return out, nil
}

// fork is Fork with the gate held.
func (l *local) fork(ctx context.Context) (*local, error) {
	if err := l.still(ctx); err != nil {
		return nil, err
	}
	if l.ws.inPlace() {
		return nil, ErrInPlace
	}
	same, err := l.ws.untouched()
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

// freeze makes the change so far a layer that is no longer written.
func (l *local) freeze() error {
	if !l.ws.overlay { // a copy is taken, commands can go on in the original
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
	l.gate.Lock()
	defer l.gate.Unlock()
	err := l.still(ctx)
	if err == nil && l.ws.inPlace() {
		err = ErrInPlace
	}
	if err == nil && to != AtSnapshot && to != AtFork {
		err = fmt.Errorf("%d is no Point", to)
	}
	if err == nil {
		err = l.reopen(func() error { return l.ws.reset(to) })
	}
	if err != nil {
		return fmt.Errorf("sandbox: restore %s: %w", l.ws.dir, err)
	}
	return nil
}

// still reports why the workspace may be in use. The gate is held, so no command
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

// reopen ends everything inside, changes the workspace and starts anew at the
// same tier. The gate is held for writing. When it fails the sandbox is of no
// further use but to be closed.
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

// sameTier is the configuration this sandbox was opened with, but for exactly
// the tier it reached.
func (l *local) sameTier() *Config {
	cfg := l.cfg
	cfg.Floor, cfg.Ceiling = l.iso.Tier, l.iso.Tier
	return &cfg
}
