package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is something that a model can call. Call receives the arguments as the model wrote them. Its
// error is shown to the model as a failed result, so the error text should say what to do next.
// Package tools builds a Tool from a Go function. Call may run concurrently with itself and must
// return when ctx ends.
type Tool interface {
	Spec() ToolSpec
	Call(ctx context.Context, call ToolCall) (*ToolResult, error)
}

// ToolSpec describes a tool to the model and to the loop.
type ToolSpec struct {
	Name        string          // letters, digits, '_' and '-', at most 64
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema of the arguments, an object; nil means an object without properties
	Effects     Effects         // what any call of the tool may do; a tool can be more precise about a single call with [Effecter]
	Timeout     time.Duration   // time limit of one call; 0 means the agent's default, negative none
}

// Effecter is a [Tool] that can report the effects of a particular call before it runs.
type Effecter interface {
	CallEffects(call ToolCall) Effects
}

// Describer is a [Tool] that can explain a particular call to a person, for permission questions
// and [Agent.Explain].
type Describer interface {
	DescribeCall(call ToolCall) CallDescription
}

// CallDescription explains a call. In a [PermissionRequest] and an [Explanation] its title, detail
// and place are [Visible].
type CallDescription struct {
	Title  string // one line, such as "run: go test ./..."
	Exact  string // the canonical text an exact-command grant binds to; empty means name plus arguments
	Detail string // longer form, such as a shell parse tree or the diff an edit would make
	Where  string // where it would run, such as "sandbox (namespaces)" or "host, /home/me/src"
	// Sandboxed reports whether the call runs in a sandbox: without network, and able to change
	// only the workspace's files.
	Sandboxed bool
}

// ToolSource is a set of tools that may change while an agent runs, such as a registry.
type ToolSource interface {
	// Tools returns the current tools in a stable order. The returned slice is not modified later.
	Tools() []Tool
}

// ArtifactStore keeps texts that are too long for the context and returns handles to read them
// back.
type ArtifactStore interface {
	Put(ctx context.Context, name string, data []byte) (handle string, err error)
	Get(ctx context.Context, handle string) ([]byte, error)
}
