package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

func ptr[T any](v T) *T { return &v }

// everything returns a request that uses every part of agent.Request.
func everything() *agent.Request {
	return &agent.Request{
		System: "Be <brief> & \"kind\".\nAlways.",
		Messages: []agent.Message{
			agent.UserText("What is in this picture?"),
			{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "and this?"}, agent.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}, agent.Image{URL: "https://example.com/a.png"}}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{
				agent.Thinking{Text: "plain thought"}, agent.Thinking{Text: "signed thought", Signature: "sig=="}, agent.Thinking{Redacted: []byte("foreign")},
				agent.Opaque{Provider: "somebody-else", Data: json.RawMessage(`{"x":1}`)},
				agent.Text{Text: "Let me look."},
				agent.ToolCall{ID: "c1", Name: "read", Args: json.RawMessage(`{"path": "ä.go"}`)},
				agent.ToolCall{ID: "c2", Name: "now"},
				agent.ToolCall{ID: "c3", Name: "read", Args: json.RawMessage(`{"path": oops`)},
			}},
			{Role: agent.RoleTool, Parts: []agent.Part{
				agent.ToolResult{CallID: "c1", Parts: []agent.Part{agent.Text{Text: "line 1"}, agent.Text{Text: "line 2"}, agent.Image{MediaType: "image/png", Data: []byte{4}}}},
				agent.ToolResult{CallID: "c2"},
				agent.ToolResult{CallID: "c3", IsError: true, Parts: []agent.Part{agent.Text{Text: "arguments are not JSON"}}},
			}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{
				agent.Opaque{Provider: chatParts, Data: json.RawMessage(`{"reasoning_details":[{"type":"reasoning.text","text":"t"}]}`)},
				agent.Opaque{Provider: responseItems, Data: json.RawMessage(`{"type":"web_search_call","id":"ws_1","status":"completed"}`)},
				agent.Text{Text: "Done."}}},
			agent.UserText("Thanks"),
		},
		Tools: []agent.ToolSpec{
			{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
			{Name: "now"},
		},
		ToolChoice:  agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "read"},
		Output:      &agent.OutputSchema{Name: "verdict", Schema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)},
		MaxOutput:   100,
		Temperature: ptr(0.25),
		Effort:      agent.EffortHigh,
		Seed:        ptr(int64(7)),
		SessionID:   "session-1",
		Extra:       map[string]json.RawMessage{"user": json.RawMessage(`"u"`), "a_field": json.RawMessage(`{"b": [1,2]}`), "temperature": json.RawMessage(`0.5`), "stream_options": json.RawMessage(`null`)},
	}
}

