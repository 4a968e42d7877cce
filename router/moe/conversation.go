package moe

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/engine/toolformat"
	"github.com/luthier-dev/luthier/internal/json/jsontree"
)

// conversation converts a request to the form for chat templates. Text that does not come from the
// template is guarded.
func (m *Model) conversation(req *agent.Request) (toolformat.Conversation, error) {
	c := toolformat.Conversation{GenerationPrompt: true, Now: m.cfg.Now()}
	if req.System != "" {
		c.Messages = append(c.Messages, toolformat.Message{Role: "system", Content: m.guard.mark(req.System)})
	}
	names := map[string]string{} // of calls, by id
	for i, msg := range req.Messages {
		var err error
		switch msg.Role {
		case agent.RoleUser:
			c.Messages, err = m.userTurn(c.Messages, msg)
		case agent.RoleAssistant:
			c.Messages, err = m.assistantTurn(c.Messages, msg, names)
		case agent.RoleTool:
			c.Messages, err = m.toolTurn(c.Messages, msg, names)
		default:
			err = fmt.Errorf("the role %q is unknown", msg.Role)
		}
		if err != nil {
			return c, &agent.ModelError{Kind: agent.ErrUnsupported, Provider: provider, Err: fmt.Errorf("message %d: %w", i, err)}
		}
	}
	for _, t := range callable(req) {
		c.Tools = append(c.Tools, toolformat.Tool{Name: m.guard.mark(t.Name), Description: m.guard.mark(t.Description), Parameters: m.schema(t.Parameters)})
	}
	return c, m.variables(&c, req)
}

// callable returns the tools that an answer may call.
func callable(req *agent.Request) []toolformat.Tool {
	if req.ToolChoice.Mode == agent.ToolModeNone {
		return nil
	}
	var tools []toolformat.Tool
	for _, t := range req.Tools {
		tools = append(tools, toolformat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	return tools
}

// schema guards the texts in a tool's schema, which may come from an untrusted server, just like
// the tool's description.
func (m *Model) schema(raw json.RawMessage) json.RawMessage {
	v, err := jsontree.Parse(raw)
	if err != nil {
		return raw // the template reports the error
	}
	if !m.markTree(v) {
		return raw
	}
	return v.JSON()
}

// variables sets the template's variables other than the messages.
func (m *Model) variables(c *toolformat.Conversation, req *agent.Request) error {
	c.Vars = map[string]json.RawMessage{}
	switch req.Effort {
	case "":
	case agent.EffortNone:
		c.Thinking = new(bool)
	default:
		on := true
		c.Thinking = &on
		effort, err := json.Marshal(m.guard.mark(string(req.Effort)))
		if err != nil {
			return invalid(err)
		}
		c.Vars["reasoning_effort"] = effort
	}
	raw, ok := req.Extra["chat_template_kwargs"]
	if !ok {
		return nil
	}
	var vars map[string]json.RawMessage
	if err := json.Unmarshal(raw, &vars); err != nil {
		return &agent.ModelError{Kind: agent.ErrInvalid, Provider: provider, Err: fmt.Errorf("chat_template_kwargs must be an object: %w", err)}
	}
	for k, v := range vars {
		var on bool
		if k == "enable_thinking" && json.Unmarshal(v, &on) == nil {
			c.Thinking = &on
			continue
		}
		c.Vars[k] = v
	}
	return nil
}

func (m *Model) userTurn(out []toolformat.Message, msg agent.Message) ([]toolformat.Message, error) {
	for _, p := range msg.Parts {
		switch p.(type) {
		case agent.Text:
		case agent.Image:
			return out, fmt.Errorf("this model takes no images; leave them out or ask a model with eyes")
		default:
			return out, fmt.Errorf("a %T does not belong into a user message", p)
		}
	}
	return append(out, toolformat.Message{Role: "user", Content: m.guard.mark(msg.Text())}), nil
}

// assistantTurn leaves out parts of other providers and signed reasoning: both are meaningless to
// this model.
func (m *Model) assistantTurn(out []toolformat.Message, msg agent.Message, names map[string]string) ([]toolformat.Message, error) {
	t := toolformat.Message{Role: "assistant", Content: m.guard.mark(msg.Text())}
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case agent.Thinking:
			if p.Signature == "" && len(p.Redacted) == 0 {
				t.Reasoning += m.guard.mark(p.Text)
			}
		case agent.ToolCall:
			names[p.ID] = p.Name
			t.Calls = append(t.Calls, toolformat.Call{ID: m.guard.mark(p.ID), Name: m.guard.mark(p.Name), Args: m.arguments(p.Args)})
		}
	}
	if len(t.Calls) > 0 {
		// The line break between the text and the first call comes from the template, which writes
		// it again.
		t.Content = strings.TrimRight(t.Content, "\n")
	}
	return append(out, t), nil
}

// arguments returns the arguments of a call as JSON that a template can process. If the model wrote
// anything other than a JSON object, it becomes a JSON string. Escapes are resolved first, so that
// they cannot hide a control text.
func (m *Model) arguments(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage(`{}`)
	}
	v, err := jsontree.Parse(args)
	if err != nil || v.Kind != jsontree.Object {
		v = jsontree.NewObject()
		v.Set("malformed_arguments", jsontree.NewString(string(args)))
	}
	m.markTree(v)
	return v.JSON()
}

// markTree guards the strings of a JSON value that contain control texts and leaves the others as
// they were written. It reports whether there were any.
func (m *Model) markTree(v *jsontree.Value) (changed bool) {
	if v.Kind == jsontree.String {
		if text := v.Text(); m.guard.mark(text) != text {
			*v = *jsontree.NewString(m.guard.mark(text))
			changed = true
		}
	}
	for _, item := range v.Items {
		changed = m.markTree(item) || changed
	}
	for i := range v.Members {
		key := m.guard.mark(v.Members[i].Key)
		changed = changed || key != v.Members[i].Key
		v.Members[i].Key = key
		changed = m.markTree(v.Members[i].Value) || changed
	}
	return changed
}

func (m *Model) toolTurn(out []toolformat.Message, msg agent.Message, names map[string]string) ([]toolformat.Message, error) {
	for _, p := range msg.Parts {
		r, ok := p.(agent.ToolResult)
		if !ok {
			return out, fmt.Errorf("a %T does not belong into a tool message", p)
		}
		for _, q := range r.Parts {
			if _, ok := q.(agent.Text); !ok {
				return out, fmt.Errorf("the result of call %q holds a %T; this model takes text only", r.CallID, q)
			}
		}
		out = append(out, toolformat.Message{Role: "tool", Content: m.guard.mark(r.Text()), CallID: m.guard.mark(r.CallID), Name: m.guard.mark(names[r.CallID])})
	}
	return out, nil
}
