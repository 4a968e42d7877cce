package agent

import "context"

// Checkpointer snapshots a workspace so that a turn can be undone. Package checkpoint implements it on git objects.
type Checkpointer interface {
	// Snapshot records the workspace and returns the checkpoint's id.
	Snapshot(ctx context.Context, label string) (id string, err error)
	// Restore brings the workspace back to a checkpoint and returns the id of one that undoes the restore.
	Restore(ctx context.Context, id string) (undo string, err error)
}

// Compactor shortens a history to a token budget without losing what matters. Package compaction implements it.
type Compactor interface {
	Compact(ctx context.Context, msgs []Message, budget int) ([]Message, CompactionReport, error)
}

// CompactionReport says what a compaction did.
type CompactionReport struct {
	Before  int      `json:"before"`            // estimated tokens before
	After   int      `json:"after"`             // estimated tokens after
	Pruned  int      `json:"pruned,omitempty"`  // results replaced by stubs
	Summary bool     `json:"summary,omitempty"` // a model wrote a summary
	Notes   []string `json:"notes,omitempty"`
	Usage   Usage    `json:"usage,omitzero"` // tokens the compaction itself spent
}

// Todo is one item of a session's todo list.
type Todo struct {
	Text   string     `json:"text"`
	Status TodoStatus `json:"status"`
}

// TodoStatus is the state of a [Todo].
type TodoStatus string

// The todo states.
const (
	TodoPending TodoStatus = "pending"
	TodoActive  TodoStatus = "in_progress"
	TodoDone    TodoStatus = "completed"
)
