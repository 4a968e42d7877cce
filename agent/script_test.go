package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// turn is one scripted response: it yields chunks and may block, fail or look at the request.
type turn func(ctx context.Context, req *agent.Request, yield func(agent.Chunk, error) bool)

// script is a model that plays its turns in order and remembers the requests.
type script struct {
	mu    sync.Mutex
	turns []turn
	next  int
	reqs  []agent.Request
}

func newScript(turns ...turn) *script { return &script{turns: turns} }

func (m *script) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reqs = append(m.reqs, *req)
	if m.next >= len(m.turns) {
		return func(yield func(agent.Chunk, error) bool) {
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: fmt.Errorf("the script has no turn %d", m.next+1)})
		}
	}
	t := m.turns[m.next]
	m.next++
	return func(yield func(agent.Chunk, error) bool) { t(ctx, req, yield) }
}

func chunks(cs ...agent.Chunk) turn {
	return func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func say(text string) turn {
	return chunks(agent.TextDelta{Text: text}, agent.Usage{Input: 10, Output: 5}, agent.Finish{Reason: agent.FinishStop})
}

type tc struct{ id, name, args string }

func calls(cs ...tc) turn {
	var out []agent.Chunk
	for i, c := range cs {
		out = append(out, agent.ToolCallStart{Index: i, ID: c.id, Name: c.name}, agent.ToolCallDelta{Index: i, Args: c.args})
	}
	return chunks(append(out, agent.Usage{Input: 10, Output: 5}, agent.Finish{Reason: agent.FinishTools})...)
}

func fails(kind agent.ErrorKind, after ...agent.Chunk) turn {
	return func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		for _, c := range after {
			if !yield(c, nil) {
				return
			}
		}
		yield(nil, &agent.ModelError{Kind: kind, Err: fmt.Errorf("scripted")})
	}
}

// fn is a tool made of a function, for tests.
type fn struct {
	spec    agent.ToolSpec
	call    func(ctx context.Context, args string) (*agent.ToolResult, error)
	effects func(args string) agent.Effects
}

func (f *fn) Spec() agent.ToolSpec { return f.spec }
func (f *fn) Call(ctx context.Context, c agent.ToolCall) (*agent.ToolResult, error) {
	return f.call(ctx, string(c.Args))
}
func (f *fn) CallEffects(c agent.ToolCall) agent.Effects {
	if f.effects == nil {
		return f.spec.Effects
	}
	return f.effects(string(c.Args))
}

func newTool(name string, e agent.Effects, call func(ctx context.Context, args string) (*agent.ToolResult, error)) *fn {
	return &fn{spec: agent.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Effects: e}, call: call}
}

func okTool(name string) *fn {
	return newTool(name, agent.ReadOnly("."), func(_ context.Context, args string) (*agent.ToolResult, error) {
		return agent.TextResult(name + args), nil
	})
}

// fileTool declares the effects of reading or writing the path in its arguments.
func fileTool(name string, write bool, call func(ctx context.Context, path string) (*agent.ToolResult, error)) *fn {
	path := func(args string) string {
		var in struct{ Path string }
		_ = json.Unmarshal([]byte(args), &in)
		return in.Path
	}
	bound := agent.ReadOnly(".")
	if write {
		bound = agent.Writing(".")
	}
	f := newTool(name, bound, func(ctx context.Context, args string) (*agent.ToolResult, error) { return call(ctx, path(args)) })
	f.effects = func(args string) agent.Effects {
		if write {
			return agent.Writing(path(args))
		}
		return agent.ReadOnly(path(args))
	}
	return f
}

func newAgent(t testing.TB, m agent.Model, tools ...agent.Tool) *agent.Agent {
	t.Helper()
	return configured(t, agent.Config{Model: m, Tools: tools})
}

// configured returns an agent whose retries take no time.
func configured(t testing.TB, cfg agent.Config) *agent.Agent {
	t.Helper()
	if cfg.Sleep == nil {
		cfg.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// run collects the result and the events of a run that must not fail.
func run(t testing.TB, a *agent.Agent, s *agent.Session, text string) (*agent.Result, []agent.Event) {
	t.Helper()
	res, evs, err := tryRun(a, s, text)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return res, evs
}

func tryRun(a *agent.Agent, s *agent.Session, text string) (*agent.Result, []agent.Event, error) {
	var res *agent.Result
	var evs []agent.Event
	var fail error
	for ev, err := range a.Run(context.Background(), s, agent.Text{Text: text}) {
		if err != nil {
			fail = err
			continue
		}
		evs = append(evs, ev)
		if d, ok := ev.(agent.Done); ok {
			res = d.Result
		}
	}
	return res, evs, fail
}

// results returns the tool results of the n-th tool message of a session.
func results(s *agent.Session, n int) []agent.ToolResult {
	for _, m := range s.Messages() {
		if m.Role != agent.RoleTool {
			continue
		}
		if n > 0 {
			n--
			continue
		}
		var out []agent.ToolResult
		for _, p := range m.Parts {
			out = append(out, p.(agent.ToolResult))
		}
		return out
	}
	return nil
}

func resultTexts(s *agent.Session, n int) []string {
	var out []string
	for _, r := range results(s, n) {
		out = append(out, r.Text())
	}
	return out
}

func hasEvent[E agent.Event](evs []agent.Event) bool {
	return slices.ContainsFunc(evs, func(ev agent.Event) bool { _, ok := ev.(E); return ok })
}

type agentSeq = iter.Seq2[agent.Chunk, error]

func seq(cs ...agent.Chunk) agentSeq {
	return func(yield func(agent.Chunk, error) bool) { chunks(cs...)(context.Background(), nil, yield) }
}
