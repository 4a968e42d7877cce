package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	in     Adopter // where it ran
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

// DryRunFork does for the makers of other sandboxes what DryRun has to do: it runs the
// command in a fork, which Trial.Commit has the sandbox adopt.
func DryRunFork(ctx context.Context, over Adopter, cmd Cmd) (*Trial, error) {
	fork, err := over.Fork(ctx)
	if err != nil {
		return nil, fmt.Errorf("sandbox: dry run: %w", err)
	}
	in, ok := fork.(Adopter)
	if !ok {
		return nil, errors.Join(errors.New("sandbox: dry run: the fork cannot tell what changed in it"), fork.Close())
	}
	return try(ctx, in, cmd, func(ctx context.Context, _ func(Finding) bool) error { return over.Adopt(ctx, in) })
}

// try runs the command where it has no effect.
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

// Diff writes what the command changed in the form of git diff.
func (t *Trial) Diff(ctx context.Context, w io.Writer) error { return t.in.Diff(ctx, AtFork, w) }

// Review looks through what the command changed, as [Reviewer.Review] does.
func (t *Trial) Review(ctx context.Context) (*Review, error) { return t.in.ReviewSince(ctx, AtFork) }

// Commit makes what the command changed part of the workspace, and ends the trial.
// Where the workspace has changed in between it fails with [ErrConflict]. To a
// workspace in place it is an [Exporter.Export], which allow decides about as
// ExportOptions.Allow does; elsewhere nothing leaves the sandbox, and allow is not
// asked. After an error the trial can be committed again, or dropped.
func (t *Trial) Commit(ctx context.Context, allow func(Finding) bool) error {
	if err := t.commit(ctx, allow); err != nil {
		return fmt.Errorf("sandbox: commit dry run: %w", err)
	}
	return nil
}

// Drop forgets what the command did. Dropping twice, or after Commit, is harmless.
func (t *Trial) Drop() error { return t.in.Close() }
