package harness_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/harness"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
)

// reader is a model that always prefers reading, but has nothing left to read once it has read the
// only function.
type reader struct{ script }

func (r *reader) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	trace := agent.ContextTokenTrace(ctx)
	weigh := req.Extra["beam"] == nil
	exhausted := req.ToolChoice.Name == repair.ToolRead && strings.Contains(string(req.Extra["avoid_calls"]), `{"number":1}`)
	return func(yield func(agent.Chunk, error) bool) {
		switch {
		case weigh:
			trace.Token(agent.Token{Text: repair.ToolRead, LogProb: -0.1, Top: []agent.TokenAlternative{{Text: repair.ToolEdit, LogProb: -3}}})
		case exhausted:
			yield(nil, &agent.ModelError{Kind: agent.ErrInvalid, Err: moe.ErrAvoided})
		default:
			trace.Token(agent.Token{Text: "x", LogProb: -0.5})
			r.script.Stream(ctx, req)(yield)
		}
	}
}

// TestEditsWhenAllIsRead checks that a model that prefers reading still edits when there is no
// function left to read.
func TestEditsWhenAllIsRead(t *testing.T) {
	right := "if i == 0 || x > m {"
	model := &reader{script{decisions: []string{"run_tests {}", "read_function {\"number\":1}", editLine(4, right), "run_tests {}", "Fixed."}}}
	res, err := harness.Run(context.Background(), harness.Config{Model: model, Case: onPaper{right}})
	if err != nil || res.Fixed == nil {
		t.Errorf("%+v, %v", res, err)
	}
}
