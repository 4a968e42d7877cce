package langchain

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

type agentStream = iter.Seq2[agent.Chunk, error]

// agentRequest converts langchaingo's messages and options to a request.
func agentRequest(messages []llms.MessageContent, opts *llms.CallOptions) (*agent.Request, error) {
	if n := max(opts.N, opts.CandidateCount); n > 1 {
		return nil, fmt.Errorf("%d candidates are asked for, but the model gives one answer; call it %d times", n, n)
	}
	req := &agent.Request{MaxOutput: max(opts.MaxTokens, 0), Stop: opts.StopWords, Effort: effort(opts.Metadata)}
	if opts.Temperature != 0 {
		req.Temperature = &opts.Temperature
	}
	if opts.Seed != 0 {
		seed := int64(opts.Seed)
		req.Seed = &seed
	}
	if err := setTools(req, opts); err != nil {
		return nil, err
	}
	for i, m := range messages {
		if err := addMessage(req, m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	if opts.JSONMode || opts.ResponseMIMEType == "application/json" {
		addSystem(req, "Answer with one JSON value and nothing else.")
	}
	return req, nil
}

func addSystem(req *agent.Request, text string) {
	if req.System != "" && text != "" {
		req.System += "\n\n"
	}
	req.System += text
}

func addMessage(req *agent.Request, m llms.MessageContent) error {
	var role agent.Role
	switch m.Role {
	case llms.ChatMessageTypeSystem:
		for _, p := range m.Parts {
			text, ok := unwrap(p).(llms.TextContent)
			if !ok {
				return fmt.Errorf("a system message holds a %T; only text can be one", p)
			}
			addSystem(req, text.Text)
		}
		return nil
	case llms.ChatMessageTypeHuman, llms.ChatMessageTypeGeneric:
		role = agent.RoleUser
	case llms.ChatMessageTypeAI:
		role = agent.RoleAssistant
	case llms.ChatMessageTypeTool, llms.ChatMessageTypeFunction:
		role = agent.RoleTool
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	msg := agent.Message{Role: role}
	for _, p := range m.Parts {
		part, err := agentPart(req, unwrap(p))
		if err != nil {
			return err
		}
		msg.Parts = append(msg.Parts, part)
	}
	join(req, msg)
	return nil
}

// join adds a message. If it has the same role as the one before, the two are merged: one answer or
// one batch of results may come in several messages, since langchaingo's clients want one part
// each.
func join(req *agent.Request, msg agent.Message) {
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == msg.Role && msg.Role != agent.RoleUser {
		req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, msg.Parts...)
		return
	}
	req.Messages = append(req.Messages, msg)
}

func unwrap(p llms.ContentPart) llms.ContentPart {
	if c, ok := p.(llms.CachedContent); ok {
		return c.ContentPart // the backends of this library place cache markers themselves
	}
	return p
}

func agentPart(req *agent.Request, p llms.ContentPart) (agent.Part, error) {
	switch p := p.(type) {
	case llms.TextContent:
		return agent.Text{Text: p.Text}, nil
	case llms.ImageURLContent:
		return agent.Image{URL: p.URL}, nil
	case llms.BinaryContent:
		return agent.Image{MediaType: p.MIMEType, Data: p.Data}, nil
	case llms.ToolCall:
		if p.FunctionCall == nil {
			return nil, fmt.Errorf("tool call %q has no function", p.ID)
		}
		return agent.ToolCall{ID: p.ID, Name: p.FunctionCall.Name, Args: json.RawMessage(p.FunctionCall.Arguments)}, nil
	case llms.ToolCallResponse:
		id := p.ToolCallID
		if id == "" { // a message of the old function role
			id = lastCall(req, p.Name)
		}
		return agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: p.Content}}}, nil
	}
	return nil, fmt.Errorf("a part of type %T is not known", p)
}

// lastCall returns the id of the latest call of the function with that name.
func lastCall(req *agent.Request, name string) string {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		calls := req.Messages[i].Calls()
		for j := len(calls) - 1; j >= 0; j-- {
			if calls[j].Name == name {
				return calls[j].ID
			}
		}
	}
	return ""
}

func setTools(req *agent.Request, opts *llms.CallOptions) error {
	functions := make([]*llms.FunctionDefinition, 0, len(opts.Tools)+len(opts.Functions))
	for i := range opts.Functions {
		functions = append(functions, &opts.Functions[i])
	}
	for i, t := range opts.Tools {
		if t.Function == nil || t.Type != "function" && t.Type != "" {
			return fmt.Errorf("tool %d is of type %q; only functions are supported", i, t.Type)
		}
		functions = append(functions, t.Function)
	}
	for _, f := range functions {
		spec := agent.ToolSpec{Name: f.Name, Description: f.Description}
		if f.Parameters != nil {
			schema, err := json.Marshal(f.Parameters)
			if err != nil {
				return fmt.Errorf("the parameters of tool %q: %w", f.Name, err)
			}
			spec.Schema = schema
		}
		req.Tools = append(req.Tools, spec)
	}
	var err error
	req.ToolChoice, err = toolChoice(opts)
	return err
}

// toolChoice reads the forms that langchaingo's clients accept.
func toolChoice(opts *llms.CallOptions) (agent.ToolChoice, error) {
	named := func(f *llms.FunctionReference) (agent.ToolChoice, error) {
		if f == nil {
			return agent.ToolChoice{}, fmt.Errorf("the tool choice names no function")
		}
		return agent.ToolChoice{Mode: agent.ToolModeNamed, Name: f.Name}, nil
	}
	choice := opts.ToolChoice
	if choice == nil {
		choice = string(opts.FunctionCallBehavior)
	}
	switch c := choice.(type) {
	case string:
		switch c {
		case "", "auto":
			return agent.ToolChoice{}, nil
		case "none":
			return agent.ToolChoice{Mode: agent.ToolModeNone}, nil
		case "required", "any":
			return agent.ToolChoice{Mode: agent.ToolModeRequired}, nil
		}
		for _, t := range opts.Tools {
			if t.Function != nil && t.Function.Name == c {
				return agent.ToolChoice{Mode: agent.ToolModeNamed, Name: c}, nil
			}
		}
	case llms.ToolChoice:
		return named(c.Function)
	case *llms.ToolChoice:
		if c != nil {
			return named(c.Function)
		}
	}
	return agent.ToolChoice{}, fmt.Errorf("the tool choice %v is not known; use \"auto\", \"none\", \"required\" or an llms.ToolChoice", opts.ToolChoice)
}

// effort reads the thinking configuration that llms.WithThinking sets.
func effort(metadata map[string]any) agent.Effort {
	config, _ := metadata["thinking_config"].(*llms.ThinkingConfig)
	if config == nil {
		return ""
	}
	switch mode := llms.ThinkingMode(strings.ToLower(string(config.Mode))); mode {
	case llms.ThinkingModeNone, llms.ThinkingModeLow, llms.ThinkingModeMedium, llms.ThinkingModeHigh:
		return agent.Effort(mode)
	}
	return ""
}
