package langchain

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"
)

// The tests in this file document the bugs of langchaingo that this package works around, with its
// real clients and a server on loopback. If one fails after an update, its workaround may be
// removed.

// server answers every request with reply and keeps the last body.
type server struct {
	*httptest.Server
	body string
}

func serve(t testing.TB, contentType, reply string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		s.body = string(data)
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, reply)
	}))
	t.Cleanup(s.Close)
	return s
}

const (
	openaiDone    = `{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`
	anthropicDone = `{"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}`
)

func call(id string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: "look", Arguments: "{}"}}
}

func stream() []llms.CallOption {
	return []llms.CallOption{llms.WithStreamingFunc(func(context.Context, []byte) error { return nil })}
}

func TestFaultAnthropicSendsOnlyTheFirstPart(t *testing.T) {
	srv := serve(t, "application/json", anthropicDone)
	_, err := anthropicClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeHuman, "look"),
		{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextContent{Text: "I look."}, call("call_a"), call("call_b")}},
		{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "call_a", Content: "seen a"}, llms.ToolCallResponse{ToolCallID: "call_b", Content: "seen b"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(srv.body, "I look.") || strings.Contains(srv.body, "tool_use\"") || !strings.Contains(srv.body, "seen a") || strings.Contains(srv.body, "seen b") {
		t.Errorf("more than the first part was sent: %s", srv.body)
	}
}

func TestFaultOpenAIRefusesSeveralResults(t *testing.T) {
	srv := serve(t, "application/json", openaiDone)
	_, err := openaiClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{
		{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "call_a"}, llms.ToolCallResponse{ToolCallID: "call_b"}}},
	})
	if err == nil || !strings.Contains(err.Error(), "expected exactly one part") {
		t.Errorf("several results in one message: %v", err)
	}
}

func TestFaultOpenAIMixesStreamedCalls(t *testing.T) {
	piece := func(index int, fields string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":` + string(rune('0'+index)) + `,` + fields + `}]}}]}` + "\n\n"
	}
	srv := serve(t, "text/event-stream",
		piece(0, `"id":"a","type":"function","function":{"name":"look","arguments":""}`)+piece(1, `"id":"b","type":"function","function":{"name":"look","arguments":""}`)+
			piece(0, `"function":{"arguments":"{\"for\":\"a\"}"}`)+piece(1, `"function":{"arguments":"{\"for\":\"b\"}"}`)+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	res, err := openaiClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "look")}, stream()...)
	if err != nil {
		t.Fatal(err)
	}
	calls := res.Choices[0].ToolCalls
	if len(calls) == 2 && calls[0].FunctionCall.Arguments == `{"for":"a"}` && calls[1].FunctionCall.Arguments == `{"for":"b"}` {
		t.Error("interleaved pieces now reach their own calls")
	}
}

func TestFaultOpenAITruncatedStreamIsSuccess(t *testing.T) {
	srv := serve(t, "text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":"half an"}}]}`+"\n\n")
	res, err := openaiClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")}, stream()...)
	if err != nil || res.Choices[0].Content != "half an" || res.Choices[0].StopReason != "" {
		t.Errorf("a cut stream is now %+v, %v", res, err)
	}
}

func TestFaultOpenAICanceledStreamIsSuccess(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"word "}}]}`+"\n\n")
		}
		w.(http.Flusher).Flush()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	succeeded := 0
	for range 20 { // the reader may see the broken connection first, which is an error
		ctx, cancel := context.WithCancel(t.Context())
		_, err := openaiClient(t, srv.URL).GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")},
			llms.WithStreamingFunc(func(context.Context, []byte) error { cancel(); return nil }))
		if err == nil {
			succeeded++
		}
		cancel()
	}
	if succeeded == 0 {
		t.Error("no cancelled stream of 20 came back as a success")
	}
}

func TestFaultOpenAIDropsWhatItCannotRead(t *testing.T) {
	srv := serve(t, "text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"lost\n\n"+
		`data: {"choices":[{"index":0,"delta":{"content":"kept"}}]}`+"\n\n"+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n")
	res, err := openaiClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")}, stream()...)
	if err != nil || res.Choices[0].Content != "kept" {
		t.Errorf("an unreadable event is now %+v, %v", res, err)
	}
}

func TestFaultUsageRepeatsOnEveryChoice(t *testing.T) {
	srv := serve(t, "application/json", `{"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"look","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}`)
	res, err := anthropicClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Choices) != 2 || res.Choices[0].GenerationInfo["InputTokens"] != 5 || res.Choices[1].GenerationInfo["InputTokens"] != 5 {
		t.Errorf("choices: %+v", res.Choices)
	}
}

func TestFaultErrorsAreStrings(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error":{"message":"slow down"}}`)
	}))
	defer srv.Close()
	for name, llm := range map[string]llms.Model{"openai": openaiClient(t, srv.URL), "anthropic": anthropicClient(t, srv.URL)} {
		_, err := llm.GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")})
		if _, typed := errors.AsType[*llms.Error](err); err == nil || typed || !strings.Contains(err.Error(), "429: slow down") {
			t.Errorf("%s: %v (%T)", name, err, err)
		}
	}
}

func TestFaultOpenAISendsBinaryImages(t *testing.T) {
	srv := serve(t, "application/json", openaiDone)
	_, err := openaiClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("image/png", []byte("x")), llms.TextPart("what is it?")}}})
	if err != nil || !strings.Contains(srv.body, `"type":"binary"`) {
		t.Errorf("binary parts are now sent as %s (%v)", srv.body, err)
	}
}

func TestFaultAnthropicIgnoresToolChoice(t *testing.T) {
	srv := serve(t, "application/json", anthropicDone)
	_, err := anthropicClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")},
		llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "look", Parameters: map[string]any{"type": "object"}}}}), llms.WithToolChoice("none"))
	if err != nil || strings.Contains(srv.body, "tool_choice") {
		t.Errorf("the tool choice is now sent: %s (%v)", srv.body, err)
	}
}

func TestFaultDefaultsOfClients(t *testing.T) {
	srv := serve(t, "application/json", anthropicDone)
	if _, err := anthropicClient(t, srv.URL).GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")}); err != nil {
		t.Fatal(err)
	}
	var body struct {
		MaxTokens   int `json:"max_tokens"`
		Temperature *float64
	}
	if err := json.Unmarshal([]byte(srv.body), &body); err != nil {
		t.Fatal(err)
	}
	if body.MaxTokens != 2048 || body.Temperature == nil || *body.Temperature != 0 {
		t.Errorf("defaults are now %s", srv.body)
	}
}

func TestFaultAnthropicLeavesGoroutine(t *testing.T) {
	srv := serve(t, "text/event-stream", strings.Repeat("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", 2))
	llm := anthropicClient(t, srv.URL)
	for range 3 {
		if _, err := llm.GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "x")}, stream()...); err == nil {
			t.Fatal("no error")
		}
	}
	time.Sleep(50 * time.Millisecond)
	buf := make([]byte, 1<<20)
	if left := strings.Count(string(buf[:runtime.Stack(buf, true)]), "anthropicclient.parseStreamingMessageResponse.func1"); left == 0 {
		t.Error("an error in a stream leaves no goroutine behind any more")
	}
}
