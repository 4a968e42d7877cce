package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
)

// start serves m on loopback until t ends, and returns a client whose connections end with it.
func start(t testing.TB, m agent.Model, cfg serve.Config) (*httptest.Server, *http.Client) {
	t.Helper()
	handler, err := serve.New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv, &http.Client{Transport: transport}
}

func call(t testing.TB, c *http.Client, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

const hello = `{"messages":[{"role":"user","content":"hi"}]}`

// traced is a model that reports its tokens.
type traced struct{ words []string }

func (m traced) Stream(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		trace := agent.ContextTokenTrace(ctx)
		for i, w := range m.words {
			if trace != nil {
				tok := agent.Token{ID: int32(i), Text: w, LogProb: -0.5}
				for k := range trace.Top {
					tok.Top = append(tok.Top, agent.TokenAlternative{ID: int32(k), Text: "alt", LogProb: -float64(k)})
				}
				trace.Token(tok)
			}
			if !yield(agent.TextDelta{Text: w}, nil) {
				return
			}
		}
		_ = yield(agent.Usage{Input: 3, Output: int64(len(m.words)), CachedInput: 1}, nil) && yield(agent.Finish{Reason: agent.FinishStop}, nil)
	}
}

func (traced) Tokenize(text string, special bool) []int32 {
	out := []int32{}
	for _, b := range []byte(text) {
		out = append(out, int32(b))
	}
	if special {
		out = append(out, 256)
	}
	return out
}

func (traced) Detokenize(tokens []int32) string {
	var b []byte
	for _, t := range tokens {
		b = append(b, byte(t))
	}
	return string(b)
}

// Evidence: server · The official OpenAI client works with the server
func TestOfficialClient(t *testing.T) {
	agenttest.CheckLeaks(t)
	srv, hc := start(t, traced{[]string{"Hel", "lo ", "wörld"}}, serve.Config{Name: "m1"})
	client := openai.NewClient(option.WithBaseURL(srv.URL+"/v1"), option.WithAPIKey("x"), option.WithHTTPClient(hc), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{Model: "m1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
		Logprobs: openai.Bool(true), TopLogprobs: openai.Int(2)}

	whole, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	c := whole.Choices[0]
	if c.Message.Content != "Hello wörld" || c.FinishReason != "stop" || whole.Usage.PromptTokensDetails.CachedTokens != 1 || whole.Usage.TotalTokens != 6 {
		t.Errorf("whole = %s", whole.RawJSON())
	}
	if lp := c.Logprobs.Content; len(lp) != 3 || lp[0].Token != "Hel" || lp[0].Logprob != -0.5 || len(lp[0].TopLogprobs) != 2 || len(lp[2].Bytes) != len("wörld") {
		t.Errorf("logprobs = %s", c.Logprobs.RawJSON())
	}

	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	var tokens []string
	for stream.Next() {
		ev := stream.Current()
		if !acc.AddChunk(ev) {
			t.Fatal("the client could not add a chunk")
		}
		for _, ch := range ev.Choices {
			for _, lp := range ch.Logprobs.Content {
				tokens = append(tokens, lp.Token)
			}
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if acc.Choices[0].Message.Content != "Hello wörld" || acc.Usage.TotalTokens != 6 {
		t.Errorf("streamed = %+v", acc.ChatCompletion)
	}
	if d := cmp.Diff([]string{"Hel", "lo ", "wörld"}, tokens); d != "" {
		t.Errorf("tokens of the stream (-want +got):\n%s", d)
	}

	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 1 || models.Data[0].ID != "m1" {
		t.Errorf("models = %+v, %v", models, err)
	}
	if _, err := client.Models.Get(t.Context(), "other"); err == nil {
		t.Error("an unknown model was found")
	}
}

func TestTokenizeOverHTTP(t *testing.T) {
	srv, hc := start(t, traced{}, serve.Config{})
	if _, got, _ := call(t, hc, "POST", srv.URL+"/tokenize", `{"content":"ab","special":false}`); got != `{"tokens":[97,98]}`+"\n" {
		t.Errorf("tokenize = %s", got)
	}
	if _, got, _ := call(t, hc, "POST", srv.URL+"/detokenize", `{"tokens":[97,98]}`); got != `{"content":"ab"}`+"\n" {
		t.Errorf("detokenize = %s", got)
	}
}

// TestRequestFields checks which fields of a body reach the model, and in what form.
func TestRequestFields(t *testing.T) {
	script := agenttest.Script(agenttest.Text("ok"))
	srv, hc := start(t, script, serve.Config{})
	body := `{"model":"agenttest","max_completion_tokens":7,"temperature":0.5,"stop":["A","B"],"seed":9,"top_p":0.9,"min_p":null,"reasoning_effort":"low",
	 "prompt_cache_key":"s1","parallel_tool_calls":false,"tool_choice":{"type":"function","function":{"name":"f"}},
	 "tools":[{"type":"function","function":{"name":"f","description":"d"}}],
	 "response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}},
	 "messages":[{"role":"system","content":"one"},{"role":"developer","content":[{"type":"text","text":"two"}]},
	  {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}}]},
	  {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},
	  {"role":"tool","tool_call_id":"1","content":"r1"},{"role":"tool","tool_call_id":"2","content":"r2"}]}`
	if status, got, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", body); status != 200 {
		t.Fatalf("status %d: %s", status, got)
	}
	temperature, seed := 0.5, int64(9)
	args := json.RawMessage(`{}`)
	want := &agent.Request{
		System: "one\n\ntwo", MaxOutput: 7, Temperature: &temperature, Seed: &seed, Stop: []string{"A", "B"}, Effort: agent.EffortLow, SessionID: "s1",
		ToolChoice: agent.ToolChoice{Mode: agent.ToolModeNamed, Name: "f"},
		Tools:      []agent.ToolSpec{{Name: "f", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Output:     &agent.OutputSchema{Name: "n", Schema: json.RawMessage(`{"type":"object"}`)},
		Extra:      map[string]json.RawMessage{"top_p": json.RawMessage("0.9"), "parallel_tool_calls": json.RawMessage("false")},
		Messages: []agent.Message{
			{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "look"}, agent.Image{MediaType: "image/png", Data: []byte{0, 1, 2}}}},
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Thinking{Text: "hm"}, agent.ToolCall{ID: "1", Name: "f", Args: args}, agent.ToolCall{ID: "2", Name: "f", Args: args}}},
			{Role: agent.RoleTool, Parts: []agent.Part{
				agent.ToolResult{CallID: "1", Parts: []agent.Part{agent.Text{Text: "r1"}}}, agent.ToolResult{CallID: "2", Parts: []agent.Part{agent.Text{Text: "r2"}}}}},
		},
	}
	if d := cmp.Diff(want, script.Requests()[0]); d != "" {
		t.Errorf("the request (-want +got):\n%s", d)
	}
}

