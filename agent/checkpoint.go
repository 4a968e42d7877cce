package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Checkpointer snapshots a workspace so that a turn can be undone. Package checkpoint implements it
// with git objects.
type Checkpointer interface {
	// Snapshot records the workspace and returns the checkpoint's id.
	Snapshot(ctx context.Context, label string) (id string, err error)
	// Restore returns the workspace to a checkpoint and returns the id of a checkpoint that undoes
	// the restore.
	Restore(ctx context.Context, id string) (undo string, err error)
}

// ErrNothingToUndo is returned by [Agent.Undo] and [Agent.Redo] when there is no checkpoint in that
// direction.
var ErrNothingToUndo = errors.New("agent: there is no checkpoint to go to in that direction")

// Checkpoints returns the checkpoints that Undo can go back to, oldest first.
func (s *Session) Checkpoints() []CheckpointRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]CheckpointRef(nil), s.undo...)
}

// addCheckpoint records a checkpoint of the workspace.
func (s *Session) addCheckpoint(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := CheckpointRef{ID: id, Message: len(s.past) + len(s.live), Label: lastUserTitle(s.live)}
	if err := s.write(&Entry{Type: EntryCheckpoint, Checkpoint: &ref}); err != nil {
		return err
	}
	s.undo, s.redo = append(s.undo, ref), nil
	return nil
}

// turnLabel names the turn for a checkpoint.
func (s *Session) turnLabel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return lastUserTitle(s.live)
}

func lastUserTitle(ms []Message) string {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == RoleUser {
			return title(ms[i].Text())
		}
	}
	return ""
}

// Undo returns the workspace to its state before the last turn that wrote, and returns that
// checkpoint. The model is informed at the start of the next run. [Agent.Redo] reverses an Undo.
// Undo fails during a run.
func (a *Agent) Undo(ctx context.Context, s *Session) (CheckpointRef, error) {
	return a.restore(ctx, s, EntryUndo)
}

// Redo reverses the last [Agent.Undo].
func (a *Agent) Redo(ctx context.Context, s *Session) (CheckpointRef, error) {
	return a.restore(ctx, s, EntryRedo)
}

func (a *Agent) restore(ctx context.Context, s *Session, kind EntryType) (CheckpointRef, error) {
	if a.cfg.Checkpointer == nil {
		return CheckpointRef{}, errors.New("agent: undo: Config.Checkpointer is nil; set one, such as a checkpoint.Store")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return CheckpointRef{}, ErrBusy
	}
	from, to := &s.undo, &s.redo
	if kind == EntryRedo {
		from, to = &s.redo, &s.undo
	}
	if len(*from) == 0 {
		return CheckpointRef{}, ErrNothingToUndo
	}
	ref := (*from)[len(*from)-1]
	back, err := a.cfg.Checkpointer.Restore(ctx, ref.ID)
	if err != nil {
		return ref, fmt.Errorf("agent: restore checkpoint %s: %w", ref.ID, err)
	}
	opposite := CheckpointRef{ID: back, Message: ref.Message, Label: ref.Label}
	if err := s.write(&Entry{Type: kind, Checkpoint: &opposite}); err != nil {
		return ref, err
	}
	*from, *to = moveRef(*from, *to, opposite)
	s.note = restoreNote(kind, ref.Label)
	return ref, nil
}

// restoreNote returns the note about a restore for the model. It is shown at the start of the next
// run, even if the session was reopened in between.
func restoreNote(kind EntryType, label string) string {
	word := "undone"
	if kind == EntryRedo {
		word = "redone"
	}
	return "<reminder>\n" + promptText(restoredPrompt, "{undone}", word, "{turn}", strconv.Quote(label)) + "\n</reminder>"
}
