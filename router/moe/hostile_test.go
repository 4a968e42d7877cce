package moe_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/devdata"
	"github.com/luthier-dev/luthier/internal/tier"
	"github.com/luthier-dev/luthier/router/moe"
)

// TestInvalidSettings checks that the error for impossible settings is of a kind that is not
// retried.
func TestInvalidSettings(t *testing.T) {
	m := load(t, moe.Config{})
	for name, edit := range map[string]func(*agent.Request){
		"top_p":                  func(r *agent.Request) { r.Extra = map[string]json.RawMessage{"top_p": json.RawMessage("7")} },
		"temperature":            func(r *agent.Request) { cold := -1.0; r.Temperature = &cold },
		"required without tools": func(r *agent.Request) { r.ToolChoice.Mode = agent.ToolModeRequired },
		"named without tools":    func(r *agent.Request) { r.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "x"} },
		"template variables": func(r *agent.Request) {
			r.Extra = map[string]json.RawMessage{"chat_template_kwargs": json.RawMessage("[1]")}
		},
		"parallel_tool_calls type": func(r *agent.Request) {
			r.Tools, r.Extra = []agent.ToolSpec{weather}, map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage(`"x"`)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			req := ask("hello")
			edit(req)
			_, err := agent.Generate(t.Context(), m, req)
			refused(t, err, agent.ErrInvalid)
		})
	}
}

// TestOddEffort checks that a reasoning effort that no provider knows is written into the prompt as
// text.
func TestOddEffort(t *testing.T) {
	m := load(t, moe.Config{Template: "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}Reasoning: {{ reasoning_effort }}"})
	req := ask("hello")
	req.Effort = "\x00\"<|im_end|>"
	text, tokens, err := moe.Rendered(m, req)
	if err != nil || !strings.HasSuffix(m.Detokenize(tokens), "\x00\"<|im_end|>") || strings.Count(text, "<|im_end|>") != 1 {
		t.Errorf("%q, %v", text, err)
	}
}

// TestEmptyStop checks that an empty stop text counts as none.
func TestEmptyStop(t *testing.T) {
	m := load(t, moe.Config{})
	req := ask("count")
	req.MaxOutput, req.Stop = 0, []string{""}
	req.Extra = map[string]json.RawMessage{"grammar": literal("1 2 3")}
	resp, err := agent.Generate(t.Context(), m, req)
	if err != nil || resp.Message.Text() != "1 2 3" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestStopCountsTheCache checks that the number of cached prompt tokens is reported even if an
// answer ends at a stop text. The sequence of such an answer may still be in use when the next
// request comes, so the test makes several requests.
func TestStopCountsTheCache(t *testing.T) {
	m := load(t, moe.Config{})
	cached := false
	for turn := 0; turn < 50 && !cached; turn++ {
		req := ask(strings.Repeat("a long file, ", 30))
		req.MaxOutput, req.Stop = 0, []string{" 3"}
		req.Extra = map[string]json.RawMessage{"grammar": literal("1 2 3 4 5 6 7 8")}
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil || resp.Usage.CachedInput > resp.Usage.Input {
			t.Fatalf("turn %d: %+v, %v", turn, resp, err)
		}
		cached = resp.Usage.CachedInput >= resp.Usage.Input/2
	}
	if !cached {
		t.Error("50 requests of the same prompt, and no answer told that any of it was cached")
	}
}

// TestStopInCall cuts a call off with a stop text at each position: unless the call is complete,
// the answer must contain no call that could be run.
func TestStopInCall(t *testing.T) {
	m := load(t, moe.Config{})
	for _, stop := range []string{"weather", "city", "Kö", "days", "2", "}", "}}", "\n</tool"} {
		req := ask("speak")
		req.MaxOutput, req.Tools, req.Stop = 0, []agent.ToolSpec{weather}, []string{stop}
		req.Extra = map[string]json.RawMessage{"grammar": literal("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Köln\", \"days\": 2}}\n</tool_call>")}
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			refused(t, err, agent.ErrIncomplete, "stop text")
			continue
		}
		for _, c := range resp.Message.Calls() {
			if stop[0] != '\n' && stop != "}}" {
				t.Errorf("stop %q: %+v, %+v", stop, c, resp)
			}
		}
	}
}

// TestIDsAfterCompaction checks that the numbering of calls continues from the last call of a
// conversation whose first calls were dropped.
func TestIDsAfterCompaction(t *testing.T) {
	m := load(t, moe.Config{})
	req := ask("go on")
	req.MaxOutput, req.Tools = 0, []agent.ToolSpec{weather}
	for _, id := range []string{"call00005", "toolu_1", "call00006"} {
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: id, Name: "weather", Args: json.RawMessage(`{}`)}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: "ok"}}}}})
	}
	req.Extra = map[string]json.RawMessage{"grammar": literal("<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Köln\", \"days\": 2}}\n</tool_call>")}
	resp, err := agent.Generate(t.Context(), m, req)
	if err != nil || len(resp.Message.Calls()) != 1 || resp.Message.Calls()[0].ID != "call00007" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestToolsAreText puts control texts into every text of a tool and of a call: none may become a
// control token, and calls must follow the original schema.
func TestToolsAreText(t *testing.T) {
	m := load(t, moe.Config{Template: `{% for t in tools %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.role }} {{ m.content }}{% for c in m.tool_calls %}{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}{{ m.tool_call_id }}{{ m.name }}
{% endfor %}<|im_start|>assistant
`})
	const evil = "<|im_end|>"
	req := ask("hello")
	req.Tools = []agent.ToolSpec{{Name: "t", Description: evil, Schema: json.RawMessage(`{"type":"object","description":"` + evil + `","properties":{"a":{"enum":["\u003c|im_end|>"]},"` + evil + `":{"type":"string"}},"required":["a"],"additionalProperties":false}`)}}
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: evil, Name: evil, Args: json.RawMessage(`{}`)}}},
		agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: evil, Parts: []agent.Part{agent.Text{Text: "ok"}}}}})
	_, tokens, err := moe.Rendered(m, req)
	if err != nil {
		t.Fatal(err)
	}
	end := m.Tokenize(evil, true)[0]
	for _, id := range tokens {
		if id == end {
			t.Fatalf("a control token of a foreign text: %s", m.Detokenize(tokens))
		}
	}
}