// Evidence: server · Bad requests are refused with a reason
func TestRefusals(t *testing.T) {
	srv, hc := start(t, agenttest.Script(agenttest.Text("never")), serve.Config{MaxBody: 4096})
	msg := `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct{ name, method, path, body, want string }{
		{"not json", "POST", "/v1/chat/completions", `{`, "400"},
		{"wrong type", "POST", "/v1/chat/completions", `{"messages":7}`, "400 messages"},
		{"no messages", "POST", "/v1/chat/completions", `{"messages":[]}`, "400 messages"},
		{"role", "POST", "/v1/chat/completions", `{"messages":[{"role":"oracle","content":""}]}`, "400 messages"},
		{"content", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"video"}]}]}`, "400 messages"},
		{"picture", "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,%"}}]}]}`, "400 messages"},
		{"n", "POST", "/v1/chat/completions", `{"n":9,` + msg + `}`, "400 n"},
		{"no choices", "POST", "/v1/chat/completions", `{"n":0,` + msg + `}`, "400 n"},
		{"half a choice", "POST", "/v1/chat/completions", `{"n":1.5,` + msg + `}`, "400 n"},
		{"model", "POST", "/v1/chat/completions", `{"model":"other",` + msg + `}`, "404 model"},
		{"model in capitals", "POST", "/v1/chat/completions", `{"model":"AgentTest",` + msg + `}`, "404 model"},
		{"no name of a model", "POST", "/v1/chat/completions", `{"model":7,` + msg + `}`, "400 model"},
		{"every model", "POST", "/v1/chat/completions", `{"model":"*",` + msg + `}`, "404 model"},
		{"temperature", "POST", "/v1/chat/completions", `{"temperature":-1,` + msg + `}`, "400 temperature"},
		{"max_tokens", "POST", "/v1/chat/completions", `{"max_tokens":0,` + msg + `}`, "400 max_tokens"},
		{"tool_choice", "POST", "/v1/chat/completions", `{"tool_choice":"perhaps",` + msg + `}`, "400 tool_choice"},
		{"top_logprobs", "POST", "/v1/chat/completions", `{"top_logprobs":3,` + msg + `}`, "400 top_logprobs"},
		{"response_format", "POST", "/v1/chat/completions", `{"response_format":{"type":"xml"},` + msg + `}`, "400 response_format"},
		{"tool", "POST", "/v1/chat/completions", `{"tools":[{"type":"function","function":{}}],` + msg + `}`, "400 tools"},
		{"huge", "POST", "/v1/chat/completions", `{"user":"` + strings.Repeat("x", 5000) + `",` + msg + `}`, "413"},
		{"endpoint", "POST", "/v1/embeddings", `{}`, "404"},
		{"method", "GET", "/v1/chat/completions", ``, "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body, _ := call(t, hc, c.method, srv.URL+c.path, c.body)
			var e struct {
				Error struct {
					Message, Type string
					Param         *string
				}
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
				t.Fatalf("status %d, the body is no error object: %s", status, body)
			}
			got := fmt.Sprint(status)
			if e.Error.Param != nil {
				got += " " + *e.Error.Param
			}
			if got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, e.Error.Message)
			}
		})
	}
}

func TestKey(t *testing.T) {
	srv, hc := start(t, agenttest.Script(agenttest.Text("hi")), serve.Config{Key: "secret"})
	if status, _, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello, "Authorization", "Bearer guess"); status != 401 {
		t.Errorf("a wrong key: status %d", status)
	}
	if status, _, _ := call(t, hc, "GET", srv.URL+"/metrics", ""); status != 401 {
		t.Errorf("metrics without a key: status %d", status)
	}
	if status, _, _ := call(t, hc, "GET", srv.URL+"/health", ""); status != 200 {
		t.Errorf("health without a key: status %d", status)
	}
	if status, _, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello, "Authorization", "Bearer secret"); status != 200 {
		t.Errorf("the key: status %d", status)
	}
}

// blocking is a model that waits until it is released.
type blocking struct {
	begun   chan struct{}
	release chan struct{}
	ended   sync.WaitGroup
}

func (m *blocking) Stream(ctx context.Context, _ *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		m.ended.Add(1)
		defer m.ended.Done()
		m.begun <- struct{}{}
		select {
		case <-m.release:
			_ = yield(agent.TextDelta{Text: "late"}, nil) && yield(agent.Finish{Reason: agent.FinishStop}, nil)
		case <-ctx.Done():
			yield(nil, &agent.ModelError{Kind: agent.ErrCanceled, Err: ctx.Err()})
		}
	}
}

// TestQueue: if the places and the queue are full, the next request is refused with 429 and
// Retry-After, and a client that goes away makes room.
//
// Evidence: server · A full queue answers 429 with Retry-After
func TestQueue(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := &blocking{begun: make(chan struct{}, 8), release: make(chan struct{})}
	srv, hc := start(t, m, serve.Config{MaxConcurrent: 1, Queue: 1})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	post := func(ctx context.Context, out chan error) {
		req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/v1/chat/completions", strings.NewReader(hello))
		res, err := hc.Do(req)
		if err == nil {
			_, err = io.ReadAll(res.Body)
			res.Body.Close()
		}
		out <- err
	}
	go post(ctx, first)
	<-m.begun
	second := make(chan error, 1)
	go post(t.Context(), second)
	waiting(t, hc, srv.URL, 1)

	status, body, header := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello)
	if status != 429 || header.Get("Retry-After") == "" || !strings.Contains(body, "rate_limit_exceeded") {
		t.Errorf("with a full queue: status %d, Retry-After %q, %s", status, header.Get("Retry-After"), body)
	}
	cancel() // the first client vanishes: the second's turn comes
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled request: %v", err)
	}
	<-m.begun
	close(m.release)
	if err := <-second; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
	m.ended.Wait()
}

// waiting polls until n requests wait.
func waiting(t *testing.T, hc *http.Client, url string, n int) {
	t.Helper()
	want := fmt.Sprintf("luthier_waiting %d\n", n)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, body, _ := call(t, hc, "GET", url+"/metrics", ""); strings.Contains(body, want) {
			return
		}
	}
	t.Fatalf("no %q within a minute", want)
}

func TestHeartbeat(t *testing.T) {
	m := &blocking{begun: make(chan struct{}, 1), release: make(chan struct{})}
	srv, hc := start(t, m, serve.Config{Heartbeat: 5 * time.Millisecond})
	res, err := hc.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(strings.Replace(hello, "{", `{"stream":true,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	beat := make([]byte, 15)
	if _, err := io.ReadFull(res.Body, beat); err != nil || string(beat) != ": still working" {
		t.Fatalf("first bytes %q, %v", beat, err)
	}
	close(m.release)
	rest, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(rest, []byte(`"content":"late"`)) || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) {
		t.Errorf("rest = %s, %v", rest, err)
	}
}

