package langchain

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/toolschema"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// request converts req to langchaingo's form.
func (m *model) request(req *agent.Request) ([]llms.MessageContent, []llms.CallOption, *agent.ModelError) {
	h := history{traits: m.traits, pairs: wire.Pairs{Rule: wire.IDRule{Max: maxID}}}
	h.text(llms.ChatMessageTypeSystem, system(req))
	for i := range req.Messages {
		if err := h.add(&req.Messages[i]); err != nil {
			return nil, nil, m.fail(agent.ErrUnsupported, fmt.Errorf("encode request: message %d: %w", i, err))
		}
	}
	h.settle()
	if len(h.messages) == 0 || len(h.messages) == 1 && h.messages[0].Role == llms.ChatMessageTypeSystem {
		return nil, nil, m.fail(agent.ErrInvalid, fmt.Errorf("encode request: it has no message with content; add one"))
	}
	options, err := m.options(req, h.called)
	if err != nil {
		return nil, nil, m.fail(agent.ErrUnsupported, fmt.Errorf("encode request: %w", err))
	}
	return h.messages, options, nil
}

// system returns the system prompt, with the requested output schema described in words.
func system(req *agent.Request) string {
	if req.Output == nil {
		return req.System
	}
	return strings.TrimLeft(req.System+"\n\nAnswer with one JSON value and nothing else. It must match this JSON Schema:\n"+string(req.Output.Schema), "\n")
}

func (m *model) options(req *agent.Request, called bool) ([]llms.CallOption, error) {
	var opts []llms.CallOption
	if limit := max(req.MaxOutput, 0); limit > 0 {
		opts = append(opts, llms.WithMaxTokens(limit))
	} else if m.maxOutput > 0 {
		opts = append(opts, llms.WithMaxTokens(m.maxOutput))
	}
	if req.Temperature != nil {
		opts = append(opts, llms.WithTemperature(*req.Temperature))
	}
	if len(req.Stop) > 0 {
		opts = append(opts, llms.WithStopWords(req.Stop))
	}
	if req.Seed != nil {
		opts = append(opts, llms.WithSeed(int(*req.Seed)))
	}
	if req.Output != nil && m.traits.provider == "openai" {
		opts = append(opts, llms.WithJSONMode())
	}
	if mode, ok := thinkingMode(req.Effort); ok && m.traits.thinks && len(req.Tools) == 0 && !called {
		opts = append(opts, llms.WithThinking(&llms.ThinkingConfig{Mode: mode}), llms.WithTemperature(1)) // the API accepts no other temperature
	}
	tools, err := tools(req, called)
	if err != nil {
		return nil, err
	}
	return append(append(opts, tools...), m.callOptions...), nil
}

func thinkingMode(e agent.Effort) (llms.ThinkingMode, bool) {
	switch e {
	case agent.EffortLow:
		return llms.ThinkingModeLow, true
	case agent.EffortMedium:
		return llms.ThinkingModeMedium, true
	case agent.EffortHigh:
		return llms.ThinkingModeHigh, true
	}
	return "", false
}

// tools returns the options that offer the request's tools. If none may be called, they are left
// out, which every client understands. But if the history has calls, they are kept, since some
// providers accept calls only with declarations.
func tools(req *agent.Request, called bool) ([]llms.CallOption, error) {
	if len(req.Tools) == 0 || req.ToolChoice.Mode == agent.ToolModeNone && !called {
		return nil, nil
	}
	list := make([]llms.Tool, len(req.Tools))
	for i := range req.Tools {
		spec := &req.Tools[i]
		schema, _, err := toolschema.Emit(toolschema.Plain, spec.Schema)
		if err != nil {
			return nil, fmt.Errorf("the schema of tool %q: %w", spec.Name, err)
		}
		var params map[string]any // the only form that every client accepts
		if err := json.Unmarshal(schema, &params); err != nil {
			return nil, fmt.Errorf("the schema of tool %q: %w", spec.Name, err)
		}
		list[i] = llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: spec.Name, Description: spec.Description, Parameters: params}}
	}
	opts := []llms.CallOption{llms.WithTools(list)}
	switch req.ToolChoice.Mode {
	case agent.ToolModeAuto:
	case agent.ToolModeNone:
		opts = append(opts, llms.WithToolChoice("none"))
	case agent.ToolModeRequired:
		opts = append(opts, llms.WithToolChoice("required"))
	case agent.ToolModeNamed:
		opts = append(opts, llms.WithToolChoice(llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: req.ToolChoice.Name}}))
	default:
		return nil, fmt.Errorf("tool choice mode %q; use one of the ToolMode constants", req.ToolChoice.Mode)
	}
	return opts, nil
}

