package toolformat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/internal/engine/jinja"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// variables returns the template variables for rendering messages that are already in a form the
// template accepts.
func (t *Template) variables(c Conversation, as shape) (*jinja.Dict, error) {
	vars := jinja.NewDict()
	for key, raw := range c.Vars {
		v, err := jinja.FromJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("toolformat: render template: variable %s: %w", key, err)
		}
		vars.Set(key, v)
	}
	messages := make([]jinja.Value, len(c.Messages))
	for i, m := range c.Messages {
		d, err := as.message(m)
		if err != nil {
			return nil, fmt.Errorf("toolformat: render template: message %d: %w", i, err)
		}
		messages[i] = d
	}
	vars.Set("messages", jinja.NewList(messages...))
	if len(c.Tools) > 0 {
		tools, err := toolValues(c.Tools)
		if err != nil {
			return nil, err
		}
		vars.Set("tools", tools)
	}
	vars.Set("add_generation_prompt", jinja.Bool(c.GenerationPrompt))
	vars.Set("bos_token", jinja.Str(t.bos))
	vars.Set("eos_token", jinja.Str(t.eos))
	if t.format.Name == "firefunction" { // its templates expect tools under these names
		functions := make([]string, len(c.Tools))
		for i, tool := range c.Tools {
			functions[i] = string(toolJSON(tool))
		}
		text := ""
		if len(functions) > 0 {
			text = "[" + strings.Join(functions, ", ") + "]"
		}
		vars.Set("functions", jinja.Str(text))
		vars.Set("datetime", jinja.Str(c.Now.Format("Jan 02 2006 15:04:05 GMT")))
	}
	if c.Thinking != nil { // the names of this flag in templates
		vars.Set("enable_thinking", jinja.Bool(*c.Thinking))
		vars.Set("thinking", jinja.Bool(*c.Thinking))
	}
	return vars, nil
}

// toolValues returns tools in the form that templates expect.
func toolValues(tools []Tool) (jinja.Value, error) {
	list := make([]jinja.Value, len(tools))
	for i, tool := range tools {
		v, err := jinja.FromJSON(toolJSON(tool))
		if err != nil {
			return nil, fmt.Errorf("toolformat: render template: parameters of tool %s: %w", tool.Name, err)
		}
		list[i] = v
	}
	return jinja.NewList(list...), nil
}

// toolJSON returns a tool as chat completion requests describe it.
func toolJSON(t Tool) []byte {
	params := t.Parameters
	if len(params) == 0 {
		params = json.RawMessage(`{"type": "object", "properties": {}}`)
	}
	b := append([]byte(`{"type": "function", "function": {"name": `), quote(t.Name)...)
	b = append(b, `, "description": `...)
	b = jsontree.AppendQuoted(b, t.Description)
	b = append(b, `, "parameters": `...)
	b = append(b, params...)
	return append(b, "}}"...)
}

// shape is the form in which a template expects messages.
type shape struct {
	parts     bool   // content is always a list of typed parts
	argsText  bool   // arguments as JSON text, not as an object
	reasoning string // the key of an assistant's thinking; "" if the template accepts none
}

// message converts a message to this shape.
func (s shape) message(m Message) (*jinja.Dict, error) {
	d := jinja.NewDict()
	d.Set("role", jinja.Str(m.Role))
	d.Set("content", s.content(m))
	if m.Reasoning != "" && s.reasoning != "" {
		d.Set(s.reasoning, jinja.Str(m.Reasoning))
	}
	if len(m.Calls) > 0 {
		calls := make([]jinja.Value, len(m.Calls))
		for i, c := range m.Calls {
			v, err := s.call(c)
			if err != nil {
				return nil, err
			}
			calls[i] = v
		}
		d.Set("tool_calls", jinja.NewList(calls...))
	}
	if m.CallID != "" {
		d.Set("tool_call_id", jinja.Str(m.CallID))
	}
	if m.Name != "" {
		d.Set("name", jinja.Str(m.Name))
	}
	return d, nil
}

// content returns the content of a message: plain text if there is only text, otherwise typed
// parts.
func (s shape) content(m Message) jinja.Value {
	parts := m.Parts
	if len(parts) == 0 {
		if !s.parts {
			return jinja.Str(m.Content)
		}
		parts = []Part{{Type: "text", Text: m.Content}}
	}
	list := make([]jinja.Value, len(parts))
	for i, p := range parts {
		d := jinja.NewDict().Set("type", jinja.Str(p.Type))
		if p.Type == "text" {
			d.Set("text", jinja.Str(p.Text))
		}
		list[i] = d
	}
	return jinja.NewList(list...)
}

// call returns a call in the form that templates expect.
func (s shape) call(c Call) (*jinja.Dict, error) {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var value jinja.Value = jinja.Str(args)
	if !s.argsText {
		v, err := jinja.FromJSON(args)
		if err != nil {
			return nil, fmt.Errorf("arguments of call %q: %w", c.Name, err)
		}
		value = v
	}
	f := jinja.NewDict().Set("name", jinja.Str(c.Name)).Set("arguments", value)
	return jinja.NewDict().Set("id", jinja.Str(c.ID)).Set("type", jinja.Str("function")).Set("function", f), nil
}

// filledSchema returns a schema in which every property has a type and a description, because some
// templates require them.
func filledSchema(schema json.RawMessage) json.RawMessage {
	root, err := jsontree.Parse(schema)
	if err != nil || root.Kind != jsontree.Object {
		return schema
	}
	root = root.Clone()
	if root.Get("properties") == nil {
		root.Set("properties", jsontree.NewObject())
	}
	for _, m := range root.Get("properties").Members {
		if m.Value.Kind != jsontree.Object {
			continue
		}
		if m.Value.Get("type") == nil {
			m.Value.Set("type", jsontree.NewString("string"))
		}
		if m.Value.Get("description") == nil {
			m.Value.Set("description", jsontree.NewString(""))
		}
	}
	return root.JSON()
}
