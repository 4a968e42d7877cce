package toolformat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/internal/devdata"
)

// readTemplates returns real chat templates by name.
func readTemplates(t testing.TB) map[string]string {
	all := map[string]string{}
	for _, path := range devdata.Glob(t, "moe-dev/templates/*.jinja") {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".jinja")] = string(src)
	}
	return all
}

// wantFormats maps templates that do not occur in vectors to their formats.
var wantFormats = map[string]string{
	"CohereForAI-c4ai-command-r-plus-tool_use":      "cohere-action",
	"HuggingFaceTB-SmolLM3-3B":                      "hermes-json",
	"MiniMax-M1":                                    "minimax-m1",
	"MiroThinker":                                   "hermes-json",
	"Qwen-Qwen3-0.6B":                               "hermes-json",
	"mistralrs-gemma3n":                             "hermes-json",
	"mistralrs-mistral_small_tool_call":             "mistral-json",
	"mistralrs-nousresearch_hermes2_pro_tool_use":   "hermes-json",
	"mistralrs-nousresearch_hermes3_tool_use":       "hermes-json",
	"poolside-Laguna-XS-2.1":                        "glm4-xml",
	"smg-kimi_k25":                                  "kimi-k2",
	"CohereForAI-c4ai-command-r7b-12-2024-tool_use": "cohere-action",
	"meta-llama-Llama-3.1-8B-Instruct":              "llama3-json",
	"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes-json",
}

// TestDetect checks that Detect finds the format of actual templates.
//
// Evidence: engine · Tool calls of 34 formats parse the same in any chunks
func TestDetect(t *testing.T) {
	want := map[string]string{}
	for name, format := range wantFormats {
		want[name] = format
	}
	for _, v := range readVectors(t) {
		if v.Template != "" && Lookup(v.Format) != nil {
			want[v.Template] = v.Format
		}
	}
	for name, src := range readTemplates(t) {
		if want[name] == "" {
			t.Errorf("no expectation for template %s", name)
		} else if got := Detect(src).Name; got != want[name] {
			t.Errorf("%s speaks %s, want %s", name, got, want[name])
		}
	}
}

// agentTurns returns a conversation of an agent with two rounds of tool calls.
func agentTurns() Conversation {
	return Conversation{
		Messages: []Message{
			{Role: "system", Content: "You are the-system-prompt."},
			{Role: "user", Content: "Do the-first-task."},
			{Role: "assistant", Content: "", Reasoning: "the-thought", Calls: []Call{
				{ID: "toolu_0123456789abcdef", Name: "read_file", Args: json.RawMessage(`{"path": "the-first-path", "limit": 12}`)},
				{ID: "toolu_9876543210abcdef", Name: "bash", Args: json.RawMessage(`{"command": "the-command"}`)},
			}},
			{Role: "tool", CallID: "toolu_0123456789abcdef", Name: "read_file", Content: "the-first-result"},
			{Role: "tool", CallID: "toolu_9876543210abcdef", Name: "bash", Content: "the-second-result"},
			{Role: "assistant", Content: "the-answer"},
			{Role: "user", Content: "Now the-second-task."},
			{Role: "assistant", Calls: []Call{
				{ID: "toolu_3", Name: "bash", Args: json.RawMessage(`{"command": "the-last-command"}`)},
			}},
			{Role: "tool", CallID: "toolu_3", Name: "bash", Content: "the-last-result"},
		},
		Tools: []Tool{
			{"read_file", "Reads a file", json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Where"},"limit":{"type":"integer","description":"Lines"}},"required":["path"]}`)},
			{"bash", "Runs a command", json.RawMessage(`{"type":"object","properties":{"command":{"type":"string","description":"What"}},"required":["command"]}`)},
		},
		GenerationPrompt: true,
	}
}

// TestTemplates renders an agent's conversation with actual templates. No information for the model
// may be missing.
//
// Evidence: engine · Tool calls of 34 formats parse the same in any chunks
func TestTemplates(t *testing.T) {
	for name, src := range readTemplates(t) {
		t.Run(name, func(t *testing.T) {
			tmpl, err := NewTemplate(src, "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			text, err := tmpl.Render(agentTurns())
			if err != nil {
				t.Fatal(err)
			}
			for _, needle := range []string{
				"the-system-prompt", "the-first-task", "read_file", "the-first-path", "the-command",
				"the-first-result", "the-second-result", "the-answer", "the-second-task",
				"the-last-command", "the-last-result", "Reads a file",
			} {
				if !strings.Contains(text, needle) {
					t.Errorf("%s is missing", needle)
				}
			}
			p, err := tmpl.Prompt(agentTurns())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %+v shape %+v stops %q opening %q thinking %v", tmpl.Format().Name, tmpl.Caps(), tmpl.shape, tmpl.Stops(), p.Opening, tmpl.OpensThinking(p))
			if t.Failed() {
				t.Logf("%s", text)
			}
		})
	}
}
