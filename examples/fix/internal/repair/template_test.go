package repair_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/examples/fix/internal/repair"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
)

// tools are the three tools as offered by an agent.
var tools = []toolformat.Tool{
	{Name: repair.ToolRun, Description: "Runs the tests.", Parameters: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)},
	{Name: repair.ToolRead, Description: "Reads a function.", Parameters: json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"],"additionalProperties":false}`)},
	{Name: repair.ToolEdit, Description: "Edits a line.", Parameters: json.RawMessage(`{"type":"object","properties":{"line":{"type":"integer"},"text":{"type":"string"}},"required":["line","text"],"additionalProperties":false}`)},
}

func newTemplate(t *testing.T) *toolformat.Template {
	t.Helper()
	tm, err := toolformat.NewTemplate(repair.Template, "", "<|im_end|>")
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

const (
	report   = "FAIL TestReadLine TestReadAll\nreader_test.go:51: ReadLine(\"a\\r\\nb\") = \"a\\r\", want \"a\"\n1 (*Reader).ReadLine\n2 trimEOL"
	function = "func 2 reader.go\n1*\tfunc trimEOL(s string) string {\n2!\treturn s[:len(s)-2]\n3\t}"
)

// conversation makes an agent's conversation: each step is a call and its result, or a text by the
// user after "user:".
func conversation(steps ...string) toolformat.Conversation {
	c := toolformat.Conversation{Tools: tools, GenerationPrompt: true, Messages: []toolformat.Message{
		{Role: "system", Content: "You repair Go code."}, {Role: "user", Content: "Fix the failing tests."},
	}}
	for i, result := range steps {
		if text, ok := strings.CutPrefix(result, "user:"); ok {
			c.Messages = append(c.Messages, toolformat.Message{Role: "user", Content: text})
			continue
		}
		id := fmt.Sprint("call_", i)
		c.Messages = append(c.Messages,
			toolformat.Message{Role: "assistant", Content: "Let me see.", Calls: []toolformat.Call{{ID: id, Name: repair.ToolRead, Args: json.RawMessage(`{"number":1}`)}}},
			toolformat.Message{Role: "tool", CallID: id, Name: repair.ToolRead, Content: result})
	}
	return c
}

// Evidence: repair · The model reads the same text in training and in use
func TestTemplateIsStatePrompt(t *testing.T) {
	tm := newTemplate(t)
	other := strings.Replace(function, "func 2", "func 1", 1)
	edited := repair.ResultEdited(3)
	for _, tt := range []struct {
		name  string
		steps []string
		want  repair.State
	}{
		{"nothing yet", nil, repair.State{}},
		{"report", []string{report}, repair.State{Report: report}},
		{"read", []string{report, function}, repair.State{Report: report, Function: function}},
		{"read another", []string{report, function, other}, repair.State{Report: report, Function: other}},
		{"refused", []string{report, function, repair.ResultRefused("it does not compile")}, repair.State{Report: report, Function: function}},
		{"edited", []string{report, function, edited}, repair.State{Report: report, Function: function, Edited: true}},
		{"undone", []string{report, function, edited, repair.ResultFailing}, repair.State{Report: report, Function: function}},
		{"again", []string{report, function, edited, repair.ResultFailing, edited}, repair.State{Report: report, Function: function, Edited: true}},
		{"ok", []string{report, function, edited, repair.ResultOK}, repair.State{Report: report, Function: function, OK: true}},
		{"a reminder changes nothing", []string{report, "user:Do not repeat yourself.", function}, repair.State{Report: report, Function: function}},
		{"the next task", []string{report, function, edited, repair.ResultOK, "user:Now this."}, repair.State{}},
		{"a foreign result", []string{report, "error: unknown tool", function}, repair.State{Report: report, Function: function}},
	} {
		got, err := tm.Prompt(conversation(tt.steps...))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if d := cmp.Diff(tt.want.Prompt(), got.Text); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if want := "<|im_start|>assistant\n"; got.Opening != want {
			t.Errorf("%s: the answer opens with %q, want %q", tt.name, got.Opening, want)
		}
	}
}

// TestTemplateFormat checks that the tool-call format is recognised from the template, and that
// calls survive rendering and parsing.
func TestTemplateFormat(t *testing.T) {
	tm := newTemplate(t)
	if got := tm.Format().Name; got != "qwen3-coder-xml" {
		t.Fatalf("the template is taken for %s", got)
	}
	if d := cmp.Diff(toolformat.Caps{System: true, Answers: true, Tools: true, Calls: true, Parallel: true, Results: true, LongIDs: true, Repeats: true, CallText: true, CallThink: true}, tm.Caps()); d != "" {
		t.Errorf("caps (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"<|im_end|>"}, tm.Stops()); d != "" {
		t.Errorf("stops (-want +got):\n%s", d)
	}
	texts := []string{
		"s = s[:len(s)-1]", "", "}", `return "<tool_call>", nil`, `x := "a\"\\b" + ` + "`<b>`", "if a < b && c > d {", "i++ // größer", "\"",
		"for ; ; {", "[1, 2]", "null", "3", "true", "return a</b",
	}
	for _, text := range texts {
		answer := repair.AnswerEdit(12, text)
		args, err := json.Marshal(map[string]any{"line": 12, "text": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := tm.Format().Write([]toolformat.Call{{Name: repair.ToolEdit, Args: args}}) + "<|im_end|>"; got != answer {
			t.Errorf("the format writes\n%s\nand the answer is\n%s", got, answer)
		}
		checkCall(t, tm, answer, repair.ToolEdit, map[string]any{"line": 12.0, "text": text})
	}
	checkCall(t, tm, repair.AnswerRun(), repair.ToolRun, map[string]any{})
	checkCall(t, tm, repair.AnswerRead(7), repair.ToolRead, map[string]any{"number": 7.0})
}

func checkCall(t *testing.T, tm *toolformat.Template, answer, name string, want map[string]any) {
	t.Helper()
	var reply toolformat.Reply
	p := tm.Format().NewParser(tools, toolformat.ParserOptions{Prompt: "<|im_start|>assistant\n"})
	reply.Add(p.Feed(strings.TrimSuffix(answer, "<|im_end|>"))...)
	events, err := p.Close()
	if err != nil {
		t.Fatal(err)
	}
	reply.Add(events...)
	if len(reply.Calls) != 1 || reply.Calls[0].Problem != toolformat.None || reply.Content != "" {
		t.Fatalf("%s is read as %+v", answer, reply)
	}
	got := map[string]any{}
	if err := json.Unmarshal(reply.Calls[0].Args, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" || reply.Calls[0].Name != name {
		t.Errorf("%s is read as %s %s", answer, reply.Calls[0].Name, d)
	}
}

// TestTemplateOtherwise checks that without the repair tools, the template is ordinary ChatML.
func TestTemplateOtherwise(t *testing.T) {
	tm := newTemplate(t)
	got, err := tm.Render(toolformat.Conversation{GenerationPrompt: true, Messages: []toolformat.Message{
		{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Hello"}, {Role: "assistant", Content: "Hi."}, {Role: "user", Content: "Bye"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\nHi.<|im_end|>\n" +
		"<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
