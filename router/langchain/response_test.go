package langchain

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"

	"github.com/luthier-dev/luthier/agent"
)

func TestResponses(t *testing.T) {
	text := func(s string) agent.Message {
		return agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: s}}}
	}
	choice := func(c llms.ContentChoice) *llms.ContentResponse {
		return &llms.ContentResponse{Choices: []*llms.ContentChoice{&c}}
	}
	tests := []struct {
		name string
		in   *llms.ContentResponse
		opts []Option
		want *agent.Response
		kind agent.ErrorKind
	}{
		{name: "text", in: choice(llms.ContentChoice{Content: "hi", StopReason: "stop"}), want: &agent.Response{Message: text("hi"), Finish: agent.FinishStop}},
		{name: "google's words", in: choice(llms.ContentChoice{Content: "hi", StopReason: "FinishReasonMaxTokens", GenerationInfo: map[string]any{"input_tokens": int32(3), "output_tokens": int32(2)}}),
			want: &agent.Response{Message: text("hi"), Finish: agent.FinishLength, Usage: agent.Usage{Input: 3, Output: 2}}},
		{name: "anthropic's cache", in: choice(llms.ContentChoice{Content: "hi", StopReason: "end_turn", GenerationInfo: map[string]any{"InputTokens": 3, "OutputTokens": 2, "CacheReadInputTokens": 100, "CacheCreationInputTokens": 10}}),
			want: &agent.Response{Message: text("hi"), Finish: agent.FinishStop, Usage: agent.Usage{Input: 113, CachedInput: 100, CacheWrite: 10, Output: 2}}},
		{name: "choices are folded", in: &llms.ContentResponse{Choices: []*llms.ContentChoice{
			{GenerationInfo: map[string]any{"ThinkingContent": "hm", "ThinkingSignature": "sig", "InputTokens": 3, "OutputTokens": 2}, StopReason: "tool_use"},
			nil,
			{Content: "I look.", GenerationInfo: map[string]any{"ThinkingContent": "", "InputTokens": 3, "OutputTokens": 2}, StopReason: "tool_use"},
			{ToolCalls: []llms.ToolCall{{ID: "a", FunctionCall: &llms.FunctionCall{Name: "look", Arguments: `{"at":1}`}}}, StopReason: "tool_use"},
			{ToolCalls: []llms.ToolCall{{ID: "a", FunctionCall: &llms.FunctionCall{Name: "look"}}, {ID: "broken"}}, StopReason: "tool_use"},
		}}, want: &agent.Response{Message: agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "hm", Signature: "sig", Provider: "langchain"}, agent.Text{Text: "I look."},
			agent.ToolCall{ID: "a", Name: "look", Args: json.RawMessage(`{"at":1}`)}, agent.ToolCall{ID: "call_1_1", Name: "look", Args: json.RawMessage(`{}`)}}},
			Usage: agent.Usage{Input: 3, Output: 2}, Finish: agent.FinishTools}},
		{name: "old function call", in: choice(llms.ContentChoice{FuncCall: &llms.FunctionCall{Name: "look", Arguments: "{}"}, StopReason: "stop"}),
			want: &agent.Response{Message: agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "call_1_0", Name: "look", Args: json.RawMessage(`{}`)}}}, Finish: agent.FinishTools}},
		{name: "no stop reason", in: choice(llms.ContentChoice{Content: "hal"}), kind: agent.ErrIncomplete},
		{name: "no stop reason, trusted", in: choice(llms.ContentChoice{Content: "hi"}), opts: []Option{TrustEmptyStop()}, want: &agent.Response{Message: text("hi"), Finish: agent.FinishStop}},
		{name: "no choices", in: &llms.ContentResponse{}, kind: agent.ErrIncomplete},
		{name: "nothing", kind: agent.ErrIncomplete},
		{name: "unknown reason", in: choice(llms.ContentChoice{Content: "hi", StopReason: "tired"}), want: &agent.Response{Message: text("hi"), Finish: agent.FinishOther}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeLLM{answer: func(context.Context, llms.CallOptions) (*llms.ContentResponse, error) { return tt.in, nil }}
			got, err := agent.Generate(t.Context(), Model(f, tt.opts...), &agent.Request{Messages: []agent.Message{agent.UserText("x")}})
			if tt.kind != "" {
				if agent.AsModelError(err) == nil || agent.AsModelError(err).Kind != tt.kind {
					t.Errorf("err = %v, want kind %q", err, tt.kind)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamedText(t *testing.T) {
	tests := []struct {
		name     string
		streamed []string
		content  string
		want     []string
		fails    bool
	}{
		{"all streamed", []string{"Hel", "", "lo"}, "Hello", []string{"Hel", "lo"}, false},
		{"the rest follows", []string{"Hel"}, "Hello", []string{"Hel", "lo"}, false},
		{"nothing streamed", nil, "Hello", []string{"Hello"}, false},
		{"something else streamed", []string{"[{\"tool\""}, "Hello", []string{"[{\"tool\""}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeLLM{answer: func(ctx context.Context, opts llms.CallOptions) (*llms.ContentResponse, error) {
				for _, s := range tt.streamed {
					if err := opts.StreamingFunc(ctx, []byte(s)); err != nil {
						return nil, err
					}
					if err := opts.StreamingReasoningFunc(ctx, nil, []byte(s)); err != nil {
						return nil, err
					}
				}
				return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: tt.content, StopReason: "stop"}}}, nil
			}}
			var got []string
			var failed error
			for c, err := range Model(f).Stream(t.Context(), &agent.Request{Messages: []agent.Message{agent.UserText("x")}}) {
				if d, ok := c.(agent.TextDelta); ok {
					got = append(got, d.Text)
				}
				failed = err
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || (failed != nil) != tt.fails {
				t.Errorf("err %v, pieces (-want +got):\n%s", failed, diff)
			}
		})
	}
}
