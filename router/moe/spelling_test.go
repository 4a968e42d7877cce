package moe_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/router/moe"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

func tool(name, properties, required string) agent.ToolSpec {
	return agent.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + required + `,"additionalProperties":false}`)}
}

// TestForcedTextIsSpelledAsLearnt walks the answers that the embedded model learns through the grammar of its tools: each
// of their tokens is allowed, and what the grammar forces is spelled as in training, so that the model never has to go on
// from a text that it has not met.
func TestForcedTextIsSpelledAsLearnt(t *testing.T) {
	m, err := embedded.Load(moe.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	req := ask("x")
	req.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeRequired}
	req.Extra = extra("parallel_tool_calls", "false")
	req.Tools = []agent.ToolSpec{
		tool(repair.ToolRun, `{}`, `[]`),
		tool(repair.ToolRead, `{"number":{"type":"integer","minimum":1,"maximum":12}}`, `["number"]`),
		tool(repair.ToolEdit, `{"line":{"type":"integer","minimum":1,"maximum":99},"text":{"type":"string","pattern":"^[^\\n]*$"}}`, `["line","text"]`),
	}
	c, err := moe.Constraint(m, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []string{
		repair.AnswerRun(), repair.AnswerRead(1), repair.AnswerRead(12), repair.AnswerEdit(3, "s = s[:len(s)-1]"), repair.AnswerEdit(42, "}"),
		repair.AnswerEdit(7, `fmt.Println("<a>", x < y, x > y, '\n')`), repair.AnswerEdit(1, "func (r *Reader) read() {"), repair.AnswerEdit(9, "// comment"),
		repair.AnswerEdit(99, `return a["é世界"] </ b`),
	} {
		tokens := m.Tokenize(answer, true)
		var decided []int32
		state, forced := c.Start(), 0
		for i := 0; i < len(tokens); {
			if run := c.Forced(state, nil); len(run) > 0 {
				if !slices.Equal(run, tokens[i:min(len(tokens), i+len(run))]) {
					t.Errorf("%q: after token %d %q is forced, learnt was %q", answer, i, pieces(m, run), pieces(m, tokens[i:]))
					break
				}
				forced += len(run)
				for _, id := range run {
					state, _ = c.Next(state, id)
				}
				i += len(run)
				continue
			}
			next, ok := c.Next(state, tokens[i])
			if !ok {
				t.Errorf("%q: token %d %q is refused", answer, i, m.Detokenize(tokens[i:i+1]))
				break
			}
			decided = append(decided, tokens[i])
			state, i = next, i+1
		}
		t.Logf("%q: %d tokens, %d forced, decided %q", answer, len(tokens), forced, pieces(m, decided))
	}
}

func pieces(m *moe.Model, tokens []int32) (out []string) {
	for _, id := range tokens {
		out = append(out, m.Detokenize([]int32{id}))
	}
	return out
}