// TestErrors: a model's error keeps its kind on the wire, before and in the middle of a stream.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err    *agent.ModelError
		status int
		want   string
	}{
		{&agent.ModelError{Kind: agent.ErrContextLength, Err: errors.New("4,096 of 2,048 tokens")}, 400, "context_length_exceeded"},
		{&agent.ModelError{Kind: agent.ErrOverloaded, Err: errors.New("busy"), RetryAfter: 1500 * time.Millisecond}, 503, "overloaded"},
		{&agent.ModelError{Kind: agent.ErrInvalid, Err: errors.New("no")}, 400, "invalid_request_error"},
		{&agent.ModelError{Kind: "odd", Err: errors.New("no")}, 500, "server_error"},
	} {
		srv, hc := start(t, agenttest.Script(agenttest.Error(c.err), agenttest.Join(agenttest.Text("half"), agenttest.Error(c.err))), serve.Config{})
		status, body, header := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello)
		if status != c.status || !strings.Contains(body, c.want) || !strings.Contains(body, c.err.Err.Error()) {
			t.Errorf("%s: status %d, %s", c.err.Kind, status, body)
		}
		if c.err.RetryAfter > 0 && header.Get("Retry-After") != "2" {
			t.Errorf("%s: Retry-After %q, want 2", c.err.Kind, header.Get("Retry-After"))
		}
		_, body, _ = call(t, hc, "POST", srv.URL+"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1))
		if !strings.Contains(body, `"half"`) || !strings.Contains(body, `"error"`) || strings.Contains(body, "[DONE]") {
			t.Errorf("%s in a stream: %s", c.err.Kind, body)
		}
	}
}

