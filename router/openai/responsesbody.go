package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// responseItems is the Provider of opaque parts that belong to the Responses API. They hold whole
// output items.
const responseItems = "openai-responses"

// responsesBody appends the body of a Responses request to buf. The server keeps nothing (store is
// false): the whole conversation is sent, as in chat.
func (m *Model) responsesBody(buf []byte, req *agent.Request) ([]byte, error) {
	return m.responsesBodyIn(m.fit.Load(), buf, req)
}

func (m *Model) responsesBodyIn(f *fit, buf []byte, req *agent.Request) ([]byte, error) {
	if len(req.Stop) > 0 {
		return nil, unsupported("the Responses API has no stop texts; clear Request.Stop or use the chat API")
	}
	b := &body{buf: buf, extra: req.Extra}
	b.stringField("model", m.cfg.Model)
	b.rawField("stream", "true")
	b.rawField("store", "false")
	if req.MaxOutput > 0 && b.field("max_output_tokens") {
		b.int(int64(req.MaxOutput))
	}
	m.sampling(b, req)
	m.responsesReasoning(b, req)
	if req.Output != nil && b.field("text") {
		b.raw(`{"format":{"type":"json_schema",`)
		if err := m.outputSchema(b, req.Output); err != nil {
			return nil, err
		}
		b.raw("}}")
	}
	if err := m.responsesTools(b, req); err != nil {
		return nil, err
	}
	if err := b.extras(); err != nil {
		return nil, err
	}
	if req.System != "" {
		b.stringField("instructions", req.System)
	}
	if b.field("input") {
		if err := m.responsesInput(f, b, req.Messages); err != nil {
			return nil, err
		}
	}
	b.raw("}")
	return b.buf, nil
}

func (m *Model) responsesReasoning(b *body, req *agent.Request) {
	if (req.Effort != "" || m.cfg.Summary != "") && b.field("reasoning") {
		b.raw("{")
		for _, f := range [][2]string{{"effort", string(req.Effort)}, {"summary", m.cfg.Summary}} {
			if f[1] != "" {
				b.comma()
				b.str(f[0])
				b.raw(":")
				b.str(f[1])
			}
		}
		b.raw("}")
	}
	if *m.cfg.Encrypted {
		b.rawField("include", `["reasoning.encrypted_content"]`)
	}
}

func (m *Model) responsesTools(b *body, req *agent.Request) error {
	if len(req.Tools) > 0 && b.field("tools") {
		b.raw("[")
		for i := range req.Tools {
			b.comma()
			b.raw(`{"type":"function",`)
			if err := m.function(b, &req.Tools[i]); err != nil {
				return err
			}
			b.raw("}")
		}
		b.raw("]")
	}
	mode, err := toolMode(req)
	if err != nil || mode == "" || !b.field("tool_choice") {
		return err
	}
	if mode == agent.ToolModeNamed {
		b.raw(`{"type":"function","name":`)
		b.str(req.ToolChoice.Name)
		b.raw("}")
		return nil
	}
	b.str(string(mode))
	return nil
}

// responsesHistory writes a conversation as input items. The bytes of each message depend only on
// that message and those before it.
type responsesHistory struct {
	m     *Model
	b     *body
	fit   *fit
	pairs wire.Pairs
}

func (m *Model) responsesInput(f *fit, b *body, msgs []agent.Message) error {
	h := &responsesHistory{m: m, b: b, fit: f, pairs: wire.Pairs{Rule: f.ids}}
	b.raw("[")
	for i := range msgs {
		write := h.user
		if msgs[i].Role == agent.RoleAssistant {
			write = h.assistant
		}
		if err := write(msgs[i].Parts); err != nil {
			me := agent.AsModelError(err)
			return &agent.ModelError{Kind: me.Kind, Provider: provider, Err: wrapMessage(i, me.Err)}
		}
	}
	b.raw("]")
	return nil
}

// settle writes results for calls that have none: the API refuses a history with an open call.
func (h *responsesHistory) settle() {
	for _, id := range h.pairs.Settle() {
		h.result(id)
		h.b.str(noResult)
		h.b.raw("}")
	}
}

