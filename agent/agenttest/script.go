package agenttest

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/luthier-dev/luthier/agent"
)

const scriptName = "agenttest"

// Scripted is a model that replays scripted turns. It is safe for concurrent use.
type Scripted struct {
	mu     sync.Mutex
	turns  []Turn
	next   int
	pick   func(*agent.Request) Turn
	loop   bool
	forget bool
	seen   []*agent.Request
	count  int
}

// Script returns a model that answers its first request with the first turn, its second with the
// second, and so on. A turn without an end of its own ends with Finish: tool_calls if it calls a
// tool, otherwise stop. A request after the last turn fails with an error that says so.
func Script(turns ...Turn) *Scripted {
	m := &Scripted{turns: make([]Turn, len(turns))}
	for i, t := range turns {
		m.turns[i] = t.closed()
	}
	return m
}

// ScriptFunc returns a model that answers every request with the turn that pick chooses. The choice
// depends only on the request, which suits a model shared by many runs.
func ScriptFunc(pick func(*agent.Request) Turn) *Scripted { return &Scripted{pick: pick} }

// Loop makes the script restart after its last turn. It returns m.
func (m *Scripted) Loop() *Scripted { m.loop = true; return m }

// Forget stops m from keeping requests, so that long runs stay small and benchmarks count only what
// they measure. It returns m.
func (m *Scripted) Forget() *Scripted { m.forget = true; return m }

// Name returns "agenttest".
func (m *Scripted) Name() string { return scriptName }

// Requests returns copies of the requests so far, in order.
func (m *Scripted) Requests() []*agent.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*agent.Request(nil), m.seen...)
}

// Calls returns the number of requests so far.
func (m *Scripted) Calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Left returns the number of unused turns.
func (m *Scripted) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.turns) - m.next
}

// Stream answers with the next turn.
func (m *Scripted) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Provider: scriptName, Err: context.Cause(ctx)})
			return
		}
		t, err := m.take(req)
		if err != nil {
			yield(nil, err)
			return
		}
		t.play(ctx, yield)
	}
}

// take records the request and returns the turn that answers it.
func (m *Scripted) take(req *agent.Request) (*Turn, error) {
	m.mu.Lock()
	m.count++
	n := m.count
	if !m.forget {
		m.seen = append(m.seen, cloneRequest(req))
	}
	if m.pick != nil {
		m.mu.Unlock() // pick is the caller's function and may be slow
		t := m.pick(req).closed()
		return &t, nil
	}
	defer m.mu.Unlock()
	if m.next == len(m.turns) && m.loop {
		m.next = 0
	}
	if m.next == len(m.turns) {
		return nil, &agent.ModelError{Kind: agent.ErrInvalid, Provider: scriptName,
			Err: fmt.Errorf("the script has %d turns and this is request %d, which ends with %q; script another turn or find out why the agent asks again", len(m.turns), n, tail(req))}
	}
	m.next++
	return &m.turns[m.next-1], nil
}

// tail describes the end of a request, for error messages.
func tail(req *agent.Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	last := req.Messages[len(req.Messages)-1]
	text := last.Text()
	for _, p := range last.Parts {
		if r, ok := p.(agent.ToolResult); ok {
			text += r.Text()
		}
	}
	if r := []rune(text); len(r) > 120 {
		text = string(r[:120]) + "..."
	}
	return string(last.Role) + ": " + text
}
