package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/wait"
)

// serve starts a server that answers every request in the same way, and returns a model that uses
// it.
func serve(t *testing.T, cfg Config, h http.HandlerFunc) *Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	cfg.BaseURL, cfg.HTTPClient, cfg.NoKey = srv.URL+"/v1", testClient(t), cfg.APIKey == ""
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	return newModel(t, cfg)
}

func hello() *agent.Request {
	return &agent.Request{Messages: []agent.Message{agent.UserText("hello")}}
}

// TestErrorKinds checks the kinds of error bodies. The bodies are modelled on public code and
// reports that name the server; they are not recordings.
func TestErrorKinds(t *testing.T) {
	for _, tt := range []struct {
		server string
		status int
		body   string
		want   agent.ErrorKind
	}{
		{"openai context", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, agent.ErrContextLength},
		{"openai responses context", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, agent.ErrContextLength},
		{"vllm context", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`, agent.ErrContextLength},
		{"vllm decoder prompt", 400, `{"error":{"message":"The decoder prompt (length 9216) is longer than the maximum model length of 8192.","type":"BadRequestError","param":null,"code":400}}`, agent.ErrContextLength},
		{"llama.cpp context", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`, agent.ErrContextLength},
		{"ollama context", 400, `{"error":{"message":"the input length exceeds the context length","type":"api_error","param":null,"code":null}}`, agent.ErrContextLength},
		{"lm studio context", 400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, agent.ErrContextLength},
		{"lm studio keep", 500, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}`, agent.ErrContextLength},
		{"sglang context", 400, `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (8192 tokens).","type":"BadRequestError","code":400}`, agent.ErrContextLength},
		{"tgi context", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`\",\"error_type\":\"validation\"}", agent.ErrContextLength},
		{"mistral context", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, agent.ErrContextLength},
		{"gemini context", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, agent.ErrContextLength},
		{"llama.cpp newer", 400, `{"error":{"code":400,"message":"request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"invalid_request_error"}}`, agent.ErrContextLength},
		{"kimi context", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, agent.ErrContextLength},
		{"minimax context", 400, `{"error":{"message":"invalid params, context window exceeds limit","type":"bad_request_error"}}`, agent.ErrContextLength},
		{"z.ai context", 400, `{"error":{"message":"model_context_window_exceeded"}}`, agent.ErrContextLength},
		{"copilot context", 400, `{"error":{"message":"prompt token count of 200000 exceeds the limit of 128000"}}`, agent.ErrContextLength},
		{"ollama newer", 400, `{"error":{"message":"prompt too long; exceeded max context length by 12 tokens"}}`, agent.ErrContextLength},
		{"payload too large", 413, `Request Entity Too Large`, agent.ErrContextLength},
		{"openai rate", 429, `{"error":{"message":"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000. Please reduce the length of the messages.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, agent.ErrRateLimit},
		{"openai quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, agent.ErrAuth},
		{"openai key", 401, `{"error":{"message":"Incorrect API key provided: sk-abc***xyz.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, agent.ErrAuth},
		{"deepseek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, agent.ErrAuth},
		{"openrouter moderation", 403, `{"error":{"message":"flagged","code":403}}`, agent.ErrAuth},
		{"openrouter upstream", 502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream is on fire","provider_name":"x"}}}`, agent.ErrServer},
		{"unsupported", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, agent.ErrUnsupported},
		{"filter", 400, `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}}`, agent.ErrFilter},
		{"no model", 404, `{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, agent.ErrInvalid},
		{"fastapi", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`, agent.ErrInvalid},
		{"loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, agent.ErrOverloaded},
		{"gateway timeout", 504, `upstream request timeout`, agent.ErrServer},
		{"cloudflare", 524, `error code: 524`, agent.ErrTimeout},
		{"empty", 500, ``, agent.ErrServer},
		{"teapot", 418, `{}`, agent.ErrInvalid},
		{"redirect", 304, ``, agent.ErrUnknown},
	} {
		t.Run(tt.server, func(t *testing.T) {
			m := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", "req_7")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			_, err := agent.Generate(t.Context(), m, hello())
			me := agent.AsModelError(err)
			if me == nil || me.Kind != tt.want || me.Status != tt.status || me.RequestID != "req_7" || me.Provider != "openai" {
				t.Fatalf("error %+v, want kind %s and status %d", me, tt.want, tt.status)
			}
			if strings.Contains(tt.body, "on fire") && !strings.Contains(err.Error(), "on fire") {
				t.Errorf("the upstream's words are lost: %v", err)
			}
		})
	}
}

func TestErrorsHideTheKeyAndStayShort(t *testing.T) {
	m := serve(t, Config{APIKey: "very-secret-key"}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		fmt.Fprintf(w, `{"error":{"message":"bad key very-secret-key %s"}}`, strings.Repeat("é", 20_000))
	})
	_, err := agent.Generate(t.Context(), m, hello())
	if s := err.Error(); strings.Contains(s, "very-secret-key") || len(s) > 4000 || !strings.Contains(s, "bad key ***") {
		t.Errorf("the error reads %.300s (%d bytes)", s, len(s))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "Thu, 15 Jan 2026 12:01:00 GMT", time.Minute},
		{"Retry-After", "Thu, 15 Jan 2026 11:00:00 GMT", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		if got := wait.RetryAfter(http.Header{tt.name: {tt.value}}, now); got != tt.want {
			t.Errorf("%s: %s = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

type brokenTransport struct{ err error }

func (b brokenTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

type timeoutError struct{}

func (timeoutError) Error() string   { return "too slow" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func TestTransportErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want agent.ErrorKind
	}{
		{errors.New("connection refused"), agent.ErrNetwork},
		{io.EOF, agent.ErrNetwork},
		{timeoutError{}, agent.ErrTimeout},
	} {
		m := newModel(t, Config{Model: "m", BaseURL: "http://localhost:1/v1", NoKey: true, HTTPClient: &http.Client{Transport: brokenTransport{tt.err}}})
		_, err := agent.Generate(t.Context(), m, hello())
		if me := agent.AsModelError(err); me.Kind != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%v became %v, want kind %s", tt.err, err, tt.want)
		}
	}
}

func TestCancelCauseIsKept(t *testing.T) {
	why := errors.New("the user pressed escape")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		cancel(why)
		<-r.Context().Done()
	})
	_, err := agent.Generate(ctx, m, hello())
	if !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want both causes", err)
	}
}

func TestWebPageInsteadOfStream(t *testing.T) {
	m := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html><title>Open WebUI</title></html>")
	})
	_, err := agent.Generate(t.Context(), m, hello())
	if me := agent.AsModelError(err); me == nil || me.Kind != agent.ErrInvalid || !strings.Contains(err.Error(), "BaseURL") {
		t.Errorf("error %v", err)
	}
}

// TestFinishedStreamIsNotHeldOpen: a server that forgets to end its stream does not delay an answer
// that is complete.
func TestFinishedStreamIsNotHeldOpen(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, end := range []string{"", "data: [DONE]\n\n"} {
		m := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}`+"\n\n"+end)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		m.linger = 200 * time.Millisecond
		began := time.Now()
		resp, err := agent.Generate(t.Context(), m, hello())
		if err != nil || resp.Message.Text() != "all" || resp.Finish != agent.FinishStop {
			t.Errorf("got %+v, %v", resp, err)
		}
		if took := time.Since(began); took > m.linger+30*time.Second {
			t.Errorf("it took %v", took)
		}
	}
}
