package langchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

// fakeLLM is a langchaingo model that records its requests.
type fakeLLM struct {
	messages []llms.MessageContent
	opts     llms.CallOptions
	answer   func(ctx context.Context, opts llms.CallOptions) (*llms.ContentResponse, error)
}

func (f *fakeLLM) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, f, prompt, options...)
}

func (f *fakeLLM) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	f.messages, f.opts = messages, llms.CallOptions{}
	for _, o := range options {
		o(&f.opts)
	}
	if f.answer != nil {
		return f.answer(ctx, f.opts)
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "ok", StopReason: "stop"}}}, nil
}

// describe writes messages one per line, for comparison.
func describe(messages []llms.MessageContent) []string {
	var out []string
	for _, m := range messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llms.ToolCall:
				line += fmt.Sprintf(" call(%s %s %s)", p.ID, p.FunctionCall.Name, p.FunctionCall.Arguments)
			case llms.ToolCallResponse:
				line += fmt.Sprintf(" result(%s %s %q)", p.ToolCallID, p.Name, p.Content)
			case llms.BinaryContent:
				line += fmt.Sprintf(" binary(%s %d)", p.MIMEType, len(p.Data))
			case fmt.Stringer:
				line += fmt.Sprintf(" %q", p)
			}
		}
		out = append(out, line)
	}
	return out
}

func TestRequestMessages(t *testing.T) {
	f := &fakeLLM{}
	_, err := agent.Generate(t.Context(), Model(f), &agent.Request{
		System: "Be brief.",
		Tools:  []agent.ToolSpec{{Name: "look"}},
		Messages: []agent.Message{
			{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: " "}, agent.Text{Text: "look"}, agent.Image{MediaType: "image/png", Data: []byte("x")}, agent.Image{URL: "https://example.com/a"}}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "hm", Signature: "s"}, agent.Text{Text: "I look.\n"},
				agent.ToolCall{ID: "a", Name: "look", Args: json.RawMessage(`{"at":1}`)}, agent.ToolCall{ID: "b", Name: "look", Args: json.RawMessage(`{"at`)}, agent.ToolCall{ID: "c", Name: "look"}}},
			{Role: agent.RoleTool, Parts: []agent.Part{
				agent.ToolResult{CallID: "b", IsError: true, Parts: []agent.Part{agent.Text{Text: "bad arguments"}}},
				agent.ToolResult{CallID: "a", Parts: []agent.Part{agent.Text{Text: "seen"}, agent.Image{MediaType: "image/png", Data: []byte("x")}}},
				agent.ToolResult{CallID: "zzz", Parts: []agent.Part{agent.Text{Text: "orphan"}}}}},
			agent.UserText("and now?"),
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "d", Name: "look"}}},
			{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "d"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`system "Be brief."`,
		`human "look" binary(image/png 1) "https://example.com/a"`,
		`ai "I look."`,
		`ai call(b look {"invalid_json":"{\"at"})`,
		`tool result(b look "Error: bad arguments")`,
		`ai call(a look {"at":1})`,
		`tool result(a look "seen\n[an image that cannot be shown here: image/png]")`,
		`ai call(c look {})`,
		`tool result(c look "No result was recorded for this call; it may not have run.")`,
		`human "Result of an earlier tool call (zzz):\norphan"`,
		`human "and now?"`,
		`ai call(d look {})`,
		`tool result(d look "(no output)")`,
	}
	if diff := cmp.Diff(want, describe(f.messages)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if f.opts.StreamingFunc != nil {
		t.Error("it streams although tools are offered")
	}
}

