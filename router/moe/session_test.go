package moe_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/moe"
)

// TestSessionPrefill runs an agent's session of 20 turns with calls, results and answers: no more
// than 2 % of its tokens may be computed twice.
//
// Evidence: engine · A session computes its prefix once
func TestSessionPrefill(t *testing.T) {
	m := load(t, moe.Config{Context: 4096})
	req := &agent.Request{System: "You are a careful agent.", SessionID: "s", Tools: []agent.ToolSpec{weather}}
	req.Messages = []agent.Message{agent.UserText("Look at " + strings.Repeat("the file, ", 20))}
	var asked, cached, once int64
	for turn := range 20 {
		raw := fmt.Sprintf("I look at %d.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"c%d\", \"days\": 3}}\n</tool_call>", turn, turn)
		req.Extra = map[string]json.RawMessage{"grammar": literal(raw)}
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		asked, cached = asked+resp.Usage.Input, cached+resp.Usage.CachedInput
		once = resp.Usage.Input + resp.Usage.Output
		call := resp.Message.Calls()[0]
		if want := fmt.Sprintf("call%05d", turn); call.ID != want {
			t.Errorf("turn %d: the call's id is %q, want %q", turn, call.ID, want)
		}
		req.Messages = append(req.Messages, resp.Message, agent.Message{Role: agent.RoleTool,
			Parts: []agent.Part{agent.ToolResult{CallID: call.ID, Parts: []agent.Part{agent.Text{Text: strings.Repeat(fmt.Sprintf("line of result %d\n", turn), 6)}}}}})
	}
	// Every token of the last prompt and answer was computed at least once, either generated or
	// prefilled. All further prefilled tokens are waste.
	generated := int64(0)
	m.EachMetric(func(name, _ string, _ bool, labels map[string]string, v float64) {
		if name == "luthier_engine_tokens_total" && labels["kind"] == "generated" {
			generated = int64(v)
		}
	})
	twice := asked - cached - (once - generated)
	t.Logf("%d tokens of prompts, %d from the cache; the last turn ends at %d, %d generated; computed twice: %d (%.2f %%)", asked, cached, once, generated, twice, 100*float64(twice)/float64(asked))
	if twice*50 > asked {
		t.Errorf("%d of %d tokens were computed twice", twice, asked)
	}
}

// TestWarm checks that a prompt that was computed beforehand is found in the cache when it is
// answered.
//
// Evidence: engine · A session computes its prefix once
func TestWarm(t *testing.T) {
	m := load(t, moe.Config{})
	req := ask(strings.Repeat("a long file, ", 60))
	if err := m.Warm(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	resp, err := agent.Generate(t.Context(), m, req)
	if err != nil || resp.Usage.CachedInput < resp.Usage.Input-40 {
		t.Errorf("usage %+v, %v", resp.Usage, err)
	}
}

// TestTokens checks that the reported token ids make up the text and that their probabilities are
// ordered.
func TestTokens(t *testing.T) {
	m := load(t, moe.Config{})
	var ids []int32
	ctx := agent.WithTokenTrace(t.Context(), &agent.TokenTrace{Top: 3, Token: func(tok agent.Token) {
		ids = append(ids, tok.ID)
		if tok.LogProb > 0 || len(tok.Top) != 3 || tok.Top[0].LogProb < tok.Top[2].LogProb || tok.Top[0].ID != tok.ID {
			t.Errorf("token %+v", tok)
		}
	}})
	resp, err := agent.Generate(ctx, m, ask("hello"))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(ids)) != resp.Usage.Output {
		t.Errorf("%d tokens told, %d counted", len(ids), resp.Usage.Output)
	}
	rows, err := m.Logits(t.Context(), ids)
	if err != nil || len(rows) != len(ids) || len(rows[0]) < 300 {
		t.Errorf("logits: %d rows, %v", len(rows), err)
	}
}