func encode(t testing.TB, m *Model, req *agent.Request) []byte {
	t.Helper()
	write := m.chatBody
	if m.cfg.API == Responses {
		write = m.responsesBody
	}
	body, err := write(nil, req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestGoldenBodies compares whole request bodies with testdata/bodies, and parses them with the
// SDK's own types.
func TestGoldenBodies(t *testing.T) {
	withStop := func() *agent.Request { r := everything(); r.Stop = []string{"END"}; return r }
	for _, tt := range []struct {
		name string
		cfg  Config
		req  *agent.Request
	}{
		{"chat-openai", Config{Model: "gpt-5", StrictTools: true, SystemRole: "developer"}, withStop()},
		{"chat-local", Config{Model: "qwen3", BaseURL: "http://localhost:8000/v1"}, withStop()},
		{"chat-openrouter", Config{Model: "x/y", BaseURL: "https://openrouter.ai/api/v1"}, withStop()},
		{"responses", Config{Model: "gpt-5", API: Responses, Summary: "auto"}, everything()},
		{"chat-plain", Config{Model: "gpt-4o"}, hello()},
		{"responses-plain", Config{Model: "gpt-4o", API: Responses}, hello()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.NoKey = true
			body := encode(t, newModel(t, tt.cfg), tt.req)
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, body, "", "\t"); err != nil {
				t.Fatalf("the body is not JSON: %v\n%s", err, body)
			}
			var params any = &sdk.ChatCompletionNewParams{}
			if tt.cfg.API == Responses {
				params = &responses.ResponseNewParams{}
			}
			if err := json.Unmarshal(body, params); err != nil {
				t.Errorf("the SDK's types do not read it: %v", err)
			}
			golden := filepath.Join("testdata", "bodies", tt.name+".json")
			if *update {
				if err := os.WriteFile(golden, append(pretty.Bytes(), '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(string(want)), pretty.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBodiesExtendEachOther: as a conversation grows message by message, each body starts with the
// bytes of the one before, except for its closing brackets.
//
// Evidence: backends · Each request begins with the bytes of the one before
func TestBodiesExtendEachOther(t *testing.T) {
	for _, api := range []API{Chat, Responses} {
		m := newModel(t, Config{Model: "gpt-5", API: api, NoKey: true})
		all := everything()
		var before []byte
		for n := 1; n <= len(all.Messages); n++ {
			req := *all
			req.Messages = all.Messages[:n]
			body := encode(t, m, &req)
			if prefix := bytes.TrimSuffix(before, []byte("]}")); !bytes.HasPrefix(body, prefix) {
				t.Errorf("%s: with message %d the body changed before its end:\n%s\n%s", api, n, prefix, body)
			}
			before = body
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	user := func(ps ...agent.Part) []agent.Message {
		return []agent.Message{agent.UserText("x"), {Role: agent.RoleUser, Parts: ps}}
	}
	for _, tt := range []struct {
		name string
		req  *agent.Request
		kind agent.ErrorKind
		want string
	}{
		{"image without type", &agent.Request{Messages: user(agent.Image{Data: []byte{1}})}, agent.ErrInvalid, "message 1: encode request: an image has data but no MediaType"},
		{"empty image", &agent.Request{Messages: user(agent.Image{})}, agent.ErrInvalid, "neither Data nor URL"},
		{"call in user message", &agent.Request{Messages: user(agent.ToolCall{ID: "a"})}, agent.ErrInvalid, "agent.ToolCall"},
		{"image of assistant", &agent.Request{Messages: []agent.Message{{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Image{URL: "u"}}}}}, agent.ErrUnsupported, "images of the assistant"},
		{"result of assistant", &agent.Request{Messages: []agent.Message{{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolResult{}}}}}, agent.ErrInvalid, "esult"},
		{"required without tools", &agent.Request{ToolChoice: agent.ToolChoice{Mode: agent.ToolModeRequired}}, agent.ErrInvalid, "no tool is offered"},
		{"named but not offered", &agent.Request{ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "x"}}, agent.ErrInvalid, `"x"`},
		{"odd mode", &agent.Request{ToolChoice: agent.ToolChoice{Mode: "maybe"}}, agent.ErrUnsupported, "maybe"},
		{"extra is not JSON", &agent.Request{Extra: map[string]json.RawMessage{"a": json.RawMessage("{")}}, agent.ErrInvalid, `Extra["a"]`},
		{"schema is not JSON", &agent.Request{Tools: []agent.ToolSpec{{Name: "t", Schema: json.RawMessage("{")}}}, agent.ErrInvalid, `tool "t"`},
	} {
		for _, api := range []API{Chat, Responses} {
			m := newModel(t, Config{Model: "m", API: api, BaseURL: "http://localhost:1/v1", NoKey: true})
			_, err := agent.Generate(t.Context(), m, tt.req)
			var me *agent.ModelError
			if !errors.As(err, &me) || me.Kind != tt.kind || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: error %v, want kind %s and %q", tt.name, api, err, tt.kind, tt.want)
			}
		}
	}
}

func TestNewChecksItsConfig(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("OPENAI_API_KEY", "")
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "Config.Model"},
		{Config{Model: "m", API: "soap"}, "Config.API"},
		{Config{Model: "m", BaseURL: "localhost:8000"}, "Config.BaseURL"},
		{Config{Model: "m", BaseURL: "ftp://x/v1"}, "Config.BaseURL"},
		{Config{Model: "m", APIKey: "a", NoKey: true}, "Config.NoKey"},
		{Config{Model: "m", APIKey: "a\nb"}, "Config.APIKey"},
		{Config{Model: "m", TokensField: "tokens"}, "Config.TokensField"},
		{Config{Model: "m", Reasoning: "loud"}, "Config.Reasoning"},
		{Config{Model: "m", SystemRole: "king"}, "Config.SystemRole"},
		{Config{Model: "m", Summary: "long"}, "Config.Summary"},
	} {
		if _, err := New(tt.cfg); err == nil || !strings.HasPrefix(err.Error(), "openai: new: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%+v) = %v, want an error that names %s", tt.cfg, err, tt.want)
		}
	}
	t.Setenv("OPENAI_BASE_URL", "nonsense")
	if _, err := New(Config{Model: "m"}); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("a bad address in the environment: %v", err)
	}
}

func TestReasoningModelNames(t *testing.T) {
	for name, want := range map[string]bool{"gpt-5": true, "gpt-5-mini": true, "gpt-6": true, "o3": true, "o4-mini": true, "openai/gpt-5.1": true, "gpt-oss-120b": true, "codex-mini-latest": true,
		"gpt-4o": false, "gpt-4.1": false, "gpt-5-chat-latest": false, "qwen3": false, "omni": false, "": false, "gpt-": false} {
		if got := reasoningModel(name); got != want {
			t.Errorf("reasoningModel(%q) = %v", name, got)
		}
	}
}

// long returns a conversation of n steps with a result of about 2 kB each.
func long(n int) *agent.Request {
	req := &agent.Request{System: strings.Repeat("instructions ", 300), Tools: everything().Tools, Messages: []agent.Message{agent.UserText("go")}}
	output := strings.Repeat("ok  \tgithub.com/x/y\t0.01s \"quoted\"\n", 60)
	for i := range n {
		id := fmt.Sprint("call_", i)
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: "Next."}, agent.ToolCall{ID: id, Name: "read", Args: json.RawMessage(`{"path":"a.go"}`)}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: output}}}}})
	}
	return req
}

