package toolformat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// plainLoop is the body of a template that renders messages, calls and results.
const plainLoop = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// TestDemands renders a conversation with templates that require more than others, or do more.
func TestDemands(t *testing.T) {
	for _, c := range []struct {
		name, before, loop string
	}{
		{name: "lists change", before: `{% set l = [] %}{% for t in tools or [] %}{% set _ = l.append(t.function.name) %}{% endfor %}{{ l|join(', ') }}`, loop: plainLoop},
		{name: "every property has a description", before: `{% for t in tools or [] %}{{ t.function.name }}{% for k, v in t.function.parameters.properties.items() %}{{ k + ': ' + v.description + ' ' + v.type }}{% endfor %}{% endfor %}`, loop: plainLoop},
		{
			name:   "text and thinking exclude each other",
			before: `{% for m in messages %}{% if m.tool_calls and m.content and m.reasoning_content %}{{ raise_exception('not both') }}{% endif %}{{ m.reasoning_content or '' }}{% endfor %}{{ tools|tojson if tools }}`,
			loop:   plainLoop,
		},
		{
			name:   "calls stand only where no text does",
			before: `{{ tools|tojson if tools }}`,
			loop:   strings.Replace(plainLoop, "in m.tool_calls or []", "in (m.tool_calls or []) if not m.content", 1),
		},
		{
			name:   "ids have nine characters at least",
			before: `{{ tools|tojson if tools }}{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id|length < 9 %}{{ raise_exception('short id') }}{% endif %}{% endfor %}{% endfor %}`,
			loop:   plainLoop,
		},
		{
			name:   "the first message is taken off",
			before: `{{ tools|tojson if tools }}{% set first = messages.pop(0) %}{{ first.content }}`,
			loop:   plainLoop,
		},
		{
			name:   "arguments are read as JSON",
			before: `{{ tools|tojson if tools }}`,
			loop:   strings.Replace(plainLoop, "c.function.arguments|tojson", "(c.function.arguments|from_json)|tojson", 1),
		},
		{
			name:   "arguments are text that is read",
			before: `{{ tools|tojson if tools }}`,
			loop:   strings.Replace(plainLoop, "{{ c.function.arguments|tojson }}", "{{ (c.function.arguments if c.function.arguments is mapping else c.function.arguments|fromjson)|tojson }}", 1),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := NewTemplate(c.before+c.loop, "", "<|im_end|>")
			if err != nil {
				t.Fatal(err)
			}
			text, err := tmpl.Render(Conversation{
				Tools: []Tool{{Name: "the_tool", Parameters: json.RawMessage(`{"type": "object", "properties": {"the_key": {"enum": [1, 2]}}}`)}},
				Messages: []Message{
					{Role: "user", Content: "the-task"},
					{Role: "assistant", Content: "the-remark", Reasoning: "the-thought", Calls: []Call{
						{ID: "c1", Name: "the_tool", Args: json.RawMessage(`{"the_key": "the-value"}`)},
					}},
					{Role: "tool", CallID: "c1", Name: "the_tool", Content: "the-result"},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, needle := range []string{"the-task", "the-remark", `{"the_key": "the-value"}`, "the-result"} {
				if strings.Count(text, needle) != 1 {
					t.Errorf("%s is not there once:\n%s", needle, text)
				}
			}
			if !strings.Contains(strings.SplitN(text, "the-task", 2)[0], "the_tool") {
				t.Errorf("the tool is not described:\n%s", text)
			}
		})
	}
}

// TestStops checks that the end of a message is found among several tokens, and that openings end
// at whole markers.
func TestStops(t *testing.T) {
	for _, c := range []struct{ name, src, stop, not, opening string }{
		{
			name: "an end behind another marker",
			src:  `{% for m in messages %}<|turn_start|>{{ m.role }}<|text|>{{ m.content }}{% if m.role == 'assistant' %}<|sealed|>{% endif %}<|turn_end|>{% endfor %}<|turn_start|>assistant`,
			stop: "<|turn_end|>", not: "<|sealed|>",
		},
		{
			name: "an opening that begins as the end does",
			src:  `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% else %}<|endoftext|>{% endif %}`,
			stop: "<|end|>", not: "<|assistant|>", opening: "<|assistant|>",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := NewTemplate(c.src, "", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			if s := tmpl.Stops(); !slices.Contains(s, c.stop) || slices.Contains(s, c.not) {
				t.Errorf("stops are %q, want %q among them and not %q", s, c.stop, c.not)
			}
			p, err := tmpl.Prompt(Conversation{Messages: []Message{{Role: "user", Content: "hi"}}})
			if err != nil || p.Opening != c.opening {
				t.Errorf("opening is %q (%v), want %q", p.Opening, err, c.opening)
			}
		})
	}
}
