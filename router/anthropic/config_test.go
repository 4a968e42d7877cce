package anthropic

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

func TestNewRefuses(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_BASE_URL", "")
	for want, cfg := range map[string]Config{
		"Model is empty":        {APIKey: "k"},
		"APIKey is empty":       {Model: "m"},
		"BaseURL is":            {Model: "m", APIKey: "k", BaseURL: "localhost:8080"},
		"MaxOutput is -1":       {Model: "m", APIKey: "k", MaxOutput: -1},
		"Thinking is \"a lot\"": {Model: "m", APIKey: "k", Thinking: "a lot"},
		"ThinkingDisplay is":    {Model: "m", APIKey: "k", ThinkingDisplay: "all"},
		"CacheTTL is 1s":        {Model: "m", APIKey: "k", CacheTTL: time.Second},
		"ServerTools[1] is not": {Model: "m", APIKey: "k", ServerTools: []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`[`)}},
		"Extra[\"x\"] is not":   {Model: "m", APIKey: "k", Extra: map[string]json.RawMessage{"x": nil}},
	} {
		if m, err := New(cfg); err == nil || m != nil || !strings.Contains(err.Error(), "anthropic: new model: "+want) {
			t.Errorf("New(%+v) = %v, want an error with %q", cfg, err, want)
		}
	}
}

func TestRequestHeadersAndAddress(t *testing.T) {
	var got *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		http.Error(w, "{}", http.StatusTeapot)
	}))
	defer srv.Close()
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "must not be sent")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: must not be sent")
	tests := []struct {
		name    string
		envKey  string
		envBase string
		cfg     Config
		path    string
		header  map[string]string
	}{
		{"from the environment", "env-key", srv.URL, Config{}, "/v1/messages", map[string]string{"X-Api-Key": "env-key"}},
		{"configuration wins", "env-key", "http://127.0.0.1:1", Config{APIKey: "own", BaseURL: srv.URL + "/v1/"}, "/v1/messages", map[string]string{"X-Api-Key": "own"}},
		{"a proxy's path", "", "", Config{APIKey: "own", BaseURL: srv.URL + "/anthropic"}, "/anthropic/v1/messages", nil},
		{"a local server without a key", "", "", Config{BaseURL: srv.URL}, "/v1/messages", map[string]string{"X-Api-Key": "", "Authorization": "", "X-Custom": ""}},
		{"headers", "", "", Config{BaseURL: srv.URL, Headers: http.Header{"Authorization": {"Bearer t"}, "Anthropic-Beta": {"a", "b"}, "Anthropic-Version": {"2099-01-01"}}},
			"/v1/messages", map[string]string{"Authorization": "Bearer t", "Anthropic-Beta": "a|b", "Anthropic-Version": "2099-01-01", "Accept": "text/event-stream"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("ANTHROPIC_API_KEY", tt.envKey)
			t.Setenv("ANTHROPIC_BASE_URL", tt.envBase)
			tt.cfg.Model = "m"
			m, err := New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			got = nil
			if _, err := agent.Generate(t.Context(), m, &agent.Request{Messages: []agent.Message{agent.UserText("x")}}); err == nil || got == nil {
				t.Fatalf("err = %v, request = %v", err, got)
			}
			if got.URL.Path != tt.path {
				t.Errorf("path %q, want %q", got.URL.Path, tt.path)
			}
			for name, want := range tt.header {
				if v := strings.Join(got.Header.Values(name), "|"); v != want {
					t.Errorf("%s: %q, want %q", name, v, want)
				}
			}
		})
	}
}