func TestRequestOptions(t *testing.T) {
	temperature, seed := 0.5, int64(7)
	tools := []agent.ToolSpec{{Name: "look", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"integer"}}}`)}}
	hello := []agent.Message{agent.UserText("hello")}
	called := append(hello, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "a", Name: "look"}}}, agent.UserText("stop"))
	tests := []struct {
		name  string
		req   agent.Request
		opts  []Option
		check func(o llms.CallOptions) bool
	}{
		{"numbers", agent.Request{MaxOutput: 9, Temperature: &temperature, Seed: &seed, Stop: []string{"x"}}, nil,
			func(o llms.CallOptions) bool {
				return o.MaxTokens == 9 && o.Temperature == 0.5 && o.Seed == 7 && len(o.StopWords) == 1
			}},
		{"limit of the model", agent.Request{}, []Option{MaxOutput(4096)}, func(o llms.CallOptions) bool { return o.MaxTokens == 4096 }},
		{"the host's options win", agent.Request{MaxOutput: 9}, []Option{CallOptions(llms.WithMaxTokens(5), llms.WithTopK(3))}, func(o llms.CallOptions) bool { return o.MaxTokens == 5 && o.TopK == 3 }},
		{"streams", agent.Request{}, nil, func(o llms.CallOptions) bool { return o.StreamingFunc != nil }},
		{"does not stream", agent.Request{}, []Option{Streaming(false)}, func(o llms.CallOptions) bool { return o.StreamingFunc == nil }},
		{"tools", agent.Request{Tools: tools}, nil, func(o llms.CallOptions) bool {
			params, ok := o.Tools[0].Function.Parameters.(map[string]any)
			return ok && params["type"] == "object" && o.Tools[0].Function.Description == "Looks." && o.ToolChoice == nil
		}},
		{"no call", agent.Request{Tools: tools, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNone}}, nil, func(o llms.CallOptions) bool { return len(o.Tools) == 0 }},
		{"no call after calls", agent.Request{Messages: called, Tools: tools, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNone}}, nil, func(o llms.CallOptions) bool { return len(o.Tools) == 1 && o.ToolChoice == "none" }},
		{"some call", agent.Request{Tools: tools, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeRequired}}, nil, func(o llms.CallOptions) bool { return o.ToolChoice == "required" }},
		{"this call", agent.Request{Tools: tools, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "look"}}, nil,
			func(o llms.CallOptions) bool {
				c, ok := o.ToolChoice.(llms.ToolChoice)
				return ok && c.Function.Name == "look"
			}},
		{"no thinking for clients that do not take it", agent.Request{Effort: agent.EffortHigh}, nil, func(o llms.CallOptions) bool { return o.Metadata == nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.req.Messages == nil {
				tt.req.Messages = hello
			}
			f := &fakeLLM{}
			if _, err := agent.Generate(t.Context(), Model(f, tt.opts...), &tt.req); err != nil {
				t.Fatal(err)
			}
			if !tt.check(f.opts) {
				t.Errorf("%+v", f.opts)
			}
		})
	}
}

func TestThinkingIsAskedOfAnthropic(t *testing.T) {
	srv := serve(t, "application/json", anthropicDone)
	m := Model(anthropicClient(t, srv.URL), MaxOutput(8000))
	req := &agent.Request{Effort: agent.EffortHigh, Messages: []agent.Message{agent.UserText("x")}}
	if _, err := agent.Generate(t.Context(), m, req); err != nil || !strings.Contains(srv.body, `"budget_tokens"`) || !strings.Contains(srv.body, `"temperature":1`) {
		t.Errorf("%v: %s", err, srv.body)
	}
	req.Tools = []agent.ToolSpec{{Name: "look"}}
	if _, err := agent.Generate(t.Context(), m, req); err != nil || strings.Contains(srv.body, `"budget_tokens"`) {
		t.Errorf("thinking beside tools: %v: %s", err, srv.body)
	}
}

func TestOutputSchemaIsTold(t *testing.T) {
	f := &fakeLLM{}
	req := &agent.Request{System: "Be brief.", Messages: []agent.Message{agent.UserText("x")}, Output: &agent.OutputSchema{Schema: json.RawMessage(`{"type":"object"}`)}}
	if _, err := agent.Generate(t.Context(), Model(f), req); err != nil {
		t.Fatal(err)
	}
	if got := describe(f.messages)[0]; !strings.Contains(got, "Be brief.") || !strings.Contains(got, `{\"type\":\"object\"}`) {
		t.Error(got)
	}
}