// maxID is the number of bytes of a call's id that every provider takes.
const maxID = 40

// history collects langchaingo's messages: one part each, and each call followed by its result.
// This is the only form that its OpenAI and Anthropic clients both send whole and that both
// providers accept.
type history struct {
	traits   traits
	messages []llms.MessageContent
	pairs    wire.Pairs       // gives each call an id of its own
	pending  []agent.ToolCall // calls of the last assistant message whose results have not come
	called   bool
}

func (h *history) put(role llms.ChatMessageType, parts ...llms.ContentPart) {
	h.messages = append(h.messages, llms.MessageContent{Role: role, Parts: parts})
}

func (h *history) text(role llms.ChatMessageType, s string) {
	if strings.TrimSpace(s) != "" { // some providers refuse a text without a visible character
		h.put(role, llms.TextContent{Text: s})
	}
}

func (h *history) add(msg *agent.Message) error {
	if msg.Role == agent.RoleAssistant {
		h.settle()
		h.text(llms.ChatMessageTypeAI, strings.TrimRight(msg.Text(), " \t\r\n"))
		h.pending = append(h.pending, msg.Calls()...)
		return nil
	}
	var parts []llms.ContentPart
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case agent.ToolResult:
			if !h.answer(p) {
				parts = append(parts, llms.TextContent{Text: "Result of an earlier tool call (" + p.CallID + "):\n" + resultText(p)})
			}
		case agent.Text:
			if strings.TrimSpace(p.Text) != "" {
				parts = append(parts, llms.TextContent{Text: p.Text})
			}
		case agent.Image:
			part, err := h.image(p)
			if err != nil {
				return err
			}
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 {
		h.settle()
		h.put(llms.ChatMessageTypeHuman, parts...)
	}
	return nil
}

// answer adds a pending call and its result, and reports whether there was such a call.
func (h *history) answer(r agent.ToolResult) bool {
	for i, c := range h.pending {
		if c.ID == r.CallID {
			h.pending = append(h.pending[:i:i], h.pending[i+1:]...)
			h.exchange(c, resultText(r))
			return true
		}
	}
	return false
}

// settle adds results for calls that have none: providers refuse a history with an open call.
func (h *history) settle() {
	for _, c := range h.pending {
		h.exchange(c, "No result was recorded for this call; it may not have run.")
	}
	h.pending = nil
}

func (h *history) exchange(c agent.ToolCall, result string) {
	h.called = true
	id := h.pairs.Call(c.ID)
	h.pairs.Settle()
	h.put(llms.ChatMessageTypeAI, llms.ToolCall{ID: id, Type: "function",
		FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: string(wire.Object(c.Args))}})
	h.put(llms.ChatMessageTypeTool, llms.ToolCallResponse{ToolCallID: id, Name: c.Name, Content: result})
}

// resultText returns a result as text, the only form of langchaingo's results.
func resultText(r agent.ToolResult) string {
	text := r.Text()
	for _, p := range r.Parts {
		if img, ok := p.(agent.Image); ok {
			text += "\n[an image that cannot be shown here: " + img.MediaType + img.URL + "]"
		}
	}
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	if r.IsError {
		text = "Error: " + text
	}
	return text
}

func (h *history) image(p agent.Image) (llms.ContentPart, error) {
	switch {
	case len(p.Data) == 0 && p.URL == "":
		return nil, fmt.Errorf("an image has neither Data nor URL")
	case len(p.Data) == 0:
		return llms.ImageURLContent{URL: p.URL}, nil
	case h.traits.dataURLs:
		return llms.ImageURLContent{URL: "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)}, nil
	}
	return llms.BinaryContent{MIMEType: p.MediaType, Data: p.Data}, nil
}
