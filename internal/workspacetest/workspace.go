package workspacetest

import (
	"context"
	"encoding/json"
	"os"
	"testing"
)

// A Call is a call of a tool.
type Call struct {
	Tool string
	Args json.RawMessage
}

// A Result holds what the model reads after a call.
type Result struct {
	Text    string
	IsError bool
}

// A Workspace is an agent with its workspace, in one arrangement.
type Workspace interface {
	// Name returns the workspace's path as commands see it.
	Name() string
	// Play lets the agent make the calls in one turn, one after the other, and returns a result for
	// each of them.
	Play(ctx context.Context, calls []Call) ([]Result, error)
	// Undo takes back the last turn that wrote.
	Undo(ctx context.Context) error
	// Exec runs a shell script as the agent's commands run, in the workspace, and returns what it
	// prints. A script that fails is an error.
	Exec(ctx context.Context, script string) (string, error)
	// Close ends the arrangement. The test that opened it has registered what else it needs.
	Close() error
}

// A Viewer is a Workspace whose files this process can open, or fails with errors.ErrUnsupported.
type Viewer interface {
	View(ctx context.Context, f func(root *os.Root) error) error
}

// A Finisher is a Workspace that takes the agent's work over before it is looked at, such as the
// parent of a fork.
type Finisher interface {
	Finish(ctx context.Context) error
}

// Caps say what an arrangement is.
type Caps struct {
	InPlace bool // changes the host's directory
	Commit  bool // starts with the files of the commit HEAD, not with those of the directory
	NoLog   bool // searches without the git log, by which results are ordered too
}

// An Open opens an arrangement over the repository in dir. It skips the test if the host does not
// have what the arrangement needs.
type Open func(t *testing.T, dir string) Workspace
