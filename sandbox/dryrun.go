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
	// Exit is how the command of DryRun ended; nil with OpenTrial.
	Exit *Exit
	// Changes lists what the command changed, in lexical order. See Look.
	Changes []Change

	in     Adopter // the fork or layer in which it ran
	commit func(ctx context.Context, allow func(Finding) bool) error
}

// OpenTrial opens a throw-away layer over the current workspace of a sandbox, with the conditions
// of [DryRunner.DryRun]. Commands that run in [Trial.Sandbox] have no effect on the workspace
// before Trial.Commit. The trial must be committed or dropped.
func OpenTrial(ctx context.Context, box Sandbox) (*Trial, error) {
	var t *Trial
	var err error
	if o, ok := As[interface {
		openTrial(ctx context.Context) (*Trial, error)
	}](box); ok {
		t, err = o.openTrial(ctx)
	} else if over, ok := As[Adopter](box); ok {
		t, err = trialFork(ctx, over)
	} else {
		err = errors.New("it can neither be forked nor have a layer over it")
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: open trial in %s: %w", box.Dir(), err)
	}
	return t, nil
}

func (l *local) openTrial(ctx context.Context) (*Trial, error) {
	if !l.ws.inPlace() {
		return trialFork(ctx, l)
	}
	in, err := l.above(ctx)
	if err != nil {
		return nil, err
	}
	return &Trial{in: in, commit: func(ctx context.Context, allow func(Finding) bool) error {
		if _, err := in.Export(ctx, ExportOptions{Allow: allow}); err != nil {
			return err
		}
		return in.Close()
	}}, nil
}

func trialFork(ctx context.Context, over Adopter) (*Trial, error) {
	fork, err := over.Fork(ctx)
	if err != nil {
		return nil, err
	}
	in, ok := As[Adopter](fork)
	if !ok {
		return nil, errors.Join(errors.New("the fork cannot tell what changed in it"), fork.Close())
	}
	return &Trial{in: in, commit: func(ctx context.Context, _ func(Finding) bool) error { return over.Adopt(ctx, in) }}, nil
}

func (l *local) DryRun(ctx context.Context, cmd Cmd) (*Trial, error) {
	t, err := l.openTrial(ctx)
	if err != nil {
		return nil, fmt.Errorf("sandbox: dry run: %w", err)
	}
	return t.run(ctx, cmd)
}

// DryRunFork implements DryRun for other kinds of sandboxes: it runs the command in a fork, which
// Trial.Commit has the sandbox adopt.
func DryRunFork(ctx context.Context, over Adopter, cmd Cmd) (*Trial, error) {
	t, err := trialFork(ctx, over)
	if err != nil {
		return nil, fmt.Errorf("sandbox: dry run: %w", err)
	}
	return t.run(ctx, cmd)
}

// run runs the command where it has no effect on the workspace.
func (t *Trial) run(ctx context.Context, cmd Cmd) (*Trial, error) {
	var err error
	if t.Exit, err = t.in.Exec(ctx, cmd); err == nil {
		err = t.Look(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: dry run: %w", err), t.in.Close())
	}
	return t, nil
}

// Sandbox returns the sandbox in which commands have no effect on the workspace. It ends with the
// trial, which closes it.
func (t *Trial) Sandbox() Sandbox { return t.in }

// Look sets Changes to what commands have changed so far.
func (t *Trial) Look(ctx context.Context) error {
	changes, err := t.in.ChangesSince(ctx, AtFork)
	if err == nil {
		t.Changes = changes
	}
	return err
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
