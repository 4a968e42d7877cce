package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// replay is the simplest possible model: it yields prepared chunks, so that a benchmark measures
// only the loop.
type replay struct {
	turns [][]agent.Chunk
	next  int
}

func (m *replay) Stream(_ context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
	turn := m.turns[m.next%len(m.turns)]
	m.next++
	return func(yield func(agent.Chunk, error) bool) {
		for _, c := range turn {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// echo is a tool that does nothing, without allocating.
type echo struct {
	spec agent.ToolSpec
	res  agent.ToolResult
}

func newEcho(name string) *echo {
	return &echo{
		spec: agent.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`), Effects: agent.ReadOnly("a")},
		res:  agent.ToolResult{Parts: []agent.Part{agent.Text{Text: "ok"}}},
	}
}

func (e *echo) Spec() agent.ToolSpec { return e.spec }
func (e *echo) Call(context.Context, agent.ToolCall) (*agent.ToolResult, error) {
	return &e.res, nil
}

// callTurn returns a response with n tool calls, whose arguments arrive in several pieces.
func callTurn(step, n int) []agent.Chunk {
	cs := []agent.Chunk{agent.TextDelta{Text: "Let me "}, agent.TextDelta{Text: "look."}}
	for i := range n {
		cs = append(cs, agent.ToolCallStart{Index: i, ID: fmt.Sprintf("c%d_%d", step, i), Name: "echo"},
			agent.ToolCallDelta{Index: i, Args: `{"path":`}, agent.ToolCallDelta{Index: i, Args: fmt.Sprintf(`"f%d"}`, step)})
	}
	return append(cs, agent.Usage{Input: 100, Output: 10}, agent.Finish{Reason: agent.FinishTools})
}

func finalTurn() []agent.Chunk {
	return []agent.Chunk{agent.TextDelta{Text: "All "}, agent.TextDelta{Text: "done."},
		agent.Usage{Input: 100, Output: 10}, agent.Finish{Reason: agent.FinishStop}}
}

func benchRun(b *testing.B, steps, calls int) {
	m := &replay{}
	for i := range steps {
		m.turns = append(m.turns, callTurn(i, calls))
	}
	m.turns = append(m.turns, finalTurn())
	a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{newEcho("echo")}, Limits: agent.Limits{Steps: steps + 1}})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		m.next = 0
		res, err := a.Run(ctx, agent.NewSession(), agent.Text{Text: "go"}).Collect()
		if err != nil || res.Stop != agent.StopDone || res.Calls != steps*calls {
			b.Fatal(res, err)
		}
	}
}

// BenchmarkStep1 measures one step with one tool call, and the final answer.
func BenchmarkStep1(b *testing.B) { benchRun(b, 1, 1) }

// BenchmarkSteps20 measures twenty steps with one tool call each, and the final answer.
func BenchmarkSteps20(b *testing.B) { benchRun(b, 20, 1) }

// BenchmarkParallel8 measures one step with eight parallel tool calls, and the final answer.
func BenchmarkParallel8(b *testing.B) { benchRun(b, 1, 8) }

// BenchmarkEvents measures the delivery of one event, from the model through the loop to the
// consumer.
func BenchmarkEvents(b *testing.B) {
	const n = 10_000
	turn := make([]agent.Chunk, 0, n+1)
	var delta agent.Chunk = agent.TextDelta{Text: "tok "}
	for range n {
		turn = append(turn, delta)
	}
	turn = append(turn, agent.Finish{Reason: agent.FinishStop})
	m := &replay{turns: [][]agent.Chunk{turn}}
	a, err := agent.New(agent.Config{Model: m})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		for _, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"}) {
			if err != nil {
				b.Fatal(err)
			}
			events++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}

// BenchmarkSteps2000 shows that time and memory per step do not grow with the session.
func BenchmarkSteps2000(b *testing.B) { benchRun(b, 2000, 1) }
