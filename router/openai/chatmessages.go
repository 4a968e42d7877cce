package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// chatParts is the Provider of opaque parts that belong to the chat API. They hold extra fields of
// an assistant message.
const chatParts = "openai-chat"

// noResult and orphanText stand for what a history lacks: servers refuse a call without a result
// and a result without a call.
const noResult = "No result was recorded for this call; it may not have run."

// goOn stands for a message between two of the same speaker.
const (
	goOnUser      = "(continue)"
	goOnAssistant = "(continued)"
)

// chatHistory writes a conversation. The bytes of each message depend only on that message and
// those before it, except that messages of the user in a row become one for servers that want it.
type chatHistory struct {
	m     *Model
	b     *body
	fit   *fit
	pairs wire.Pairs
	last  speaker
	user  []agent.Part // of the user, not yet written
	heard bool         // user holds a message
}

// speaker is who spoke last.
type speaker uint8

const (
	nobody speaker = iota
	speakerUser
	speakerAssistant // without calls
	speakerCalls
	speakerTool
)

func (m *Model) chatMessages(f *fit, b *body, req *agent.Request) error {
	b.raw("[")
	if req.System != "" {
		b.raw(`{"role":`)
		b.str(m.cfg.SystemRole)
		b.raw(`,"content":`)
		b.str(req.System)
		b.raw("}")
	}
	h := &chatHistory{m: m, b: b, fit: f, pairs: wire.Pairs{Rule: f.ids}}
	for i := range req.Messages {
		if err := h.add(&req.Messages[i]); err != nil {
			me := agent.AsModelError(err)
			return &agent.ModelError{Kind: me.Kind, Provider: provider, Err: wrapMessage(i, me.Err)}
		}
	}
	if err := h.flush(); err != nil {
		return err
	}
	b.raw("]")
	return nil
}

func (h *chatHistory) add(msg *agent.Message) error {
	if msg.Role == agent.RoleAssistant {
		if err := h.flush(); err != nil {
			return err
		}
		h.settle()
		return h.assistant(msg.Parts)
	}
	if err := h.hear(msg.Parts); err != nil || h.fit.turns {
		return err
	}
	return h.flush()
}

// hear takes a message by the user or by tools: first the results, each as a separate message, then
// the rest and the results' images as one user message.
func (h *chatHistory) hear(parts []agent.Part) error {
	results, rest := split(parts)
	for _, r := range results {
		id, ok := h.pairs.Answer(r.CallID)
		if !ok {
			rest = append(rest, orphan(r)...)
			continue
		}
		pictures := h.result(id, r)
		if len(pictures) > 0 {
			rest = append(rest, agent.Text{Text: "Images of the result of call " + id + ":"})
			rest = append(rest, pictures...)
		}
	}
	if len(results) > 0 && len(rest) == 0 {
		return nil
	}
	if err := checkContent(rest); err != nil {
		return err
	}
	if h.user, h.heard = append(h.user, rest...), true; len(results) == 0 {
		h.settle()
	}
	return nil
}

// flush writes what the user said since the last answer.
func (h *chatHistory) flush() error {
	if !h.heard {
		return nil
	}
	if h.fit.turns && (h.last == speakerTool || h.last == speakerUser) {
		h.say("assistant", goOnAssistant)
	}
	h.b.comma()
	h.b.raw(`{"role":"user","content":`)
	if err := chatContent(h.b, h.user); err != nil {
		return err
	}
	h.b.raw("}")
	h.user, h.heard, h.last = h.user[:0], false, speakerUser
	return nil
}

// say writes a message that only keeps the turns.
func (h *chatHistory) say(role, text string) {
	h.b.comma()
	h.b.raw(`{"role":"` + role + `","content":`)
	h.b.str(text)
	h.b.raw("}")
}

// settle writes results for calls that have none.
func (h *chatHistory) settle() {
	for _, id := range h.pairs.Settle() {
		h.result(id, agent.ToolResult{Parts: []agent.Part{agent.Text{Text: noResult}}, IsError: true})
	}
}

