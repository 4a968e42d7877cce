package replay

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/devdata"
)

func text(s string) agent.Text { return agent.Text{Text: s} }

func call(id, name, args string) agent.ToolCall {
	return agent.ToolCall{ID: id, Name: name, Args: []byte(args)}
}

func results(pairs ...string) agent.Message {
	m := agent.Message{Role: agent.RoleTool}
	for i := 0; i < len(pairs); i += 2 {
		m.Parts = append(m.Parts, agent.ToolResult{CallID: pairs[i], Parts: []agent.Part{text(pairs[i+1])}})
	}
	return m
}

func says(parts ...agent.Part) agent.Message {
	return agent.Message{Role: agent.RoleAssistant, Parts: parts}
}

func TestRead(t *testing.T) {
	const none = "(no result was recorded)"
	for _, c := range []struct {
		name, in string
		system   string
		want     []agent.Message
	}{
		{"object, calls without function", `{"id": "x", "messages": [
			{"role": "system", "content": "be brief"},
			{"role": "user", "content": "go"},
			{"role": "assistant", "content": "look", "tool_calls": [{"id": "a", "name": "bash", "arguments": {"command": "ls"}}]},
			{"role": "tool", "tool_call_id": "a", "name": "bash", "content": "main.go"},
			{"role": "assistant", "content": "done"}]}`,
			"be brief", []agent.Message{agent.UserText("go"), says(text("look"), call("call_1", "bash", `{"command": "ls"}`)), results("call_1", "main.go"), says(text("done"))}},
		{"array, as chat completions have it", `[{"role": "user", "content": [{"type": "text", "text": "g"}, {"type": "text", "text": "o"}]},
			{"role": "assistant", "content": null, "tool_calls": [{"id": "b", "type": "function", "function": {"name": "sh", "arguments": "{\"c\": 1}"}}]},
			{"role": "tool", "tool_call_id": "b", "content": "ok"}]`,
			"", []agent.Message{agent.UserText("go"), says(call("call_1", "sh", `{"c": 1}`)), results("call_1", "ok")}},
		{"results out of order, one missing", `[{"role": "assistant", "tool_calls": [{"id": "a", "name": "x"}, {"id": "b", "name": "y"}, {"id": "c", "name": "z"}]},
			{"role": "tool", "tool_call_id": "c", "content": "3"}, {"role": "tool", "tool_call_id": "a", "content": "1"}, {"role": "user", "content": "on"}]`,
			"", []agent.Message{says(call("call_1", "x", "{}"), call("call_2", "y", "{}"), call("call_3", "z", "{}")),
				results("call_1", "1", "call_2", none, "call_3", "3"), agent.UserText("on")}},
		{"ids used twice, more results than calls", `[{"role": "assistant", "tool_calls": [{"id": "a", "name": "x"}, {"id": "a", "name": "y"}]},
			{"role": "tool", "tool_call_id": "a", "content": "1"}, {"role": "tool", "tool_call_id": "a", "content": "2"}, {"role": "tool", "content": "3"}]`,
			"", []agent.Message{says(call("call_1", "x", "{}"), call("call_2", "y", "{}")), results("call_1", "1", "call_2", "2"), agent.UserText("3")}},
		{"last call has no result", `[{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [{"name": "submit"}]}]`,
			"", []agent.Message{agent.UserText("go"), says(call("call_1", "submit", "{}"))}},
		{"actions in text", "[{\"role\": \"user\", \"content\": \"go\"},\n" +
			`{"role": "assistant", "content": "THOUGHT: look\n\n` + "```bash\\nls -la\\n```" + `"}, {"role": "user", "content": "main.go"}, {"role": "assistant", "content": "done"}]`,
			"", []agent.Message{agent.UserText("go"), says(text("THOUGHT: look"), call("call_1", "shell", `{"command":"ls -la"}`)), results("call_1", "main.go"), says(text("done"))}},
		{"code in text beside real calls is no action", "[{\"role\": \"assistant\", \"content\": \"```sh\\nls\\n```\"}, {\"role\": \"user\", \"content\": \"no\"}," +
			`{"role": "assistant", "tool_calls": [{"name": "x"}]}, {"role": "tool", "content": "1"}]`,
			"", []agent.Message{says(text("```sh\nls\n```")), agent.UserText("no"), says(call("call_1", "x", "{}")), results("call_1", "1")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, err := Read("r", strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&Run{Name: "r", System: c.system, Messages: c.want}, run); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "unexpected end of JSON",
		"{}":                   "no messages",
		"[]":                   "no messages",
		`[{"role": "robot"}]`:  `message 0 has the unknown role "robot"`,
		`{"messages": "none"}`: "cannot unmarshal",
		`{"type":"session","meta":{"id":"s"}}` + "\n":                                                                    "no messages",
		`{"type":"session","meta":{"id":"s"}}` + "\n" + `{"type":"message","message":{"role":"tool","parts":[]}}` + "\n": "check pairing",
	} {
		if _, err := Read("r", strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read(%q): %v, want an error with %q", in, err, want)
		}
	}
}

// TestReadSession reads the log of a session that was compacted in the middle and that ends with
// half a line.
func TestReadSession(t *testing.T) {
	const log = `{"type":"session","meta":{"id":"s","created":"2025-01-01T00:00:00Z"}}
{"type":"message","message":{"role":"user","parts":[{"type":"text","text":"go"}]}}
{"type":"message","message":{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"sh","args":{}},{"type":"tool_call","id":"b","name":"sh","args":{}}]}}
{"type":"call","call":{"id":"a","name":"sh","args":{}}}
{"type":"result","result":{"call_id":"b","parts":[{"type":"text","text":"2"}]}}
{"type":"result","result":{"call_id":"a","parts":[{"type":"text","text":"1"}]}}
{"type":"results","calls":["a","b"]}
{"type":"compaction","messages":[{"role":"user","parts":[{"type":"text","text":"short"}]}]}
{"type":"message","message":{"role":"assistant","parts":[{"type":"text","text":"done"}]}}
{"type":"mess`
	run, err := Read("s", strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.Message{agent.UserText("go"), says(call("a", "sh", "{}"), call("b", "sh", "{}")), results("a", "1", "b", "2"), says(text("done"))}
	if d := cmp.Diff(want, run.Messages); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestReadRecorded reads every available recorded run.
func TestReadRecorded(t *testing.T) {
	files := devdata.Glob(t, "compaction-dev/trajectories/*.json")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		run, err := Read(filepath.Base(name), bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for _, m := range run.Messages {
			calls += len(m.Calls())
		}
		if calls < 10 || run.System == "" || run.Tokens() < 5000 {
			t.Errorf("%s: %d calls, %d bytes of system prompt, %d tokens", run.Name, calls, len(run.System), run.Tokens())
		}
	}
}

// FuzzRead reads arbitrary data: any run that it returns is paired, can be replayed and costs the
// same each time.
//
// Evidence: compaction · A policy is measured on replayed runs
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [{"id": "a", "name": "x", "arguments": {"p": "a/b.go", "n": 12}}]}, {"role": "tool", "tool_call_id": "a", "content": "a/b.go:12: x"}, {"role": "assistant", "content": "a"}]}`))
	f.Add([]byte("[{\"role\": \"assistant\", \"content\": \"```\\nls\\n```\"}, {\"role\": \"user\", \"content\": \"x\"}]"))
	f.Add([]byte(`{"type":"session","meta":{"id":"s"}}` + "\n" + `{"type":"message","message":{"role":"assistant","parts":[{"type":"tool_call","id":"a","name":"sh","args":{}}]}}` + "\n" +
		`{"type":"result","result":{"call_id":"a","parts":[{"type":"text","text":"2"}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := Read("f", bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := agent.CheckPairing(run.Messages); err != nil {
			t.Fatal(err)
		}
		for _, p := range Baselines() {
			a, err := Replay(context.Background(), run, p, Config{Budget: 50})
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Notes) > 0 {
				t.Fatalf("%s: %v", p.Name, a.Notes)
			}
			b, _ := Replay(context.Background(), run, p, Config{Budget: 50})
			if d := cmp.Diff(a, b); d != "" {
				t.Fatal(d)
			}
			if s := Compare(a, b); s.Cost != 1 {
				t.Fatalf("cost %g of itself", s.Cost)
			}
		}
	})
}
