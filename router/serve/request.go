package serve

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/internal/wire"
)

// chatRequest is the body of POST /v1/chat/completions.
type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Tools               []chatTool      `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ResponseFormat      *responseFormat `json:"response_format"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	Stop                json.RawMessage `json:"stop"`
	Seed                *int64          `json:"seed"`
	N                   *int            `json:"n"`
	LogProbs            bool            `json:"logprobs"`
	TopLogProbs         int             `json:"top_logprobs"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	PromptCacheKey      string          `json:"prompt_cache_key"`
	User                string          `json:"user"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type chatMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ReasoningContent wire.String     `json:"reasoning_content"`
	Reasoning        wire.String     `json:"reasoning"`
	ToolCalls        []chatCall      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a text, or from some clients the object itself
	} `json:"function"`
}

// known lists the fields that chatRequest reads and those that concern accounts and not the answer.
// Every other field goes to the model in Request.Extra.
var known = map[string]bool{
	"model": true, "messages": true, "tools": true, "tool_choice": true, "response_format": true, "stream": true,
	"stream_options": true, "max_tokens": true, "max_completion_tokens": true, "temperature": true, "stop": true,
	"seed": true, "n": true, "logprobs": true, "top_logprobs": true, "reasoning_effort": true, "prompt_cache_key": true,
	"user": true, "store": true, "metadata": true, "service_tier": true,
}

// decodeChat reads a body.
func decodeChat(data []byte) (*chatRequest, *agent.Request, error) {
	var in chatRequest
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, nil, badBody(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, nil, badBody(err)
	}
	req, err := in.request()
	if err != nil {
		return nil, nil, err
	}
	for k, v := range fields {
		if !known[k] && string(v) != "null" {
			if req.Extra == nil {
				req.Extra = map[string]json.RawMessage{}
			}
			req.Extra[k] = v
		}
	}
	return &in, req, nil
}

// request converts the body to an agent.Request.
func (in *chatRequest) request() (*agent.Request, error) {
	if in.N != nil && *in.N < 1 {
		return nil, invalid("n", "n is %d; it must be at least 1", *in.N)
	}
	if in.TopLogProbs < 0 || in.TopLogProbs > 20 || (in.TopLogProbs > 0 && !in.LogProbs) {
		return nil, invalid("top_logprobs", "top_logprobs must be 0 to 20 and needs logprobs")
	}
	req := &agent.Request{Temperature: in.Temperature, Seed: in.Seed, Effort: agent.Effort(in.ReasoningEffort), SessionID: in.PromptCacheKey}
	if req.SessionID == "" {
		req.SessionID = in.User
	}
	if in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 2) {
		return nil, invalid("temperature", "temperature is %g; it must be from 0 to 2", *in.Temperature)
	}
	for _, n := range []*int{in.MaxTokens, in.MaxCompletionTokens} {
		if n == nil {
			continue
		}
		if *n < 1 {
			return nil, invalid("max_tokens", "max_tokens is %d; it must be at least 1", *n)
		}
		req.MaxOutput = *n
	}
	for _, step := range []func(*agent.Request) error{in.stop, in.tools, in.choice, in.format, in.history} {
		if err := step(req); err != nil {
			return nil, err
		}
	}
	return req, nil
}

func (in *chatRequest) stop(req *agent.Request) error {
	if len(in.Stop) == 0 || string(in.Stop) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(in.Stop, &one) == nil {
		req.Stop = []string{one}
		return nil
	}
	if err := json.Unmarshal(in.Stop, &req.Stop); err != nil {
		return invalid("stop", "stop must be a text or a list of texts")
	}
	return nil
}

func (in *chatRequest) tools(req *agent.Request) error {
	for i, t := range in.Tools {
		if t.Type != "" && t.Type != "function" {
			return invalid("tools", "tools[%d] is of type %q; only functions are known", i, t.Type)
		}
		if t.Function.Name == "" {
			return invalid("tools", "tools[%d] has no name", i)
		}
		schema := t.Function.Parameters
		if len(schema) == 0 || string(schema) == "null" {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		req.Tools = append(req.Tools, agent.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Schema: schema})
	}
	return nil
}