// orphan returns a result whose call is not in the history as parts of a user message.
func orphan(r agent.ToolResult) []agent.Part {
	parts := []agent.Part{agent.Text{Text: "Result of an earlier tool call (" + r.CallID + "):\n" + resultText(r)}}
	for _, p := range r.Parts {
		if _, ok := p.(agent.Image); ok {
			parts = append(parts, p)
		}
	}
	return parts
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

// result writes one result and returns its images, which a tool message cannot hold.
func (h *chatHistory) result(id string, r agent.ToolResult) (pictures []agent.Part) {
	for _, p := range r.Parts {
		if _, ok := p.(agent.Image); ok {
			pictures = append(pictures, p)
		}
	}
	h.last = speakerTool
	h.b.comma()
	h.b.raw(`{"role":"tool","tool_call_id":`)
	h.b.str(id)
	h.b.raw(`,"content":`)
	h.b.str(resultText(r))
	h.b.raw("}")
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

// checkContent returns an error for parts that a user message cannot hold.
func checkContent(parts []agent.Part) error {
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Image:
			if err := (&body{}).image(agent.Image{MediaType: p.MediaType, URL: p.URL, Data: p.Data[:min(len(p.Data), 1)]}); err != nil {
				return err
			}
		case agent.Text, agent.Opaque, agent.Thinking:
		default:
			return invalid("a user message holds a %T", p)
		}
	}
	return nil
}

// chatContent writes a user message's content. If there is only text it is a string, since some
// servers accept nothing else.
func chatContent(b *body, parts []agent.Part) error {
	if !slices.ContainsFunc(parts, func(p agent.Part) bool { _, ok := p.(agent.Image); return ok }) {
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

// assistant writes a message by the model.
func (h *chatHistory) assistant(parts []agent.Part) error {
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
	if h.fit.turns && (h.last == nobody || (h.last == speakerAssistant && calls == 0)) {
		h.say("user", goOnUser)
	}
	b := h.b
	b.comma()
	b.raw(`{"role":"assistant","content":`)
	if s := joinText(parts, ""); s == "" && calls > 0 {
		b.raw("null")
	} else {
		b.str(s)
	}
	h.reasoning(parts, calls > 0)
	if h.last = speakerAssistant; calls > 0 {
		h.last = speakerCalls
		h.calls(parts)
	}
	b.raw("}")
	return nil
}

// reasoning writes the reasoning of a message: the server's own fields if it sent any, or else the
// text, or else a placeholder if the server demands one.
func (h *chatHistory) reasoning(parts []agent.Part, calls bool) {
	var thoughts strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Opaque: // official servers refuse fields of others
			if fields, ok := ownFields(p); ok && !h.m.official && h.fit.reasoning != ReasoningOff && !h.otherMind(parts) {
				h.b.raw(",")
				h.b.raw(fields)
				if h.fit.needs == needsNone || strings.Contains(fields, `"`+string(h.fit.reasoning)+`":`) {
					return
				}
			}
		case agent.Thinking:
			if p.Signature == "" && p.Redacted == nil && h.m.ownThinking(p) {
				thoughts.WriteString(p.Text)
			}
		}
	}
	text := thoughts.String()
	if strings.TrimSpace(text) == "" && (h.fit.needs == needsAll || (h.fit.needs == needsCalls && calls)) {
		text = noReasoning
	}
	if h.fit.reasoning != ReasoningOff && text != "" {
		h.b.raw(",")
		h.b.str(string(h.fit.reasoning))
		h.b.raw(":")
		h.b.str(text)
	}
}

// otherMind reports whether another server wrote the reasoning of a message.
func (h *chatHistory) otherMind(parts []agent.Part) bool {
	return slices.ContainsFunc(parts, func(p agent.Part) bool { t, ok := p.(agent.Thinking); return ok && !h.m.ownThinking(t) })
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

// calls writes the calls of a message, with the fields that this server put on them.
func (h *chatHistory) calls(parts []agent.Part) {
	b := h.b
	b.raw(`,"tool_calls":[`)
	first := true
	for _, p := range parts {
		c, ok := p.(agent.ToolCall)
		if !ok {
			continue
		}
		fields := wire.FieldsOf(parts, h.m.thinker, c.ID)
		if h.fit.dummy && first && fields["extra_content"] == nil {
			fields = map[string]json.RawMessage{"extra_content": json.RawMessage(`{"google":{"thought_signature":"` + dummySignature + `"}}`)}
		}
		first = false
		b.comma()
		b.raw(`{"id":`)
		b.str(h.pairs.Call(c.ID))
		b.raw(`,"type":"function","function":{"name":`)
		b.str(c.Name)
		b.raw(`,"arguments":`)
		b.arguments(c.Args)
		if inner := fields["function"]; inner != nil {
			var more map[string]json.RawMessage
			if json.Unmarshal(inner, &more) == nil {
				b.members(more, "name", "arguments")
			}
		}
		b.raw("}")
		b.members(fields, "id", "type", "function", "index")
		b.raw("}")
	}
	b.raw("]")
}
