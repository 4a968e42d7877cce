package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/sandbox"
)

// CommandTrial is a command that has run without effect on the workspace so far.
type CommandTrial struct {
	CallID  string // of the call of shell
	Command string
	Dir     string // where it ran, relative to the workspace
	Ended   string // how it ended, such as "exit code 0 after 1.2s"
	Changes []sandbox.Change
	Diff    string            // what changed, in git diff format, without what changed in a .git
	Review  []sandbox.Finding // what the host would execute or obey later
}

// TrialFunc decides whether the workspace keeps what a command changed. If it does not, the model
// receives the reason. It may ask a person; it must return when ctx ends.
type TrialFunc func(ctx context.Context, t CommandTrial) (keep bool, reason string)

type trialKey struct{}

// WithTrials returns a context for calls whose commands run in trials about which decide decides,
// whatever ProcConfig.Trial is: for a host that runs calls of several agents.
func WithTrials(ctx context.Context, decide TrialFunc) context.Context {
	return context.WithValue(ctx, trialKey{}, decide)
}

// trial returns the function that decides about trials, or nil if commands have their effects at
// once.
func (w *Workspace) trial(ctx context.Context) TrialFunc {
	if f, ok := ctx.Value(trialKey{}).(TrialFunc); ok {
		return f
	}
	return w.cfg.Proc.Trial
}

// Tries reports whether a call runs in a trial, if ProcConfig.Trial is set: a command of shell
// whose end the call waits for, test and lint. Other calls have their effects when they run.
func Tries(call agent.ToolCall) bool {
	switch call.Name {
	case "test", "lint":
		return true
	case "shell":
		var in shellIn
		return json.Unmarshal(call.Args, &in) == nil && in.tried()
	}
	return false
}

func (in shellIn) tried() bool { return !in.Background && !in.Interactive }

// shellInTrial runs a command in a trial, and keeps its changes if the host says so.
func (w *Workspace) shellInTrial(ctx context.Context, in shellIn, dir string) (*agent.ToolResult, error) {
	t, err := w.openTrial(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Drop() // harmless after Commit
	p, err := w.startShell(t.Sandbox(), in.Command, dir, false)
	if err != nil {
		return nil, fmt.Errorf("the command could not be started: %w", err)
	}
	limit := w.shellLimit(in)
	switch p.wait(ctx, limit) {
	case waitCanceled:
		return w.killNow(ctx, p, limit, "because the call was cancelled; its changes are dropped")
	case waitTimeout:
		return w.killNow(ctx, p, limit, "because commands run in a trial first and cannot go on in the background; its changes are dropped. Give a longer timeout_seconds, or run it with background")
	}
	exit, failed := p.p.Wait()
	ended := exitWords(exit, failed)
	text := p.log.take(ctx, p.logName(), w.keep)
	p.log.close()
	what, refused, err := w.keepOrDrop(ctx, t, CommandTrial{CallID: agent.CallIDFrom(ctx), Command: in.Command, Dir: dir, Ended: ended})
	if err != nil {
		return nil, fmt.Errorf("the command ended (%s), but its changes could not be kept and are dropped: %w", ended, err)
	}
	res := agent.TextResult(withStatus(text, ended+what))
	res.IsError = refused
	return res, nil
}

// openTrial opens a trial over the workspace.
func (w *Workspace) openTrial(ctx context.Context) (*sandbox.Trial, error) {
	box, err := w.runner()
	if err != nil {
		return nil, err
	}
	t, err := sandbox.OpenTrial(ctx, box)
	if errors.Is(err, sandbox.ErrBusy) {
		err = fmt.Errorf("commands run in a trial first, which cannot begin while a process runs in the background; end it with shell_kill: %w", err)
	}
	return t, err
}

// keepOrDrop commits or drops what a command changed, and returns words for the model.
func (w *Workspace) keepOrDrop(ctx context.Context, t *sandbox.Trial, c CommandTrial) (words string, refused bool, err error) {
	if err := t.Look(ctx); err != nil {
		return "", false, err
	}
	if c.Changes = t.Changes; len(c.Changes) == 0 {
		return "", false, nil
	}
	var diff strings.Builder
	if err := t.Diff(ctx, &diff); err != nil {
		return "", false, err
	}
	review, err := t.Review(ctx)
	if err != nil {
		return "", false, err
	}
	c.Diff, c.Review = sandbox.DiffWithoutGit(diff.String()), review.Findings
	keep, reason := w.trial(ctx)(ctx, c)
	if !keep {
		return ". Its changes were dropped, nothing in the workspace has changed: " + reason, true, nil
	}
	if err := t.Commit(ctx, func(sandbox.Finding) bool { return true }); err != nil { // they were shown
		return "", false, err
	}
	w.tellIndex(nil)
	return "", false, nil
}

// execIn runs a program in a trial whose changes are dropped, if commands are tried: only what test
// and lint report counts.
func (w *Workspace) execIn(ctx context.Context) (box sandbox.Sandbox, done func(), err error) {
	if w.trial(ctx) == nil {
		box, err = w.runner()
		return box, func() {}, err
	}
	t, err := w.openTrial(ctx)
	if err != nil {
		return nil, nil, err
	}
	return t.Sandbox(), func() { _ = t.Drop() }, nil
}
