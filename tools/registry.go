package tools

import (
	"context"
	"fmt"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

// DefaultMaxArgs is the most bytes of arguments that a call may have.
const DefaultMaxArgs = 16 << 20

// Registry is a set of tools that may change while agents use it. Its methods are safe for concurrent use.
type Registry struct {
	mu    sync.RWMutex
	tools []agent.Tool
}

// NewRegistry returns a registry of ts.
func NewRegistry(ts ...agent.Tool) (*Registry, error) {
	r := &Registry{}
	return r, r.Add(ts...)
}

// Add adds tools. It is an error, and none is added, when a name is taken or invalid.
func (r *Registry) Add(ts ...agent.Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range ts {
		for _, have := range r.tools {
			if have.Spec().Name == t.Spec().Name {
				return fmt.Errorf("tools: add %q: the name is taken", t.Spec().Name)
			}
		}
		r.tools = append(r.tools, t)
	}
	return nil
}

// Tools returns the tools in the order they were added.
func (r *Registry) Tools() []agent.Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return append([]agent.Tool(nil), r.tools...)
}

// Call runs one call.
func (r *Registry) Call(ctx context.Context, call agent.ToolCall) (res *agent.ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			res = agent.ErrorResult("%s panicked: %v", call.Name, p)
		}
		res.CallID = call.ID
	}()
	for _, t := range r.Tools() {
		if t.Spec().Name == call.Name {
			res, err := t.Call(ctx, call)
			if err != nil {
				return agent.ErrorResult("%v", err)
			}
			return res
		}
	}
	return agent.ErrorResult("unknown tool %q", call.Name)
}
