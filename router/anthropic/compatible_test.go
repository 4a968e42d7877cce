package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// answering returns a model on a server that answers with answer, except where refuse gives a
// reason to refuse the body. It counts the requests.
func answering(t *testing.T, name, contentType, answer string, refuse func(body string) string) (*Model, *int) {
	t.Helper()
	requests := new(int)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests++
		data, _ := io.ReadAll(r.Body)
		if err := checkRequest(data); err != nil && strings.HasPrefix(name, "claude") { // the others are less strict
			t.Errorf("the API would refuse it: %v\n%s", err, data)
		}
		if why := refuse(string(data)); why != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, quote(why))
			return
		}
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	return newTestModel(t, srv.URL, func(c *Config) { c.Model = name }), requests
}

func accepts(string) string { return "" }

// stream writes events of a stream.
func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String() + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
}

func callStart(index int, id, more string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":"read"%s}}`, index, id, more)
}

func callArgs(index, args string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%s,"delta":{"type":"input_json_delta","partial_json":%s}}`, index, args)
}

// TestCompatibleStreams: other servers of this API announce calls with empty arguments, send counts
// and numbers in other types, and answer without a stream; the calls have their own arguments.
func TestCompatibleStreams(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, answer string
		want                      []string
	}{
		{"announced with {}", "text/event-stream", stream(callStart(0, "x", `,"input":{}`), callArgs("0", `"{}"`), callArgs("0", `"{\"p\":"`), callArgs("0", `"1}"`)), []string{`x read {"p":1}`}},
		{"only {}", "text/event-stream", stream(callStart(0, "x", `,"input":{}`), callArgs("0", `"{}"`), `{"type":"content_block_stop","index":0}`), []string{`x read {}`}},
		{"whole at the start", "text/event-stream", stream(callStart(0, "x", `,"input":{"p":1}`), `{"type":"content_block_stop","index":0}`), []string{`x read {"p":1}`}},
		{"whole at the start, then streamed", "text/event-stream", stream(callStart(0, "x", `,"input":{"p":1}`), callArgs("0", `"{\"p\":1}"`), `{"type":"content_block_stop","index":0}`), []string{`x read {"p":1}`}},
		{"by turns, numbers as text", "text/event-stream", stream(callStart(0, "x", ``), callStart(1, "y", ``), callArgs(`"0"`, `"{\"p\":1}"`), callArgs(`1.0`, `"{\"p\":2}"`)), []string{`x read {"p":1}`, `y read {"p":2}`}},
		{"odd counts", "text/event-stream", stream(`{"type":"message_start","message":{"usage":{"input_tokens":3.0,"output_tokens":"1"}}}`, `{"type":"message_start","message":{"usage":[]}}`, `{"type":"message_start","message":null}`, callStart(0, "x", `,"input":{"p":1}`), `{"type":"content_block_stop","index":0}`), []string{`x read {"p":1}`}},
		{"not streamed", "application/json", `{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"x","name":"read","input":{"p":1}},{"type":"tool_use","id":"y","name":"read","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":1}}`, []string{`x read {"p":1}`, `y read {}`}},
		{"a stream called JSON", "application/json", stream(callStart(0, "x", `,"input":{"p":1}`), `{"type":"content_block_stop","index":0}`), []string{`x read {"p":1}`}},
	} {
		m, _ := answering(t, "other", tt.contentType, tt.answer, accepts)
		resp, err := agent.Generate(t.Context(), m, &agent.Request{Messages: []agent.Message{agent.UserText("x")}})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []string
		for _, c := range resp.Message.Calls() {
			got = append(got, fmt.Sprint(c.ID, " ", c.Name, " ", string(c.Args)))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || resp.Finish != agent.FinishTools {
			t.Errorf("%s: finish %s (-want +got):\n%s", tt.name, resp.Finish, diff)
		}
	}
}

// TestCallerGoesBack: the fields that the API puts on a call go back with it, byte for byte.
func TestCallerGoesBack(t *testing.T) {
	const caller = `"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}`
	m, _ := answering(t, "claude-sonnet-4-5", "text/event-stream", stream(callStart(0, "x", `,"input":{},`+caller+`,"toolset_name":"a<b>"`), `{"type":"content_block_stop","index":0}`, callStart(1, "y", `,"input":{},"caller":{"type":"direct"}`), `{"type":"content_block_stop","index":1}`), accepts)
	ask := &agent.Request{Messages: []agent.Message{agent.UserText("x")}}
	resp, err := agent.Generate(t.Context(), m, ask)
	if err != nil {
		t.Fatal(err)
	}
	ask.Messages = append(ask.Messages, resp.Message)
	body := string(encode(t, m, ask))
	if !strings.Contains(body, `,"input":{},`+caller+`,"toolset_name":"a<b>"}`) || strings.Contains(body, "direct") {
		t.Errorf("the fields do not go back as they came: %s", body)
	}
	other := newTestModel(t, "http://127.0.0.1:1", func(c *Config) { c.Model = "other" })
	if body := string(encode(t, other, ask)); strings.Contains(body, "caller") {
		t.Errorf("the fields go to another server: %s", body)
	}
}