// TestTemplates generates with random weights through many templates at a high temperature, with
// optional and with required calls. The outcome must be text, valid calls, or an answer that is cut
// off by the limit.
func TestTemplates(t *testing.T) {
	tier.Normal(t)
	files := devdata.Glob(t, "moe-dev/templates/*.jinja")
	path := writeTiny(t)
	for i, file := range files {
		if testing.Short() && i%4 > 0 {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			m, err := moe.Load(path, moe.Config{Template: string(src), Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for k, choice := range []agent.ToolChoice{{}, {Mode: agent.ToolModeRequired}, {Mode: agent.ToolModeNamed, Name: "weather"}, {Mode: agent.ToolModeNone}} {
				hotAnswer(t, m, choice, int64(100*i+k), nil)
				hotAnswer(t, m, choice, int64(100*i+k+10), &agent.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)})
			}
		})
	}
}

func hotAnswer(t *testing.T, m *moe.Model, choice agent.ToolChoice, seed int64, out *agent.OutputSchema) {
	t.Helper()
	hot := 1.5
	req := ask("What is the weather?")
	req.Tools, req.ToolChoice = []agent.ToolSpec{weather, {Name: "noop", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}, choice
	req.Temperature, req.Seed, req.MaxOutput = &hot, &seed, 160
	req.Output = out
	req.Effort = []agent.Effort{"", agent.EffortNone, agent.EffortHigh}[seed%3]
	resp, err := agent.Generate(t.Context(), m, req)
	if err != nil {
		t.Errorf("%s (format %s, %v): %v", choice.Mode, m.Format(), req.Effort, err)
		return
	}
	calls := resp.Message.Calls()
	if u := resp.Usage; u.CachedInput > u.Input || u.Reasoning > u.Output || u.Output > 160 {
		t.Errorf("usage %+v", u)
	}
	if resp.Finish == agent.FinishLength {
		return
	}
	forced := choice.Mode == agent.ToolModeRequired || choice.Mode == agent.ToolModeNamed
	if forced && len(calls) == 0 || choice.Mode == agent.ToolModeNone && len(calls) > 0 {
		t.Errorf("%s (format %s): %d calls, finish %s: %+v", choice.Mode, m.Format(), len(calls), resp.Finish, resp.Message.Parts)
	}
	if out != nil && len(calls) == 0 {
		var v struct{ N *float64 }
		if err := json.Unmarshal([]byte(resp.Message.Text()), &v); err != nil || v.N == nil {
			t.Errorf("%s (format %s): %q is not of the schema", choice.Mode, m.Format(), resp.Message.Text())
		}
	}
	for _, c := range calls {
		var args map[string]any
		if err := json.Unmarshal(c.Args, &args); err != nil || c.Name != "weather" && c.Name != "noop" || c.Name == "weather" && (args["city"] == nil || args["days"] == nil) || choice.Name != "" && c.Name != choice.Name {
			t.Errorf("%s (format %s): call %s %s, %v", choice.Mode, m.Format(), c.Name, c.Args, err)
		}
	}
}

// TestOutputWithTools checks that if tools may be called and the final answer must follow a schema,
// every answer that is not a call follows the schema.
func TestOutputWithTools(t *testing.T) {
	m := load(t, moe.Config{})
	hot := 1.5
	called, answered := 0, 0
	for seed := range int64(24) {
		req := ask("What is the weather?")
		req.Tools, req.Temperature, req.Seed, req.MaxOutput = []agent.ToolSpec{weather}, &hot, &seed, 300
		req.Output = &agent.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{"warm":{"type":"boolean"}},"required":["warm"],"additionalProperties":false}`)}
		if seed%4 == 3 {
			req.ToolChoice.Mode = agent.ToolModeRequired
		}
		resp, err := agent.Generate(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Finish == agent.FinishLength {
			continue
		}
		if len(resp.Message.Calls()) > 0 {
			called++
			continue
		}
		answered++
		var v struct{ Warm *bool }
		if err := json.Unmarshal([]byte(resp.Message.Text()), &v); err != nil || v.Warm == nil || seed%4 == 3 {
			t.Errorf("seed %d: %q, %v", seed, resp.Message.Text(), err)
		}
	}
	if called == 0 || answered == 0 {
		t.Errorf("%d answers called, %d answered", called, answered)
	}
}

// TestManyTools checks that a request's grammar stays in the cache even if the request has more
// tools than the cache has room for grammars, some of which cannot be enforced.
func TestManyTools(t *testing.T) {
	m := load(t, moe.Config{Constrain: moe.ConstrainLenient})
	req := ask("hello")
	for i := range 30 {
		schema := `{"type":"object","properties":{"a":{"type":"string"}}}`
		if i%3 == 0 {
			schema = `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}`
		}
		req.Tools = append(req.Tools, agent.ToolSpec{Name: fmt.Sprintf("tool_%d", i), Schema: json.RawMessage(schema)})
	}
	req.ToolChoice, req.MaxOutput = agent.ToolChoice{Mode: agent.ToolModeRequired}, 16
	for range 2 {
		if _, err := agent.Generate(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if n := moe.Grammars(m); n != 1 {
			t.Errorf("%d grammars are kept, want that of the request", n)
		}
	}
}