func (h *responsesHistory) result(id string) {
	h.b.comma()
	h.b.raw(`{"type":"function_call_output","call_id":`)
	h.b.str(id)
	h.b.raw(`,"output":`)
}

func (h *responsesHistory) user(parts []agent.Part) error {
	results, rest := split(parts)
	for _, r := range results {
		id, ok := h.pairs.Answer(r.CallID)
		if !ok {
			rest = append(rest, orphan(r)...)
			continue
		}
		h.result(id)
		if err := responsesOutput(h.b, r); err != nil {
			return err
		}
		h.b.raw("}")
	}
	if len(results) > 0 && len(rest) == 0 {
		return nil
	}
	h.settle()
	h.b.comma()
	h.b.raw(`{"type":"message","role":"user","content":`)
	if err := inputContent(h.b, rest); err != nil {
		return err
	}
	h.b.raw("}")
	return nil
}

// responsesOutput writes a result as its text, or as a list if it holds images.
func responsesOutput(b *body, r agent.ToolResult) error {
	for _, p := range r.Parts {
		if _, ok := p.(agent.Image); ok {
			parts := r.Parts
			if r.IsError {
				parts = append([]agent.Part{agent.Text{Text: "Error:"}}, parts...)
			}
			return inputContent(b, parts)
		}
	}
	b.str(resultText(r))
	return nil
}

// inputContent writes text and images as a list.
func inputContent(b *body, parts []agent.Part) error {
	b.raw("[")
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			b.comma()
			b.raw(`{"type":"input_text","text":`)
			b.str(p.Text)
			b.raw("}")
		case agent.Image:
			b.comma()
			b.raw(`{"type":"input_image","detail":"auto","image_url":`)
			if err := b.image(p); err != nil {
				return err
			}
			b.raw("}")
		case agent.Opaque, agent.Thinking: // another provider's
		default:
			return invalid("a user message holds a %T", p)
		}
	}
	b.raw("]")
	return nil
}

// assistant writes each part as the item it came from, in order: the API requires reasoning right
// before the call or the message that it led to.
func (h *responsesHistory) assistant(parts []agent.Part) error {
	h.settle()
	b := h.b
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			b.comma()
			b.raw(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
			b.str(p.Text)
			b.raw("}]}")
		case agent.Thinking:
			if h.m.ownThinking(p) && h.fit.reasoning != ReasoningOff {
				reasoningItem(b, p)
			}
		case agent.ToolCall:
			b.comma()
			b.raw(`{"type":"function_call","call_id":`)
			b.str(h.pairs.Call(p.ID))
			b.raw(`,"name":`)
			b.str(p.Name)
			b.raw(`,"arguments":`)
			b.arguments(p.Args)
			b.members(wire.FieldsOf(parts, h.m.thinker, p.ID), callItemFields...)
			b.raw("}")
		case agent.Opaque:
			h.item(p)
		case agent.Image:
			return unsupported("the Responses API takes no images of the assistant")
		default:
			return invalid("an assistant message holds a %T", p)
		}
	}
	return nil
}

// item writes an item of the API as it came: reasoning of this server, or an item of any.
func (h *responsesHistory) item(p agent.Opaque) {
	own := p.Provider == h.m.thinker && h.fit.reasoning != ReasoningOff
	if data := bytes.TrimSpace(p.Data); (own || p.Provider == responseItems) && bytes.HasPrefix(data, []byte("{")) && json.Valid(data) {
		h.b.comma()
		h.b.bytes(data)
	}
}

// reasoningItem writes signed reasoning; without a signature the API cannot use it.
func reasoningItem(b *body, t agent.Thinking) {
	if t.Signature == "" {
		return
	}
	b.comma()
	b.raw(`{"type":"reasoning","summary":[`)
	if strings.TrimSpace(t.Text) != "" {
		b.raw(`{"type":"summary_text","text":`)
		b.str(t.Text)
		b.raw("}")
	}
	b.raw(`],"encrypted_content":`)
	b.str(t.Signature)
	b.raw("}")
}