func TestRefusedRequests(t *testing.T) {
	hello := []agent.Message{agent.UserText("hello")}
	for name, tt := range map[string]struct {
		llm  llms.Model
		req  agent.Request
		kind agent.ErrorKind
	}{
		"no model":       {nil, agent.Request{Messages: hello}, agent.ErrInvalid},
		"no messages":    {&fakeLLM{}, agent.Request{System: "s"}, agent.ErrInvalid},
		"empty image":    {&fakeLLM{}, agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Parts: []agent.Part{agent.Image{}}}}}, agent.ErrUnsupported},
		"broken schema":  {&fakeLLM{}, agent.Request{Messages: hello, Tools: []agent.ToolSpec{{Name: "x", Schema: json.RawMessage(`{`)}}}, agent.ErrUnsupported},
		"unknown choice": {&fakeLLM{}, agent.Request{Messages: hello, Tools: []agent.ToolSpec{{Name: "x"}}, ToolChoice: agent.ToolChoice{Mode: "maybe"}}, agent.ErrUnsupported},
	} {
		_, err := agent.Generate(t.Context(), Model(tt.llm), &tt.req)
		if me := agent.AsModelError(err); me == nil || me.Kind != tt.kind {
			t.Errorf("%s: %v, want kind %q", name, err, tt.kind)
		}
	}
}

func TestPanickingClientIsAnError(t *testing.T) {
	f := &fakeLLM{answer: func(context.Context, llms.CallOptions) (*llms.ContentResponse, error) { panic("index out of range") }}
	_, err := agent.Generate(t.Context(), Model(f), &agent.Request{Messages: []agent.Message{agent.UserText("x")}})
	if err == nil || !strings.Contains(err.Error(), "panicked: index out of range") {
		t.Error(err)
	}
}

func TestErrorKinds(t *testing.T) {
	tests := []struct {
		err    error
		kind   agent.ErrorKind
		status int
	}{
		{errors.New("API returned unexpected status code: 429: slow down"), agent.ErrRateLimit, 429},
		{errors.New("anthropic: failed to create message: API returned unexpected status code: 529: Overloaded"), agent.ErrOverloaded, 529},
		{errors.New("API returned unexpected status code: 401: Incorrect API key provided"), agent.ErrAuth, 401},
		{errors.New("API returned unexpected status code: 400: This model's maximum context length is 8192 tokens"), agent.ErrContextLength, 400},
		{errors.New("API returned unexpected status code: 400: prompt is too long: 2 > 1"), agent.ErrContextLength, 400},
		{errors.New("API returned unexpected status code: 404: no such model"), agent.ErrInvalid, 404},
		{errors.New("API returned unexpected status code: 502"), agent.ErrServer, 502},
		{errors.New("request timeout: API call exceeded deadline"), agent.ErrTimeout, 0},
		{errors.New("network error: failed to reach API server"), agent.ErrNetwork, 0},
		{errors.New("no response"), agent.ErrIncomplete, 0},
		{errors.New("received error event: map[error:map[type:overloaded_error]]"), agent.ErrOverloaded, 0},
		{errors.New("something else"), agent.ErrUnknown, 0},
		{llms.NewError(llms.ErrCodeTokenLimit, "x", "too much"), agent.ErrContextLength, 0},
		{fmt.Errorf("wrapped: %w", llms.NewError(llms.ErrCodeQuotaExceeded, "x", "pay")), agent.ErrAuth, 0},
		{&agent.ModelError{Kind: agent.ErrFilter, Status: 400}, agent.ErrFilter, 400},
	}
	for _, tt := range tests {
		f := &fakeLLM{answer: func(context.Context, llms.CallOptions) (*llms.ContentResponse, error) { return nil, tt.err }}
		_, err := agent.Generate(t.Context(), Model(f), &agent.Request{Messages: []agent.Message{agent.UserText("x")}})
		if me := agent.AsModelError(err); me == nil || me.Kind != tt.kind || me.Status != tt.status || !errors.Is(err, tt.err) {
			t.Errorf("%v: got %v, want kind %q, status %d", tt.err, err, tt.kind, tt.status)
		}
	}
}
