package openai

import (
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
)

// chatParts is the Provider of opaque parts that belong to the chat API. They hold extra fields of
// an assistant message.
const chatParts = "openai-chat"

// chatMessages writes the conversation. Each message's bytes depend on that message alone.
func (m *Model) chatMessages(b *body, req *agent.Request) error {
	b.raw("[")
	if req.System != "" {
		b.raw(`{"role":`)
		b.str(m.cfg.SystemRole)
		b.raw(`,"content":`)
		b.str(req.System)
		b.raw("}")
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		var err error
		if msg.Role == agent.RoleAssistant {
			err = m.chatAssistant(b, msg.Parts)
		} else {
			err = chatUser(b, msg.Parts)
		}
		if err != nil {
			me := agent.AsModelError(err)
			return &agent.ModelError{Kind: me.Kind, Provider: provider, Err: wrapMessage(i, me.Err)}
		}
	}
	b.raw("]")
	return nil
}

// chatUser writes a message by the user or by tools: first the results, each as a separate message,
// then the rest and the results' images as one user message.
func chatUser(b *body, parts []agent.Part) error {
	results, rest := split(parts)
	for _, r := range results {
		pictures := chatResult(b, r)
		if len(pictures) > 0 {
			rest = append(rest, agent.Text{Text: "Images of the result of call " + r.CallID + ":"})
			rest = append(rest, pictures...)
		}
	}
	if len(results) > 0 && len(rest) == 0 {
		return nil
	}
	b.comma()
	b.raw(`{"role":"user","content":`)
	if err := chatContent(b, rest); err != nil {
		return err
	}
	b.raw("}")
	return nil
}

// split separates results from other parts.
func split(parts []agent.Part) (results []agent.ToolResult, rest []agent.Part) {
	for _, p := range parts {
		if r, ok := p.(agent.ToolResult); ok {
			results = append(results, r)
		} else {
			rest = append(rest, p)
		}
	}
	return results, rest
}

// chatResult writes one result and returns its images, which a tool message cannot hold.
func chatResult(b *body, r agent.ToolResult) (pictures []agent.Part) {
	for _, p := range r.Parts {
		if _, ok := p.(agent.Image); ok {
			pictures = append(pictures, p)
		}
	}
	b.comma()
	b.raw(`{"role":"tool","tool_call_id":`)
	b.str(r.CallID)
	b.raw(`,"content":`)
	b.str(resultText(r))
	b.raw("}")
	return pictures
}

// resultText returns a result's text. A failure is marked in the text, since the formats have no
// field for it.
func resultText(r agent.ToolResult) string {
	s := joinText(r.Parts, "\n")
	if r.IsError && !strings.HasPrefix(strings.ToLower(s), "error") {
		s = "Error: " + s
	}
	return s
}

func joinText(parts []agent.Part, sep string) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.(agent.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, sep)
}

// chatContent writes a user message's content. If there is only text it is a string, since some
// servers accept nothing else.
func chatContent(b *body, parts []agent.Part) error {
	images := false
	for _, p := range parts {
		switch p.(type) {
		case agent.Image:
			images = true
		case agent.Text, agent.Opaque, agent.Thinking:
		default:
			return invalid("a user message holds a %T", p)
		}
	}
	if !images {
		b.str(joinText(parts, "\n"))
		return nil
	}
	b.raw("[")
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			b.comma()
			b.raw(`{"type":"text","text":`)
			b.str(p.Text)
			b.raw("}")
		case agent.Image:
			b.comma()
			b.raw(`{"type":"image_url","image_url":{"url":`)
			if err := b.image(p); err != nil {
				return err
			}
			b.raw("}}")
		}
	}
	b.raw("]")
	return nil
}

// chatAssistant writes a message by the model.
func (m *Model) chatAssistant(b *body, parts []agent.Part) error {
	b.comma()
	b.raw(`{"role":"assistant","content":`)
	calls := 0
	for _, p := range parts {
		switch p.(type) {
		case agent.ToolCall:
			calls++
		case agent.Image:
			return unsupported("the chat API takes no images of the assistant")
		case agent.ToolResult:
			return invalid("an assistant message holds a tool result")
		}
	}
	if s := joinText(parts, ""); s == "" && calls > 0 {
		b.raw("null")
	} else {
		b.str(s)
	}
	m.chatReasoning(b, parts)
	if calls > 0 {
		chatCalls(b, parts)
	}
	b.raw("}")
	return nil
}

// chatReasoning writes the reasoning of a message: the server's own fields if it sent any, or else
// the text.
func (m *Model) chatReasoning(b *body, parts []agent.Part) {
	var thoughts strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Opaque:
			if fields, ok := ownFields(p); ok && !m.official { // official servers refuse fields of others
				b.raw(",")
				b.raw(fields)
				return
			}
		case agent.Thinking:
			if p.Signature == "" && p.Redacted == nil && m.ownThinking(p) {
				thoughts.WriteString(p.Text)
			}
		}
	}
	if m.cfg.Reasoning != ReasoningOff && thoughts.Len() > 0 {
		b.raw(",")
		b.str(string(m.cfg.Reasoning))
		b.raw(":")
		b.str(thoughts.String())
	}
}

// ownThinking reports whether reasoning came from this server, as best as can be determined: no
// other could have signed it, or would accept it as its own.
func (m *Model) ownThinking(t agent.Thinking) bool {
	return t.Provider == "" || t.Provider == m.thinker
}

// ownFields returns the members of an opaque part of the chat API, without their braces. Fields
// that would change the speaker or the content are rejected.
func ownFields(o agent.Opaque) (string, bool) {
	if o.Provider != chatParts {
		return "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(o.Data, &fields) != nil || len(fields) == 0 {
		return "", false
	}
	for _, reserved := range []string{"role", "content", "tool_calls", "tool_call_id"} {
		if _, ok := fields[reserved]; ok {
			return "", false
		}
	}
	s := strings.TrimSpace(string(o.Data))
	return s[1 : len(s)-1], true
}

func chatCalls(b *body, parts []agent.Part) {
	b.raw(`,"tool_calls":[`)
	for _, p := range parts {
		if c, ok := p.(agent.ToolCall); ok {
			b.comma()
			b.raw(`{"id":`)
			b.str(c.ID)
			b.raw(`,"type":"function","function":{"name":`)
			b.str(c.Name)
			b.raw(`,"arguments":`)
			b.arguments(c.Args)
			b.raw("}}")
		}
	}
	b.raw("]")
}