func (in *chatRequest) choice(req *agent.Request) error {
	if len(in.ToolChoice) == 0 || string(in.ToolChoice) == "null" {
		return nil
	}
	var mode string
	if json.Unmarshal(in.ToolChoice, &mode) == nil {
		switch mode {
		case "auto", "":
		case "none":
			req.ToolChoice.Mode = agent.ToolModeNone
		case "required":
			req.ToolChoice.Mode = agent.ToolModeRequired
		default:
			return invalid("tool_choice", "tool_choice is %q; it must be auto, none, required or a named function", mode)
		}
		return nil
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(in.ToolChoice, &named); err != nil || named.Function.Name == "" {
		return invalid("tool_choice", "tool_choice must be a text or {\"type\":\"function\",\"function\":{\"name\":…}}")
	}
	req.ToolChoice = agent.ToolChoice{Mode: agent.ToolModeNamed, Name: named.Function.Name}
	return nil
}

func (in *chatRequest) format(req *agent.Request) error {
	f := in.ResponseFormat
	switch {
	case f == nil || f.Type == "text" || f.Type == "":
	case f.Type == "json_object":
		req.Output = &agent.OutputSchema{Name: "object", Schema: json.RawMessage(`{"type":"object"}`)}
	case f.Type == "json_schema" && f.JSONSchema != nil && len(f.JSONSchema.Schema) > 0:
		req.Output = &agent.OutputSchema{Name: f.JSONSchema.Name, Schema: f.JSONSchema.Schema}
	case f.Type == "json_schema":
		return invalid("response_format", "response_format of type json_schema needs json_schema.schema")
	default:
		return invalid("response_format", "response_format is of type %q; it must be text, json_object or json_schema", f.Type)
	}
	return nil
}

func (in *chatRequest) history(req *agent.Request) error {
	if len(in.Messages) == 0 {
		return invalid("messages", "messages is empty; send at least one")
	}
	var system []string
	for i := range in.Messages {
		m := &in.Messages[i]
		parts, err := contentParts(m.Content, i)
		if err != nil {
			return err
		}
		switch m.Role {
		case "system", "developer":
			system = append(system, agent.PartsText(parts))
		case "user":
			req.Messages = append(req.Messages, agent.Message{Role: agent.RoleUser, Parts: parts})
		case "assistant":
			req.Messages = append(req.Messages, m.assistant(parts))
		case "tool":
			result := agent.ToolResult{CallID: m.ToolCallID, Parts: parts}
			if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == agent.RoleTool {
				req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, result)
			} else {
				req.Messages = append(req.Messages, agent.Message{Role: agent.RoleTool, Parts: []agent.Part{result}})
			}
		default:
			return invalid("messages", "messages[%d] has the role %q; it must be system, developer, user, assistant or tool", i, m.Role)
		}
	}
	req.System = strings.Join(system, "\n\n")
	return nil
}

func (m *chatMessage) assistant(parts []agent.Part) agent.Message {
	out := agent.Message{Role: agent.RoleAssistant}
	thought := m.ReasoningContent
	if thought == "" {
		thought = m.Reasoning
	}
	if thought != "" {
		out.Parts = append(out.Parts, agent.Thinking{Text: string(thought)})
	}
	out.Parts = append(out.Parts, parts...)
	for _, c := range m.ToolCalls {
		out.Parts = append(out.Parts, agent.ToolCall{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(wire.Text(c.Function.Arguments))})
	}
	return out
}

// contentParts reads a content field: a string, null or a list of parts.
func contentParts(raw json.RawMessage, i int) ([]agent.Part, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []agent.Part{agent.Text{Text: s}}, nil
	}
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Refusal  string `json:"refusal"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, invalid("messages", "messages[%d].content must be a text or a list of parts", i)
	}
	var parts []agent.Part
	for k, p := range list {
		switch p.Type {
		case "text", "input_text":
			parts = append(parts, agent.Text{Text: p.Text})
		case "refusal":
			parts = append(parts, agent.Text{Text: p.Refusal})
		case "image_url":
			img, err := image(p.ImageURL.URL)
			if err != nil {
				return nil, invalid("messages", "messages[%d].content[%d]: %v", i, k, err)
			}
			parts = append(parts, img)
		default:
			return nil, invalid("messages", "messages[%d].content[%d] is of type %q; text and image_url are known", i, k, p.Type)
		}
	}
	return parts, nil
}

// image reads a URL, which may contain the image itself (RFC 2397).
func image(url string) (agent.Image, error) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return agent.Image{URL: url}, nil
	}
	kind, data, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return agent.Image{}, invalid("messages", "a data URL of a picture must be base64")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return agent.Image{}, invalid("messages", "the picture's base64 is broken: %v", err)
	}
	return agent.Image{MediaType: kind, Data: raw}, nil
}
