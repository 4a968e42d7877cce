package toolformat

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bareTemplate accepts only user and assistant messages, and requires that they alternate.
const bareTemplate = `{%- for m in messages -%}
{%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('roles must alternate') }}{%- endif -%}
[{{ m.role }}] {{ m.content }}{{ eos_token }}
{% endfor -%}
{%- if add_generation_prompt %}[assistant]{% endif %}`

// TestFit renders an agent's conversation with a template that accepts almost nothing.
func TestFit(t *testing.T) {
	tmpl, err := NewTemplate(bareTemplate, "", "<end>")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Caps{Answers: true}, tmpl.Caps()); d != "" {
		t.Errorf("caps (-want +got):\n%s", d)
	}
	text, err := tmpl.Render(agentTurns())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"[user] You are the-system-prompt.\n\nYou can call these functions:\n<tools>\n{\"type\": \"function\"",
		"</tools>\n\nTo call one, write its name and arguments in exactly this form:\n<tool_call>\n{\"name\": \"function_name\"",
		"\n\nDo the-first-task.<end>\n[assistant] <tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\":\"the-first-path\",\"limit\":12}}\n</tool_call>\n<tool_call>",
		"[user] Results:\n<tool_response>\nthe-first-result\n</tool_response>\n<tool_response>\nthe-second-result\n</tool_response><end>",
		"[assistant] the-answer<end>\n[user] Now the-second-task.<end>",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in the text", part)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if d := cmp.Diff([]string{"<end>"}, tmpl.Stops()); d != "" {
		t.Errorf("stops (-want +got):\n%s", d)
	}
}

// TestPrefix checks that a longer conversation renders to a text that begins with the text of a
// shorter one, so that the KV cache of the shorter one can be reused.
func TestPrefix(t *testing.T) {
	tmpl, err := NewTemplate(bareTemplate, "", "<end>")
	if err != nil {
		t.Fatal(err)
	}
	long := agentTurns()
	long.GenerationPrompt = false
	short := long
	short.Messages = long.Messages[:5]
	a, err := tmpl.Render(short)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tmpl.Render(long)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b, a) {
		t.Errorf("%q does not begin with %q", b, a)
	}
}

// TestContinue checks that an assistant's message is left open, both inside its thinking and after
// it.
func TestContinue(t *testing.T) {
	const src = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant><think>
{% endif %}`
	tmpl, err := NewTemplate(src, "", "<end>")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		last     Message
		opening  string
		thinking bool
	}{
		{Message{}, "<assistant><think>\n", true},
		{Message{Role: "assistant", Reasoning: "So"}, "<assistant><think>\nSo", true},
		{Message{Role: "assistant", Reasoning: "So", Content: "Well, "}, "<assistant><think>\nSo\n</think>\n\nWell, ", false},
	} {
		conv := Conversation{Messages: []Message{{Role: "user", Content: "hi"}}}
		if c.last.Role != "" {
			conv.Messages = append(conv.Messages, c.last)
		}
		p, err := tmpl.Prompt(conv)
		if err != nil {
			t.Fatal(err)
		}
		if p.Opening != c.opening || !strings.HasSuffix(p.Text, p.Opening) || tmpl.OpensThinking(p) != c.thinking {
			t.Errorf("%+v opens %q (thinking %v), want %q", c.last, p.Opening, tmpl.OpensThinking(p), c.opening)
		}
	}
}

// TestHostileTemplates checks that rendering a hostile template ends with an error.
func TestHostileTemplates(t *testing.T) {
	for _, src := range []string{
		"{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
		"{{ raise_exception('no') }}",
		"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"{% if %}",
	} {
		if _, err := NewTemplate(src, "", ""); err == nil || !strings.HasPrefix(err.Error(), "toolformat: ") {
			t.Errorf("%q: error is %v", src, err)
		}
	}
}

// TestBadArguments checks that a call whose arguments are not JSON is reported.
func TestBadArguments(t *testing.T) {
	const src = `{% for m in messages %}{{ m.role }}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}`
	tmpl, err := NewTemplate(src, "", "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tmpl.Render(Conversation{Messages: []Message{{Role: "user", Content: "x"}, {Role: "assistant", Calls: []Call{{Name: "f", Args: json.RawMessage(`{`)}}}}})
	if err == nil || !strings.Contains(err.Error(), `arguments of call "f"`) {
		t.Errorf("error is %v", err)
	}
}

// TestTemplateShared checks that several goroutines can render one template.
func TestTemplateShared(t *testing.T) {
	tmpl, err := NewTemplate(bareTemplate, "", "<end>")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := tmpl.Render(agentTurns())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := tmpl.Render(agentTurns()); err != nil || got != want {
				t.Errorf("%v: %q", err, got)
			}
		})
	}
	wg.Wait()
}
