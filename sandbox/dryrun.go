package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// DryRunner is implemented by sandboxes that can try a command first.
type DryRunner interface {
	// DryRun runs a command in a throw-away layer over the workspace as it is now
	// and returns what it changed. Nothing of it reaches the workspace until
	// Trial.Commit. It is a [Forker.Fork] underneath, with its conditions; for a
	// workspace in place it is a layer over the directory, and commands may go on
	// there meanwhile. The trial must be committed or dropped.
	DryRun(ctx context.Context, cmd Cmd) (*Trial, error)
}

// Trial is a command that was run without effect so far.
type Trial struct {
	// Exit is how the command ended.
	Exit *Exit
	// Changes are what it changed, in lexical order.
	Changes []Change

	over *local // the workspace it would change
	in   *local // where it ran
}

func (l *local) DryRun(ctx context.Context, cmd Cmd) (*Trial, error) {
	t, err := l.dryRun(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("sandbox: dry run: %w", err)
	}
	return t, nil
}

func (l *local) dryRun(ctx context.Context, cmd Cmd) (*Trial, error) {
	t := &Trial{over: l}
	var err error
	if l.ws.inPlace() {
		t.in, err = l.above(ctx)
	} else {
		l.gate.Lock()
		t.in, err = l.fork(ctx)
		l.gate.Unlock()
	}
	if err != nil {
		return nil, err
	}
	t.Exit, err = t.in.Exec(ctx, cmd)
	if err == nil {
		t.Changes, err = t.changes(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.in.Close())
	}
	return t, nil
}

// above opens a layer over a directory in place.
func (l *local) above(ctx context.Context) (*local, error) {
	if l.once.closed() {
		return nil, ErrClosed
	}
	if l.ws.source == "" {
		return nil, errElsewhere
	}
	cfg := l.sameTier()
	cfg.Dir, cfg.Snapshot = "", SnapshotDir(l.ws.dir)
	sb, err := Local(ctx, *cfg)
	if err != nil {
		return nil, err
	}
	return sb.(*local), nil
}

func (t *Trial) changes(ctx context.Context) ([]Change, error) {
	c, err := t.in.compare(ctx, AtFork)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.list(), nil
}

// Diff writes what the command changed in the form of git diff.
func (t *Trial) Diff(ctx context.Context, w io.Writer) error { return t.in.Diff(ctx, AtFork, w) }

// Review looks through what the command changed, as [Reviewer.Review] does.
func (t *Trial) Review(ctx context.Context) (*Review, error) {
	c, err := t.in.compare(ctx, AtFork)
	if err != nil {
		return nil, fmt.Errorf("sandbox: review dry run: %w", err)
	}
	defer c.close()
	r, err := c.review(ctx, t.over.ws.original())
	if err != nil {
		return nil, fmt.Errorf("sandbox: review dry run: %w", err)
	}
	return r, nil
}

// Commit makes what the command changed part of the workspace, and ends the trial.
// Where the workspace has changed in between it fails with [ErrConflict]. To a
// workspace in place it is an [Exporter.Export], which allow decides about as
// ExportOptions.Allow does; elsewhere nothing leaves the sandbox, and allow is not
// asked. After an error the trial can be committed again, or dropped.
func (t *Trial) Commit(ctx context.Context, allow func(Finding) bool) error {
	err := t.commit(ctx, allow)
	if err == nil {
		err = t.in.Close()
	}
	if err != nil {
		return fmt.Errorf("sandbox: commit dry run: %w", err)
	}
	return nil
}

// Drop forgets what the command did. Dropping twice, or after Commit, is harmless.
func (t *Trial) Drop() error { return t.in.Close() }

func (t *Trial) commit(ctx context.Context, allow func(Finding) bool) error {
	if t.over.ws.inPlace() {
		_, err := t.in.Export(ctx, ExportOptions{Allow: allow})
		return err
	}
	t.over.gate.Lock()
	defer t.over.gate.Unlock()
	t.in.gate.Lock()
	defer t.in.gate.Unlock()
	for _, l := range []*local{t.over, t.in} {
		if err := l.still(ctx); err != nil {
			return err
		}
	}
	if err := t.unchanged(ctx); err != nil {
		return err
	}
	// Nothing writes on from here, in either.
	if err := t.in.run.Close(); err != nil {
		return err
	}
	return t.over.reopen(func() error { return t.over.ws.take(t.in.ws) })
}

// unchanged reports a workspace that is no longer the one the trial was over.
func (t *Trial) unchanged(ctx context.Context) error {
	a, b := t.over.ws, t.in.ws
	same := len(a.frozen) == len(b.frozen)
	for i := 0; same && i < len(a.frozen); i++ {
		same = a.frozen[i] == b.frozen[i]
	}
	if same {
		c, err := a.compare(ctx, AtFork)
		if err != nil {
			return err
		}
		same = len(c.pairs) == 0
		c.close()
	}
	if !same {
		return fmt.Errorf("%w: the workspace is not as it was at the dry run; run the command again", ErrConflict)
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
	if err := removeTree(to); err != nil {
		return err
	}
	return os.Rename(change, to)
}
