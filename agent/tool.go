package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is something a model can call. Call is given the arguments as the model wrote them; an error is shown to the
// model as a failed result, so its text should say what to do next. Package tools builds a Tool from a Go function.
// Call may run concurrently with itself and must return when ctx ends.
type Tool interface {
	Spec() ToolSpec
	Call(ctx context.Context, call ToolCall) (*ToolResult, error)
}

// ToolSpec describes a tool to the model and to the loop.
type ToolSpec struct {
	Name        string          // letters, digits, '_' and '-', at most 64
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema of the arguments, an object; nil means an object without properties
	Effects     Effects         // what any call of the tool may do; a tool may refine it a call at a time with [Effecter]
	Timeout     time.Duration   // limit of one call; 0 means the agent's default, negative none
}

// Effecter is a [Tool] that can say what one particular call would do, before it runs.
type Effecter interface {
	CallEffects(call ToolCall) Effects
}

// Describer is a [Tool] that can explain one particular call to a person, for permission questions and [Agent.Explain].
type Describer interface {
	DescribeCall(call ToolCall) CallDescription
}

// CallDescription explains a call.
type CallDescription struct {
	Title  string // one line, such as "run: go test ./..."
	Exact  string // the canonical text an exact-command grant binds to; empty means name plus arguments
	Detail string // longer form, such as a shell parse tree or the diff an edit would make
	Where  string // where it would run, such as "sandbox (namespaces)" or "host, /home/me/src"
	// Sandboxed says that the call runs inside walls: no network, and no file but the workspace's can be changed.
	Sandboxed bool
}

// Effects says what a call may touch. The zero value means nothing is known: such a call runs alone, counts as a
// write, and is never approved as harmless.
type Effects struct {
	Known bool // the lists and flags below are complete
	// Reads and Writes name resources. A name that starts with a scheme ("todo:", "proc:3") is a resource of that exact
	// name; any other is a slash-separated path relative to the workspace (or absolute), which covers all below it; "."
	// is the whole workspace.
	Reads, Writes []string
	Flags         EffectFlags
	Reasons       []string // why, in words, for explanations
}

// EffectFlags are effects beyond reading and writing named resources.
type EffectFlags uint32

// The effect flags.
const (
	EffectDelete  EffectFlags = 1 << iota // removes files
	EffectKill                            // signals processes
	EffectNetwork                         // may reach the network
	EffectExec                            // runs programs whose effects are not known from their name
	EffectOutside                         // touches paths outside the workspace
	EffectSecret                          // may read credentials
	EffectSpend                           // may spend money, such as a sub-agent's model calls
)

// ReadOnly returns the effects of a call that only reads the given resources.
func ReadOnly(reads ...string) Effects { return Effects{Known: true, Reads: reads} }

// Writing returns the effects of a call that reads and writes the given resources.
func Writing(writes ...string) Effects { return Effects{Known: true, Writes: writes} }

// IsReadOnly reports whether the effects are known and hold no write and none of the flags.
func (e Effects) IsReadOnly() bool { return e.Known && len(e.Writes) == 0 && e.Flags == 0 }

// EffectsOf returns what call would do: the tool's own answer for this call when it is an [Effecter], else its spec's.
func EffectsOf(t Tool, call ToolCall) Effects {
	if e, ok := t.(Effecter); ok {
		return e.CallEffects(call)
	}
	return t.Spec().Effects
}

// ToolSource is a set of tools that may change while an agent runs, such as a registry.
type ToolSource interface {
	// Tools returns the current tools in a stable order. The slice is not modified afterwards.
	Tools() []Tool
}

// ArtifactStore keeps texts that are too long for the context and gives back a handle to read them by.
type ArtifactStore interface {
	Put(ctx context.Context, name string, data []byte) (handle string, err error)
	Get(ctx context.Context, handle string) ([]byte, error)
}
