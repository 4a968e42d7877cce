package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// DryRunner is implemented by sandboxes that can try a command first.
type DryRunner interface {
	// DryRun runs a command in a throw-away layer over the current workspace and returns what it
	// changed. Nothing reaches the workspace before Trial.Commit. It is based on [Forker.Fork],
	// with the same conditions. For a workspace in place it uses a layer over the directory, and
	// commands may meanwhile go on there. The trial must be committed or dropped.
	DryRun(ctx context.Context, cmd Cmd) (*Trial, error)
}

// Trial is a command that has run without effect on the workspace so far.
type Trial struct {
	// Exit is how the command ended.
	Exit *Exit
	// Changes lists what it changed, in lexical order.
	Changes []Change

	in     Adopter // the fork or layer in which it ran
	commit func(ctx context.Context, allow func(Finding) bool) error
}

func (l *local) DryRun(ctx context.Context, cmd Cmd) (*Trial, error) {
	if !l.ws.inPlace() {
		return DryRunFork(ctx, l, cmd)
	}
	in, err := l.above(ctx)
	if err != nil {
		return nil, fmt.Errorf("sandbox: dry run: %w", err)
	}
	return try(ctx, in, cmd, func(ctx context.Context, allow func(Finding) bool) error {
		if _, err := in.Export(ctx, ExportOptions{Allow: allow}); err != nil {
			return err
		}
		return in.Close()
	})
}

// DryRunFork implements DryRun for other kinds of sandboxes: it runs the command in a fork, which
// Trial.Commit has the sandbox adopt.
func DryRunFork(ctx context.Context, over Adopter, cmd Cmd) (*Trial, error) {
	fork, err := over.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("sandbox: dry run: %w", err)
	}
	in, ok := As[Adopter](fork)
	if !ok {
		return nil, errors.Join(errors.New("sandbox: dry run: the fork cannot tell what changed in it"), fork.Close())
	}
	return try(ctx, in, cmd, func(ctx context.Context, _ func(Finding) bool) error { return over.Adopt(ctx, in) })
}

// try runs the command in a sandbox where it has no effect on the workspace.
func try(ctx context.Context, in Adopter, cmd Cmd, commit func(context.Context, func(Finding) bool) error) (*Trial, error) {
	t := &Trial{in: in, commit: commit}
	var err error
	if t.Exit, err = in.Exec(ctx, cmd); err == nil {
		t.Changes, err = in.ChangesSince(ctx, AtFork)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: dry run: %w", err), in.Close())
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

// Diff writes what the command changed in git diff format.
func (t *Trial) Diff(ctx context.Context, w io.Writer) error { return t.in.Diff(ctx, AtFork, w) }

// Review reviews what the command changed, as [Reviewer.Review] does.
func (t *Trial) Review(ctx context.Context) (*Review, error) { return t.in.ReviewSince(ctx, AtFork) }

// Commit makes what the command changed part of the workspace, and ends the trial. If the workspace
// has changed in between, it fails with [ErrConflict]. For a workspace in place it is an
// [Exporter.Export], and allow decides as ExportOptions.Allow does; otherwise nothing leaves the
// sandbox, and allow is not called. After an error the trial can be committed again, or dropped.
func (t *Trial) Commit(ctx context.Context, allow func(Finding) bool) error {
	if err := t.commit(ctx, allow); err != nil {
		return fmt.Errorf("sandbox: commit dry run: %w", err)
	}
	return nil
}

// Drop discards what the command did. Dropping twice, or after Commit, is harmless.
func (t *Trial) Drop() error { return t.in.Close() }
