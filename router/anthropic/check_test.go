package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/luthier-dev/luthier/router/internal/wire"
)

// checkRequest rejects a request body for what the API rejects with status 400, according to its
// documentation and error messages: https://platform.claude.com/docs/en/api/messages and
// .../api/errors.
func checkRequest(data []byte) error {
	var req wireRequest
	if err := json.Unmarshal(data, &req); err != nil {
		return err
	}
	if n := strings.Count(string(data), `"cache_control":{"type":"ephemeral"`); n > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided; found %d", n)
	}
	var params sdk.MessageNewParams
	if err := json.Unmarshal(data, &params); err != nil {
		return fmt.Errorf("the SDK cannot read it: %w", err)
	}
	if req.Model == "" || req.MaxTokens <= 0 || !req.Stream {
		return fmt.Errorf("model %q, max_tokens %d, stream %v", req.Model, req.MaxTokens, req.Stream)
	}
	return errors.Join(req.checkThinking(), req.checkTools(), req.checkTurns())
}

type wireRequest struct {
	Model       string
	MaxTokens   int `json:"max_tokens"`
	Stream      bool
	Temperature *float64
	System      []wireBlock
	Thinking    struct {
		Type   string
		Budget int `json:"budget_tokens"`
	}
	ToolChoice struct{ Type, Name string } `json:"tool_choice"`
	Tools      []struct {
		Name        string
		Type        string
		InputSchema struct{ Type string } `json:"input_schema"`
	}
	Messages []struct {
		Role    string
		Content []wireBlock
	}
}

type wireBlock struct {
	Type, Text, ID, Name, Thinking, Signature, Data string

	ToolUseID    string `json:"tool_use_id"`
	IsError      bool   `json:"is_error"`
	Input        json.RawMessage
	Content      json.RawMessage
	CacheControl json.RawMessage `json:"cache_control"`
}

func (r *wireRequest) checkThinking() error {
	switch {
	case r.Thinking.Type == "enabled" && (r.Thinking.Budget < 1024 || r.Thinking.Budget >= r.MaxTokens):
		return fmt.Errorf("budget_tokens is %d with max_tokens %d", r.Thinking.Budget, r.MaxTokens)
	case r.Thinking.Type == "enabled" || r.Thinking.Type == "adaptive":
		if r.Temperature != nil {
			return errors.New("temperature may only be set to 1 when thinking is enabled")
		}
		if r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool" {
			return errors.New("thinking may not be enabled when tool_choice forces tool use")
		}
	}
	return nil
}

var toolNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (r *wireRequest) checkTools() error {
	names := map[string]bool{}
	for _, t := range r.Tools {
		if names[t.Name] {
			return fmt.Errorf("tools: tool names must be unique: %q", t.Name)
		}
		names[t.Name] = true
		if t.Type == "" && (!toolNames.MatchString(t.Name) || t.InputSchema.Type != "object") {
			return fmt.Errorf("tools: %q with a schema of type %q", t.Name, t.InputSchema.Type)
		}
	}
	if r.ToolChoice.Type != "" && len(r.Tools) == 0 {
		return errors.New("tool_choice may only be specified while providing tools")
	}
	if r.ToolChoice.Type == "tool" && !names[r.ToolChoice.Name] {
		return fmt.Errorf("tool %q not found in provided tools", r.ToolChoice.Name)
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if (b.Type == "tool_use" || b.Type == "tool_result") && len(r.Tools) == 0 {
				return errors.New("requests which include tool_use or tool_result blocks must define tools")
			}
		}
	}
	return nil
}

func (r *wireRequest) checkTurns() error {
	if len(r.Messages) == 0 || r.Messages[0].Role != "user" {
		return errors.New("messages: first message must use the \"user\" role")
	}
	ids := map[string]bool{}
	var open []string
	for i, m := range r.Messages {
		if i > 0 && r.Messages[i-1].Role == m.Role {
			return fmt.Errorf("messages.%d: roles do not alternate", i)
		}
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: content is empty", i)
		}
		var err error
		if m.Role == "user" {
			err = checkUser(m.Content, open)
		} else {
			open, err = checkAssistant(m.Content, ids, i == len(r.Messages)-1)
		}
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role == "assistant" && len(open) > 0 {
		return fmt.Errorf("tool_use ids were found without tool_result blocks: %q", open)
	}
	return nil
}

func checkUser(blocks []wireBlock, open []string) error {
	want := map[string]bool{}
	for _, id := range open {
		want[id] = true
	}
	other := false
	for _, b := range blocks {
		if b.Type == "tool_result" {
			if other {
				return errors.New("tool_result blocks must come first")
			}
			if !want[b.ToolUseID] {
				return fmt.Errorf("unexpected tool_use_id %q found in tool_result blocks", b.ToolUseID)
			}
			delete(want, b.ToolUseID)
			if err := checkResult(b); err != nil {
				return err
			}
			continue
		}
		other = true
		if err := checkText(b); err != nil {
			return err
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("tool_use ids were found without tool_result blocks immediately after: %v", want)
	}
	return nil
}

func checkResult(b wireBlock) error {
	var content []wireBlock
	if err := json.Unmarshal(b.Content, &content); err != nil {
		return err
	}
	if b.IsError && len(content) == 0 {
		return errors.New("content cannot be empty if `is_error` is true")
	}
	for _, c := range content {
		if err := checkText(c); err != nil {
			return err
		}
	}
	return nil
}

func checkAssistant(blocks []wireBlock, ids map[string]bool, last bool) (open []string, err error) {
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			if ids[b.ID] || !toolNames.MatchString(b.ID) || !toolNames.MatchString(b.Name) {
				return nil, fmt.Errorf("tool_use id %q, name %q", b.ID, b.Name)
			}
			ids[b.ID] = true
			open = append(open, b.ID)
			if !wire.IsObject(b.Input) {
				return nil, fmt.Errorf("tool_use.input: input should be a valid dictionary: %s", b.Input)
			}
		case "thinking":
			if b.Signature == "" {
				return nil, errors.New("thinking.signature: field required")
			}
			if b.CacheControl != nil {
				return nil, errors.New("thinking.cache_control: extra inputs are not permitted")
			}
		case "image", "tool_result":
			return nil, fmt.Errorf("%s blocks are not permitted in assistant messages", b.Type)
		}
		if err := checkText(b); err != nil {
			return nil, err
		}
	}
	if end := blocks[len(blocks)-1]; last && end.Type == "text" && strings.TrimSpace(end.Text[len(end.Text)-1:]) == "" {
		return nil, errors.New("final assistant content cannot end with trailing whitespace")
	}
	return open, nil
}

func checkText(b wireBlock) error {
	if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
		return errors.New("text content blocks must contain non-whitespace text")
	}
	return nil
}
