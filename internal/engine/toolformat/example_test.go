package toolformat_test

import (
	"encoding/json"
	"fmt"

	"github.com/luthier-dev/luthier/internal/engine/toolformat"
)

// A model's text is parsed while it streams.
func ExampleFormat_NewParser() {
	format := toolformat.Detect("... <tool_call>\n<function=name>\n<parameter=key>\nvalue ...")
	tools := []toolformat.Tool{{
		Name:       "bash",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"command": {"type": "string"}}}`),
	}}
	p := format.NewParser(tools, toolformat.ParserOptions{Prompt: "<think>\n"})
	var reply toolformat.Reply
	for _, piece := range []string{"A list.\n</thi", "nk>\n\nI look.\n<tool_call>\n<func", "tion=bash>\n<parameter=command>\nls", "\n</parameter>\n</function>\n</tool_call>"} {
		reply.Add(p.Feed(piece)...)
	}
	events, err := p.Close()
	reply.Add(events...)
	fmt.Println(format.Name, err)
	fmt.Printf("%q %q\n", reply.Reasoning, reply.Content)
	for _, c := range reply.Calls {
		fmt.Println(c.ID, c.Name, string(c.Args))
	}
	// Output:
	// qwen3-coder-xml <nil>
	// "A list." "I look.\n"
	// call00000 bash {"command": "ls"}
}

// A conversation is rendered with the model's template. Anything the template does not accept, here
// a system prompt, is moved to where the template accepts it.
func ExampleTemplate_Prompt() {
	t, err := toolformat.NewTemplate(`{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`, "", "</assistant>")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := t.Prompt(toolformat.Conversation{Messages: []toolformat.Message{
		{Role: "system", Content: "Be brief."},
		{Role: "user", Content: "Hello!"},
	}})
	fmt.Printf("%q %v\n", p.Text, err)
	fmt.Printf("%q %q\n", p.Opening, t.Stops())
	// Output:
	// "<user>Be brief.\n\nHello!</user><assistant>" <nil>
	// "<assistant>" ["</assistant>"]
}

// A grammar restricts a model to calls that can be parsed.
func ExampleFormat_Grammar() {
	tools := []toolformat.Tool{{Name: "ls", Parameters: json.RawMessage(`{"type": "object", "properties": {"dir": {"type": "string"}}}`)}}
	g, err := toolformat.Lookup("hermes-json").Grammar(tools, toolformat.Choice{Mode: toolformat.Auto})
	fmt.Println(g.Triggers, err)
	// Output:
	// [<tool_call>] <nil>
}
