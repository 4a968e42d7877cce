package tools

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
)

// TestRegistryInAnAgent runs an agent whose tools come from a registry: the model's malformed call
// is repaired, its truncated one is answered without running, and a tool added by another tool is
// offered in the next step.
func TestRegistryInAnAgent(t *testing.T) {
	var ran []string
	r, err := NewRegistry(mustNew(t, "note", func(_ context.Context, in textIn) (string, error) {
		ran = append(ran, in.Text)
		return "noted", nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(mustNew(t, "grow", func(context.Context, struct{}) (string, error) { return "grown", r.Add(named(t, "late")) })); err != nil {
		t.Fatal(err)
	}
	step := 0
	script := [][]string{{"note", `{'text': 'a',}`, "note", `{"text":"cut`, "grow", ``}, {"late", `{"text":"x"}`}}
	var results []string
	model := agent.ModelFunc(func(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
		return func(yield func(agent.Chunk, error) bool) {
			for _, p := range req.Messages[len(req.Messages)-1].Parts {
				if res, ok := p.(agent.ToolResult); ok {
					results = append(results, res.Text())
				}
			}
			if step == len(script) {
				_ = yield(agent.TextDelta{Text: "done"}, nil) && yield(agent.Finish{Reason: agent.FinishStop}, nil)
				return
			}
			calls := script[step]
			step++
			for i := 0; i < len(calls); i += 2 {
				if !yield(agent.ToolCallStart{Index: i / 2, ID: calls[i] + string(rune('0'+i)), Name: calls[i]}, nil) || !yield(agent.ToolCallDelta{Index: i / 2, Args: calls[i+1]}, nil) {
					return
				}
			}
			yield(agent.Finish{Reason: agent.FinishTools}, nil)
		}
	})
	a, err := agent.New(agent.Config{Model: model, ToolSource: r})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect()
	if err != nil || res.Text() != "done" {
		t.Fatalf("%+v %v", res, err)
	}
	if len(ran) != 1 || ran[0] != "a" {
		t.Errorf("ran on %q", ran)
	}
	if len(results) != 4 || !strings.HasPrefix(results[0], "noted\n[Your arguments were repaired") || results[2] != "grown" || results[3] != "late:x" {
		t.Errorf("%q", results)
	}
	t.Log(results[1])
}
