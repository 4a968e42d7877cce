package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// A policy of the host's own decides before the standard rules do.
func ExamplePolicyFunc() {
	rules := agent.StandardRules(agent.AutonomyEdit)
	policy := agent.PolicyFunc(func(ctx context.Context, req *agent.PermissionRequest) agent.Verdict {
		for _, path := range req.Effects.Writes {
			if strings.HasPrefix(path, "migrations/") {
				return agent.Verdict{Decision: agent.Deny, Rule: "migrations", Reason: "a person writes migrations"}
			}
		}
		return rules.Decide(ctx, req)
	})
	for _, path := range []string{"main.go", "migrations/0007.sql"} {
		v := policy.Decide(context.Background(), &agent.PermissionRequest{
			Call:    agent.ToolCall{Name: "write"},
			Spec:    agent.ToolSpec{Name: "write", Effects: agent.Effects{Known: true, Writes: []string{"."}}},
			Effects: agent.Effects{Known: true, Writes: []string{path}},
		})
		fmt.Printf("%s: %s %q\n", path, v.Decision, v.Reason)
	}
	// Output:
	// main.go: allow ""
	// migrations/0007.sql: deny "a person writes migrations"
}

// parrot is a model of the host's own: it repeats the user's words.
type parrot struct{}

func (parrot) Stream(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		if len(last.Parts) == 0 {
			yield(nil, errors.New("parrot: nothing was said"))
			return
		}
		text, _ := last.Parts[0].(agent.Text)
		for word := range strings.SplitAfterSeq(text.Text, " ") {
			if !yield(agent.TextDelta{Text: word}, nil) {
				return
			}
		}
		if yield(agent.Usage{Input: 3, Output: 3}, nil) {
			yield(agent.Finish{Reason: agent.FinishStop}, nil)
		}
	}
}

// A model is one method that streams chunks.
func ExampleModel() {
	a, err := agent.New(agent.Config{Model: parrot{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "pieces of eight"}).Collect()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text(), res.Usage.Output)
	// Output: pieces of eight 3
}

// newest is a compactor of the host's own: it keeps the newest exchange.
type newest struct{}

func (newest) Compact(_ context.Context, msgs []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
	for i := len(msgs) - 1; i > 0; i-- {
		if msgs[i].Role == agent.RoleUser && len(msgs[i].Calls()) == 0 {
			return msgs[i:], agent.CompactionReport{Pruned: i}, nil
		}
	}
	return msgs, agent.CompactionReport{}, nil
}

// A compactor shortens the history that a model is sent when it is over its budget. The session
// keeps everything.
func ExampleCompactor() {
	model := agenttest.Script(agenttest.Text(strings.Repeat("a long answer ", 500)), agenttest.Text("short"))
	a, err := agent.New(agent.Config{Model: model, Compactor: newest{}, ContextBudget: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := agent.NewSession()
	for _, text := range []string{"first", "second"} {
		if _, err := a.Run(context.Background(), s, agent.Text{Text: text}).Collect(); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(len(model.Requests()[1].Messages), "of 3 messages is sent")
	// Output: 1 of 3 messages is sent
}
