package remote

import (
	"context"
	"encoding/json"
	"io"
)

// ToolCaller calls the tools next to a sandbox. [Tools] is one; a client of another protocol that
// forwards whole tool calls can have its own.
type ToolCaller interface {
	Specs(ctx context.Context) (*Specs, error)
	Prepare(ctx context.Context, q ToolRequest) (*Prepared, error)
	Call(ctx context.Context, q ToolRequest, h ToolHandlers) (json.RawMessage, error)
	Snapshot(ctx context.Context, label string) (id string, err error)
	Restore(ctx context.Context, id string) (undo string, err error)
	Instructions(ctx context.Context, dir string) (json.RawMessage, error)
}

// WithTools is implemented by sandboxes that have tools next to them.
type WithTools interface{ ToolCaller() ToolCaller }

// ToolCaller returns the same as Tools, and makes the sandbox a [WithTools].
func (s *Sandbox) ToolCaller() ToolCaller { return s.tools }

// NewArtifact returns an artifact that fetch fetches, for a [ToolCaller] of another protocol.
func NewArtifact(name, hash string, size int64, fetch func(ctx context.Context, w io.Writer) error) *Artifact {
	return &Artifact{Name: name, Hash: hash, Size: size, fetch: fetch}
}