func BenchmarkEncode(b *testing.B) {
	for _, steps := range []int{10, 100, 1000} {
		for _, api := range []API{Chat, Responses} {
			m, err := New(Config{Model: "gpt-5", API: api, NoKey: true})
			if err != nil {
				b.Fatal(err)
			}
			req := long(steps)
			b.Run(fmt.Sprintf("%s/steps=%d", api, steps), func(b *testing.B) {
				write := m.chatBody
				if api == Responses {
					write = m.responsesBody
				}
				b.ReportAllocs()
				for b.Loop() {
					body, err := write(make([]byte, 0, estimate(req)), req)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(body)))
				}
			})
		}
	}
}

// BenchmarkStream reads an answer of 1,000 text deltas over loopback.
func BenchmarkStream(b *testing.B) {
	words := make([]string, 1000)
	for i := range words {
		words[i] = "word "
	}
	srv := offerChat(b, agenttest.Script(agenttest.Text(words...)).Loop().Forget())
	m, err := New(Config{Model: "m", BaseURL: srv.URL + "/v1", NoKey: true, HTTPClient: testClient(b)})
	if err != nil {
		b.Fatal(err)
	}
	req := hello()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := agent.Generate(context.Background(), m, req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode reads the same answer without a server.
func BenchmarkDecode(b *testing.B) {
	event := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"
	data := strings.Repeat(event, 1000) + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	m, err := New(Config{Model: "m", NoKey: true})
	if err != nil {
		b.Fatal(err)
	}
	req := hello()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		res := &http.Response{Header: http.Header{}, Body: io.NopCloser(strings.NewReader(data))}
		if err := m.read(context.Background(), res, m.newDecoder(req), func(agent.Chunk, error) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
