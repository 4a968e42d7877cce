package agent

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Role identifies the speaker of a message.
type Role string

// The roles of a conversation. A system prompt is not a message: it is [Request.System].
const (
	RoleUser      Role = "user"      // the person or program that gives the task
	RoleAssistant Role = "assistant" // the model
	RoleTool      Role = "tool"      // results of the calls of the assistant message before it
)

// Message is one turn of a conversation: a role and an ordered list of parts.
type Message struct {
	Role  Role
	Parts []Part
}

// UserText returns a user message that holds one text part.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{Text{Text: text}}}
}

// Text returns the concatenation of the message's text parts.
func (m Message) Text() string { return PartsText(m.Parts) }

// Calls returns the message's tool calls in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// PartsText returns the concatenation of the text parts in ps.
func PartsText(ps []Part) string {
	var out string
	for _, p := range ps {
		if t, ok := p.(Text); ok {
			if out == "" {
				out = t.Text
			} else {
				out += t.Text
			}
		}
	}
	return out
}

// fit returns m in a form that a log and a provider can hold: with a known role, parts that are
// values of the set, and texts in valid UTF-8.
func fit(m Message) (Message, error) {
	if m.Role != RoleUser && m.Role != RoleAssistant && m.Role != RoleTool {
		return m, fmt.Errorf("agent: add message: the role %q is unknown; use RoleUser, RoleAssistant or RoleTool", m.Role)
	}
	copied := false
	for i, p := range m.Parts {
		switch p := p.(type) {
		case Text:
			if !utf8.ValidString(p.Text) {
				if !copied {
					m.Parts, copied = append([]Part(nil), m.Parts...), true
				}
				m.Parts[i] = Text{Text: validText(p.Text)}
			}
		case Image, Thinking, ToolCall, ToolResult, Opaque:
		default:
			return m, fmt.Errorf("agent: add message: part %d is a %T; parts are values of Text, Image, Thinking, ToolCall, ToolResult or Opaque, not pointers", i, p)
		}
	}
	return m, nil
}

// Part is one piece of a message. The set is sealed: [Text], [Image], [Thinking], [ToolCall],
// [ToolResult] and [Opaque]. Parts are values, not pointers.
type Part interface{ part() }

// Text is plain text, written by a person, a model or a tool.
type Text struct {
	Text string `json:"text"`
}

// Image is a picture, by content or by URL.
type Image struct {
	MediaType string `json:"media_type,omitempty"` // such as "image/png"; required with Data
	Data      []byte `json:"data,omitempty"`       // raw bytes (base64 in JSON)
	URL       string `json:"url,omitempty"`        // address, if Data is empty
}

// Thinking is a model's reasoning, kept so that it can be replayed to the provider that signed it.
// A backend leaves out signed and redacted reasoning of other providers, which it could not read.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"` // provider's proof of authorship; replayed byte for byte
	Redacted  []byte `json:"redacted,omitempty"`  // encrypted reasoning, if the provider hides the text
	Provider  string `json:"provider,omitempty"`  // the provider that wrote it, such as "anthropic"; empty if unknown
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // as the model wrote them; may be invalid JSON
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Parts   []Part `json:"-"`
	IsError bool   `json:"is_error,omitempty"`
}

// Opaque is a provider-specific part that this library does not interpret; it survives a round trip
// byte for byte.
type Opaque struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

func (Text) part()       {}
func (Image) part()      {}
func (Thinking) part()   {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Opaque) part()     {}

// TextResult returns a successful tool result that holds one text part.
func TextResult(text string) *ToolResult {
	return &ToolResult{Parts: []Part{Text{Text: text}}}
}

// ErrorResult returns a failed tool result. The formatted text should tell the model what to do
// next.
func ErrorResult(format string, args ...any) *ToolResult {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	return &ToolResult{Parts: []Part{Text{Text: text}}, IsError: true}
}

// Text returns the concatenation of the result's text parts.
func (r ToolResult) Text() string { return PartsText(r.Parts) }
