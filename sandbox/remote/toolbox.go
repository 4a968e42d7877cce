package remote

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/luthier-dev/luthier/sandbox"
)

// Toolbox runs the tools of one sandbox where the sandbox is. A host implements it and names it in
// [Config.Tools]; clients use it with [Tools]. What tools, specs, arguments, results and questions
// are is between the two ends: this package carries them as JSON and looks into none.
//
// A toolbox can do more than run tools if it also implements [Preparer], [Checkpointer], [Undoer],
// [CheckpointLister] or [Instructor].
//
// All methods may be called concurrently. A method returns soon after its ctx ended: with the
// deadline of the request, when the client cancels the call, and when the sandbox is closed. The
// connection does not end it: a client that was cut off gets the outcome when it is back. The
// workspace may be forked, restored or replaced between calls, and during one that does not use it;
// a [sandbox.Tree] shows it as it is. Arguments are as untrusted as the model that wrote them.
type Toolbox interface {
	// Specs returns what clients show to a model, as one JSON value. Equal specs must be equal
	// bytes, because clients keep them by their hash.
	Specs(ctx context.Context) (json.RawMessage, error)
	// Call runs a tool and returns its result, a JSON value of at most 16 MiB. It is called once
	// for a call, however often the client asks. An error is the tool's own: the client gets a
	// ToolError with its text. out is valid until Call returns.
	Call(ctx context.Context, q ToolRequest, out ToolOutput) (json.RawMessage, error)
	// Close ends the use of the sandbox. No call runs then, except one that did not return within
	// ten seconds of the end of its ctx. The sandbox is closed afterwards.
	Close() error
}

// Preparer is a Toolbox that describes what a call would do, without doing anything.
type Preparer interface {
	// Prepare describes the call in the present state of the workspace. It must be repeatable: as
	// long as the call would do the same, it returns the same bytes.
	Prepare(ctx context.Context, q ToolRequest) (Prepared, error)
}

// Checkpointer is a Toolbox that records states of the workspace.
type Checkpointer interface {
	// Snapshot records the workspace and returns the checkpoint's id.
	Snapshot(ctx context.Context, label string) (id string, err error)
	// Restore returns the workspace to a checkpoint, and returns one that undoes the restore.
	Restore(ctx context.Context, id string) (undo string, err error)
}

// Undoer is a Checkpointer that goes back and forward between its states.
type Undoer interface {
	// Undo goes back to the state before, and returns its id.
	Undo(ctx context.Context) (id string, err error)
	// Redo takes back the last Undo, and returns the state's id.
	Redo(ctx context.Context) (id string, err error)
}

// CheckpointLister is a Checkpointer that lists its checkpoints.
type CheckpointLister interface {
	// Checkpoints returns the checkpoints as one JSON value.
	Checkpoints(ctx context.Context) (json.RawMessage, error)
}

// Instructor is a Toolbox that finds the instructions for agents in its workspace, such as
// AGENTS.md.
type Instructor interface {
	// Instructions returns those that apply to a directory of the workspace, as one JSON value.
	Instructions(ctx context.Context, dir string) (json.RawMessage, error)
}

// ToolRequest describes a call of a tool. Name is required.
type ToolRequest struct {
	// Name is the tool's name.
	Name string `json:"name"`
	// Args are the arguments, a JSON value.
	Args json.RawMessage `json:"args,omitempty"`
	// CallID is the model's name for the call. It need not be unique.
	CallID string `json:"call_id,omitempty"`
	// Session names the conversation, for what tools remember about it, such as which files the
	// model has seen. Epoch counts how often its history was rewritten.
	Session string `json:"session,omitempty"`
	Epoch   int    `json:"epoch,omitempty"`
	// Digest is the Prepared.Digest of what was approved. If the call would do something else by
	// now, it is not run and fails with ErrChanged. Empty means that nothing is compared.
	Digest string `json:"digest,omitempty"`
	// Timeout limits the call's time on the server; zero means no limit but that of the quota. A
	// client's own ctx limits it too.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Prepared describes what a call would do.
type Prepared struct {
	// Effects lists what the call may read and change, for a policy.
	Effects json.RawMessage `json:"effects,omitempty"`
	// Description explains the call to a person: a title, the diff of an edit.
	Description json.RawMessage `json:"description,omitempty"`
	// State covers what else the outcome depends on, such as the hash of a file. It stays on the
	// server.
	State string `json:"-"`
	// Digest identifies the call with everything above. The server sets it.
	Digest string `json:"digest"`
}

// ToolOutput sends what a running call has for its client. The client gets everything in order and
// once, also after its connection was cut. Sending to a client that has gone is no error: what was
// sent waits for it.
type ToolOutput interface {
	// Progress sends a text to show while the call runs.
	Progress(text string)
	// Output sends output of a command.
	Output(stream sandbox.Stream, data []byte)
	// Ask asks the person at the client. Questions and answers are JSON values of less than 512
	// KiB; at most 16 questions of a call can be open. It fails if nobody there answers questions.
	Ask(ctx context.Context, question json.RawMessage) (answer json.RawMessage, err error)
	// Artifact sends a text that is too long for the result. The client fetches it by the returned
	// hash, the SHA-256 in hexadecimal. A text that the server already has is stored once.
	Artifact(name string, data []byte) (hash string, err error)
}

// Errors of calls that callers may test for with errors.Is, in addition to the others.
var (
	// ErrChanged means that a call was not run because it would do something else than what was
	// prepared and approved.
	ErrChanged = errors.New("the call would do something else than what was approved")
	// ErrNoTools means that the server has no tools for its sandboxes, or that they cannot do what
	// was asked.
	ErrNoTools = errors.New("the server offers no such tools")
)

// ToolError is an error that a tool returned: the call ran and its outcome is known. Its text is
// the tool's. It works with errors.Is for the errors that this package and package sandbox name.
type ToolError struct{ wire wireError }

// Error returns the tool's text.
func (e *ToolError) Error() string { return e.wire.Text }

// Is implements errors.Is.
func (e *ToolError) Is(target error) bool { return e.wire.Is(target) }
