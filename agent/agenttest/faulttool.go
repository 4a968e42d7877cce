package agenttest

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

// ToolFault is one way in which a tool misbehaves.
type ToolFault string

// The faults of a tool.
const (
	ToolFaultNone  ToolFault = ""
	ToolFaultError ToolFault = "error" // returns an error
	ToolFaultPanic ToolFault = "panic" // panics
	ToolFaultDead  ToolFault = "dead"  // says nothing until its context ends
	ToolFaultNil   ToolFault = "nil"   // returns neither result nor error
	ToolFaultHuge  ToolFault = "huge"  // returns 8 MiB of text
)

// ToolFaults is a plan of a tool's faults, as [Faults] is for a model.
type ToolFaults struct {
	Seed  uint64
	Rates map[ToolFault]float64
	At    map[int]ToolFault // the fault of a certain call, from 1; takes precedence over Rates
}

// InjectTool wraps a tool and adds faults. Its name, effects and descriptions stay the same.
func InjectTool(t agent.Tool, faults ToolFaults) agent.Tool {
	f := &faultyTool{Tool: t, faults: faults}
	if d, ok := t.(agent.Describer); ok {
		return struct {
			*faultyTool
			agent.Describer
		}{f, d}
	}
	return f
}

type faultyTool struct {
	agent.Tool
	faults ToolFaults
	mu     sync.Mutex
	n      int
}

// CallEffects returns the effects of the wrapped tool.
func (t *faultyTool) CallEffects(call agent.ToolCall) agent.Effects {
	return agent.EffectsOf(t.Tool, call)
}

// Call runs the wrapped tool, or fails as planned.
func (t *faultyTool) Call(ctx context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	switch t.next() {
	case ToolFaultError:
		return nil, errInjected
	case ToolFaultPanic:
		panic("agenttest: injected panic")
	case ToolFaultDead:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case ToolFaultNil:
		return nil, nil
	case ToolFaultHuge:
		return agent.TextResult(strings.Repeat("a line of very much output\n", 8<<20/27)), nil
	}
	return t.Tool.Call(ctx, call)
}

func (t *faultyTool) next() ToolFault {
	t.mu.Lock()
	t.n++
	n := t.n
	t.mu.Unlock()
	if f, ok := t.faults.At[n]; ok {
		return f
	}
	x := rand.New(rand.NewPCG(t.faults.Seed, uint64(n))).Float64()
	for _, name := range slices.Sorted(maps.Keys(t.faults.Rates)) {
		if x -= t.faults.Rates[name]; x < 0 {
			return name
		}
	}
	return ToolFaultNone
}
