package anthropic

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/wait"
)

func TestErrorKinds(t *testing.T) {
	api := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_body"}`
	}
	tests := []struct {
		name   string
		status int
		body   string
		want   agent.ErrorKind
	}{
		{"rate limit", 429, api("rate_limit_error", "slow down"), agent.ErrRateLimit},
		{"overloaded", 529, api("overloaded_error", "Overloaded"), agent.ErrOverloaded},
		{"overloaded without a body", 529, "", agent.ErrOverloaded},
		{"unavailable", 503, "upstream", agent.ErrOverloaded},
		{"prompt too long", 400, api("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), agent.ErrContextLength},
		{"prompt and output too long", 400, api("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"), agent.ErrContextLength},
		{"request too large", 413, api("request_too_large", "Request exceeds the maximum size"), agent.ErrContextLength},
		{"proxy's limit", 413, "<html>", agent.ErrContextLength},
		{"bad request", 400, api("invalid_request_error", "messages: roles must alternate"), agent.ErrInvalid},
		{"no credit", 400, api("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), agent.ErrAuth},
		{"filtered", 400, api("invalid_request_error", "Output blocked by content filtering policy"), agent.ErrFilter},
		{"key", 401, api("authentication_error", "invalid x-api-key"), agent.ErrAuth},
		{"billing", 402, api("billing_error", "pay"), agent.ErrAuth},
		{"permission", 403, api("permission_error", "no"), agent.ErrAuth},
		{"model", 404, api("not_found_error", "model: claude-9"), agent.ErrInvalid},
		{"timeout", 504, api("timeout_error", "late"), agent.ErrTimeout},
		{"server", 500, api("api_error", "Internal server error"), agent.ErrServer},
		{"new type", 500, api("brand_new_error", "odd"), agent.ErrServer},
		{"page", 502, "<html>\n<b>Bad Gateway</b></html>", agent.ErrServer},
		{"not an event stream", 200, `{"type":"message"}`, agent.ErrServer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Request-Id", "req_header")
				w.Header().Set("Retry-After", "3")
				w.WriteHeader(tt.status)
				w.Write([]byte(tt.body))
			}))
			defer srv.Close()
			_, err := agent.Generate(t.Context(), newTestModel(t, srv.URL), &agent.Request{Messages: []agent.Message{agent.UserText("x")}})
			me := agent.AsModelError(err)
			if me == nil || me.Kind != tt.want || me.Status != tt.status || me.Provider != "anthropic" {
				t.Fatalf("err = %+v, want kind %q, status %d", me, tt.want, tt.status)
			}
			if tt.status >= 400 && (me.RequestID != "req_header" || me.RetryAfter != 3*time.Second) {
				t.Errorf("request id %q, retry after %v", me.RequestID, me.RetryAfter)
			}
			if _, ok := errors.AsType[*sdk.Error](err); ok != (tt.status >= 400) {
				t.Errorf("the SDK's error is reachable: %v", ok)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "test-key") {
				t.Errorf("error text: %s", err)
			}
		})
	}
}

func TestNetworkErrors(t *testing.T) {
	ask := &agent.Request{Messages: []agent.Message{agent.UserText("x")}}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	_, err = agent.Generate(t.Context(), newTestModel(t, "http://"+closed.Addr().String()), ask)
	if me := agent.AsModelError(err); me.Kind != agent.ErrNetwork {
		t.Errorf("refused connection: %v", err)
	}

	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	m := newTestModel(t, slow.URL, func(c *Config) { c.HTTPClient.Timeout = 30 * time.Millisecond })
	if _, err = agent.Generate(t.Context(), m, ask); agent.AsModelError(err).Kind != agent.ErrTimeout {
		t.Errorf("client timeout: %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, 0},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		{http.Header{"Retry-After": {"0.5"}}, 500 * time.Millisecond},
		{http.Header{"Retry-After": {"-1"}}, 0},
		{http.Header{"Retry-After": {"soon"}}, 0},
		{http.Header{"Retry-After": {"NaN"}}, 0},
		{http.Header{"Retry-After": {"1e300"}}, 0},
		{http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:28:30 GMT"}, "Date": {"Wed, 21 Oct 2015 07:28:00 GMT"}}, 30 * time.Second},
		{http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:28:00 GMT"}}, 0},
	}
	for _, tt := range tests {
		if got := wait.RetryAfter(tt.header, time.Now()); got != tt.want {
			t.Errorf("retryAfter(%v) = %v, want %v", tt.header, got, tt.want)
		}
	}
}
