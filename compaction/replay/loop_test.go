package replay

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/tools"
)

// TestLikeTheLoop sends a recorded run through the agent's own loop, with a model and a tool that
// answer from the record. It checks that each step sends the model the same request as the replay
// does.
//
// Evidence: compaction · A replay sends what the loop would send
func TestLikeTheLoop(t *testing.T) {
	r := steps(30, func(i int) (string, string) {
		return fmt.Sprintf(`{"command": "cat f%d.go"}`, i), strings.Repeat(fmt.Sprintf("line of file %d\n", i), 40*(1+i%5))
	})
	r.System = "You are careful."
	for _, p := range []Policy{Raw(), Truncate("cut", 300), DropOldest(0.5), MaskOnBudget(3)} {
		t.Run(p.Name, func(t *testing.T) {
			const budget = 4000
			want := play(t, r, p, Config{Budget: budget})
			got, compactions := loop(t, r, p, budget)
			if len(got) != len(want.Steps) {
				t.Fatalf("%d requests, want %d", len(got), len(want.Steps))
			}
			var input, wantInput, wantCompactions int
			for k, st := range want.Steps {
				if d := cmp.Diff(st.Usage, got[k]); d != "" && compactions == 0 {
					t.Fatalf("step %d (-replay +loop):\n%s", k+1, d)
				}
				input, wantInput = input+int(got[k].Input), wantInput+int(st.Usage.Input)
				if st.Compacted {
					wantCompactions++
				}
			}
			// The loop has a separate estimate of the tokens that the last answer added to the
			// prompt, and may compact one step later.
			if d := wantCompactions - compactions; d < 0 || 4*d > wantCompactions || math.Abs(float64(input-wantInput)) > 0.05*float64(wantInput) {
				t.Errorf("%d compactions and %d tokens of input, the replay has %d and %d", compactions, input, wantCompactions, wantInput)
			}
			if compacts := p.Name == "drop-oldest" || p.Name == "mask-3"; compacts != (compactions > 1) {
				t.Errorf("%d compactions", compactions)
			}
		})
	}
}

// loop sends the record through an agent. It returns the usage of each request, and the number of
// times the history was compacted.
func loop(t *testing.T, r *Run, p Policy, budget int) (used []agent.Usage, compactions int) {
	var answers []agent.Message
	texts := map[string]string{}
	for _, m := range r.Messages {
		if m.Role == agent.RoleAssistant {
			answers = append(answers, m)
		}
		for _, part := range m.Parts {
			if res, ok := part.(agent.ToolResult); ok {
				texts[res.CallID] = res.Text()
			}
		}
	}
	held := cache{}
	model := agent.ModelFunc(func(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
		m := answers[len(used)]
		u := held.call(req, Tokens([]agent.Message{m}))
		used = append(used, u)
		return answer(m, u)
	})
	type in struct {
		Command string `json:"command"`
	}
	sh, err := tools.New("sh", "runs", func(ctx context.Context, _ in) (string, error) {
		return texts[answers[len(used)-1].Calls()[0].ID], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := agent.Config{Model: model, System: r.System, Tools: []agent.Tool{sh}, ContextBudget: budget}
	if p.New != nil {
		parts, err := p.New(model)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Compactor = parts.Compactor
		if parts.Middleware != nil {
			cfg.Middleware = []agent.Middleware{parts.Middleware}
		}
	}
	a, err := agent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range a.Run(context.Background(), agent.NewSession(), r.Messages[0].Parts...) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.Compacted:
			compactions++
		case agent.Done:
			if ev.Result.Stop != agent.StopDone {
				t.Fatal(ev.Result)
			}
		}
	}
	return used, compactions
}

func answer(m agent.Message, u agent.Usage) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		reason := agent.FinishStop
		for i, part := range m.Parts {
			ok := true
			switch part := part.(type) {
			case agent.Text:
				ok = yield(agent.TextDelta{Text: part.Text}, nil)
			case agent.ToolCall:
				reason = agent.FinishTools
				ok = yield(agent.ToolCallStart{Index: i, ID: part.ID, Name: part.Name}, nil) && yield(agent.ToolCallDelta{Index: i, Args: string(part.Args)}, nil)
			}
			if !ok {
				return
			}
		}
		_ = yield(u, nil) && yield(agent.Finish{Reason: reason}, nil)
	}
}
