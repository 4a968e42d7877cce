package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// adder is a tool written by hand; package tools can create one from a function.
type adder struct{}

func (adder) Spec() agent.ToolSpec {
	return agent.ToolSpec{
		Name:        "add",
		Description: "Adds two numbers.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		Effects:     agent.ReadOnly(), // touches nothing: calls may run in parallel
	}
}

func (adder) Call(_ context.Context, call agent.ToolCall) (*agent.ToolResult, error) {
	var in struct{ A, B float64 }
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, fmt.Errorf("the arguments must be two numbers a and b: %w", err)
	}
	return agent.TextResult(fmt.Sprint(in.A + in.B)), nil
}

func Example() {
	model := agenttest.Script(
		agenttest.Call("1", "add", `{"a":2,"b":3}`),
		agenttest.Text("It is 5."),
	)
	a, err := agent.New(agent.Config{Model: model, Tools: []agent.Tool{adder{}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "What is 2 + 3?"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case agent.TextDelta:
			fmt.Println(ev.Text)
		case agent.CallDone:
			fmt.Printf("%s%s = %s\n", ev.Call.Name, ev.Call.Args, ev.Result.Text())
		case agent.Done:
			fmt.Println(ev.Result.Stop, "after", ev.Result.Steps, "steps")
		}
	}
	// Output:
	// add{"a":2,"b":3} = 5
	// It is 5.
	// done after 2 steps
}

// A policy decides on every call before it runs; Explain returns what it would decide.
func ExampleAgent_Explain() {
	a, err := agent.New(agent.Config{
		Model:  agenttest.Script(),
		Tools:  []agent.Tool{adder{}},
		Policy: agent.StandardRules(agent.AutonomyReadOnly),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Explain(context.Background(), nil, agent.ToolCall{Name: "add", Args: []byte(`{"a":1,"b":2}`)}))
	fmt.Println(a.Explain(context.Background(), nil, agent.ToolCall{Name: "rm"}))
	// Output:
	// add: allow (read-only)
	// effects: none
	// rm: deny (unknown tool): there is no tool named "rm"
	// effects: unknown
}

// Middleware is one function type for hooks before and after the model and the tools.
func ExampleMiddleware() {
	audit := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if op.IsModel() {
				fmt.Println("model: step", op.Step, "attempt", op.Attempt)
			}
			err := next(ctx, op)
			if op.Call != nil && !op.Partial {
				fmt.Println("tool:", op.Call.Name, op.Result.Text())
			}
			return err
		}
	}
	model := agenttest.Script(
		agenttest.Call("1", "add", `{"a":1,"b":1}`),
		agenttest.Text("The sum is 2."),
	)
	a, err := agent.New(agent.Config{Model: model, Tools: []agent.Tool{adder{}}, Middleware: []agent.Middleware{audit}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "add"}).Collect(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// model: step 1 attempt 1
	// tool: add 2
	// model: step 2 attempt 1
}

// Events leave the process as JSON and come back equal.
func ExampleMarshalEvent() {
	failed := agent.RetryWait{Attempt: 1, Delay: 1500 * time.Millisecond, Err: &agent.ModelError{Kind: agent.ErrRateLimit, Err: errors.New("slow down")}}
	data, err := agent.MarshalEvent(failed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", data)
	ev, err := agent.UnmarshalEvent(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	wait := ev.(agent.RetryWait)
	fmt.Println(wait.Delay, wait.Err, errors.Is(wait.Err, agent.ErrRateLimit))
	// Output:
	// {"type":"retry_wait","attempt":1,"delay":"1.5s","err":{"text":"model: rate_limit: slow down","kind":"rate_limit","model":{},"causes":[{"text":"slow down"}]}}
	// 1.5s model: rate_limit: slow down true
}