// TestThinkingWithoutSignature: a server that signs nothing gets its own thinking back, and nobody
// else does.
func TestThinkingWithoutSignature(t *testing.T) {
	thinking := `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"I should read"}}`
	m, _ := answering(t, "glm-5", "text/event-stream", stream(thinking, `{"type":"content_block_stop","index":0}`, callStart(1, "x", `,"input":{}`), `{"type":"content_block_stop","index":1}`), accepts)
	ask := &agent.Request{Messages: []agent.Message{agent.UserText("x")}}
	resp, err := agent.Generate(t.Context(), m, ask)
	if err != nil {
		t.Fatal(err)
	}
	ask.Messages = append(ask.Messages, resp.Message)
	if body := string(encode(t, m, ask)); !strings.Contains(body, `{"type":"thinking","thinking":"I should read","signature":""}`) {
		t.Errorf("its own thinking is not sent back: %s", body)
	}
	for _, name := range []string{"claude-sonnet-4-5", "kimi-k3"} {
		other := newTestModel(t, "http://127.0.0.1:2", func(c *Config) { c.Model = name })
		if body := string(encode(t, other, ask)); strings.Contains(body, "I should read") {
			t.Errorf("%s gets thinking of another server: %s", name, body)
		}
	}
}

// TestLearnedForms: a refusal that names the form of the history is answered with that form, at
// once and from then on; any other refusal is the error that it is.
func TestLearnedForms(t *testing.T) {
	long := regexp.MustCompile(`"(id|tool_use_id)":"[^"]{25}`)
	history := []agent.Message{agent.UserText("go"),
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "hm", Signature: "sig"}, agent.ToolCall{ID: strings.Repeat("call_", 8), Name: "read", Args: json.RawMessage(`{}`)}}},
		{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: strings.Repeat("call_", 8), Parts: []agent.Part{agent.Text{Text: "ok"}}}}},
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "d", Name: "read", Args: json.RawMessage(`{}`)}}},
		{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "d", Parts: []agent.Part{agent.Text{Text: "ok"}}}}}}
	answer := `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	for _, tt := range []struct {
		name, model string
		refuse      func(string) string
		asked       int
	}{
		{"signature of another account", "claude-sonnet-4-5", func(b string) string {
			if strings.Contains(b, `"type":"thinking"`) {
				return "messages.1.content.0: Invalid `signature` in `thinking` block"
			}
			return ""
		}, 2},
		{"thinking is demanded", "deepseek-chat", func(b string) string {
			if strings.Count(b, `"type":"thinking"`) < 2 {
				return "The content[].thinking in the thinking mode must be passed back to the API."
			}
			return ""
		}, 2},
		{"ids are too long", "other", func(b string) string {
			if long.MatchString(b) {
				return "messages.1.content.1.tool_use.id: String should have at most 24 characters"
			}
			return ""
		}, 2},
		{"nothing refused", "other", accepts, 1},
	} {
		m, requests := answering(t, tt.model, "application/json", answer, tt.refuse)
		for i := range 2 {
			if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: history}); err != nil || *requests != tt.asked+i {
				t.Errorf("%s: %d requests, want %d: %v", tt.name, *requests, tt.asked+i, err)
			}
		}
	}
	m, requests := answering(t, "claude-sonnet-4-5", "application/json", answer, func(string) string { return "max_tokens: 99999 > 8192" })
	if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: history}); err == nil || *requests != 1 {
		t.Errorf("a refusal of another kind: %d requests, %v", *requests, err)
	}
}