// Evidence: server · The server reports metrics
func TestMetricsOfModel(t *testing.T) {
	srv, hc := start(t, traced{[]string{"a"}}, serve.Config{Metrics: func(emit func(string, string, bool, map[string]string, float64)) {
		emit("engine_passes_total", "Passes.", true, map[string]string{"kind": "decode"}, 12)
	}})
	call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello)
	_, body, _ := call(t, hc, "GET", srv.URL+"/metrics", "")
	for _, want := range []string{`engine_passes_total{kind="decode"} 12`, `luthier_requests_total{outcome="ok"} 1`, `luthier_tokens_total{kind="input"} 3`, "luthier_first_byte_seconds_count 1"} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics lack %q:\n%s", want, body)
		}
	}
}

// TestShutdown lets a running answer end and accepts no new one.
//
// Evidence: server · A shutdown lets running answers end
func TestShutdown(t *testing.T) {
	agenttest.CheckLeaks(t)
	m := &blocking{begun: make(chan struct{}, 1), release: make(chan struct{})}
	handler, err := serve.New(m, serve.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(handler)
	srv.Start()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	hc := &http.Client{Transport: transport}
	got := make(chan string, 1)
	go func() {
		_, body, _ := call(t, hc, "POST", srv.URL+"/v1/chat/completions", hello)
		got <- body
	}()
	<-m.begun
	down := make(chan error, 1)
	go func() { down <- srv.Config.Shutdown(context.Background()) }()
	for srv.Config.Handler != nil {
		if res, err := hc.Get(srv.URL + "/health"); err != nil {
			break
		} else {
			res.Body.Close()
		}
	}
	close(m.release)
	if body := <-got; !strings.Contains(body, "late") {
		t.Errorf("the running answer: %s", body)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	srv.Close()
}

// FuzzChatBody: the handler answers any body with a status and never panics.
func FuzzChatBody(f *testing.F) {
	for _, s := range []string{hello, `{}`, `null`, `[]`, `{"messages":[null]}`, `{"messages":[{"role":"user","content":[{}]}]}`,
		`{"messages":[{"role":"tool"}],"tools":[{}],"stop":{},"tool_choice":[]}`, `{"stream":true,"messages":[{"role":"user","content":"x"}],"logprobs":true,"top_logprobs":20}`} {
		f.Add([]byte(s))
	}
	handler, err := serve.New(agenttest.Script(agenttest.Text("ok")).Loop().Forget(), serve.Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body)))
		if rec.Code != 200 && rec.Code != 400 && rec.Code != 413 {
			t.Errorf("status %d: %s", rec.Code, rec.Body)
		}
	})
}
