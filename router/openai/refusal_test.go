package openai

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// TestFullContextByEstimate: a refusal whose words say nothing is a full context if the prompt is
// about as long as the model's window, and is not if the prompt is short.
func TestFullContextByEstimate(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"Bad Request"}}`)
	}
	for words, want := range map[int]agent.ErrorKind{10: agent.ErrInvalid, 10_000: agent.ErrContextLength} {
		m := serve(t, Config{MaxContext: 8192}, refuse)
		_, err := agent.Generate(t.Context(), m, &agent.Request{Messages: []agent.Message{agent.UserText(strings.Repeat("word ", words))}})
		if got := agent.AsModelError(err).Kind; got != want {
			t.Errorf("%d words: %s, want %s", words, got, want)
		}
	}
}

// TestWaits: the wait that a server states in the body of a refusal, in its rate-limit headers or
// in the stream is the error's RetryAfter, and a loop with a lower ceiling does not wait for it.
func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		status       int
		header, body string
		want         time.Duration
	}{
		{429, "", `[{"error":{"code":429,"message":"Please retry in 50.5s.","status":"RESOURCE_EXHAUSTED"}}]`, 50500 * time.Millisecond},
		{429, "", `{"error":{"message":"slow","metadata":{"retry_after":3}}}`, 3 * time.Second},
		{429, "X-Ratelimit-Reset-Tokens: 6m0s", `{"error":{"message":"slow"}}`, 6 * time.Minute},
		{503, "", `{"error":{"message":"overloaded, try again in 20 seconds"}}`, 20 * time.Second},
		{503, "X-Ratelimit-Reset-Tokens: 6m0s", `{"error":{"message":"overloaded"}}`, 0},
		{400, "X-Ratelimit-Reset-Tokens: 6m0s", `{"error":{"message":"bad"}}`, 0},
		{200, "", `data: {"error":{"code":429,"message":"busy, retry in 8s"}}` + "\n\n", 8 * time.Second},
	} {
		m := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			if name, value, ok := strings.Cut(tt.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		_, err := agent.Generate(t.Context(), m, hello())
		if got := agent.AsModelError(err).RetryAfter; got != tt.want {
			t.Errorf("status %d, %s %s: wait %v, want %v", tt.status, tt.header, tt.body, got, tt.want)
		}
	}
	requests := 0
	m := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error":{"message":"try again in 2 hours"}}`)
	})
	a, err := agent.New(agent.Config{Model: m, Retry: agent.Retry{MaxWait: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "x"}).Collect(); err == nil || res.Stop != agent.StopError || requests != 1 {
		t.Errorf("a wait above the ceiling: %d requests, %s, %v", requests, res.Stop, err)
	}
}

// TestFinishReasons: an answer that failed is an error that can be retried, and a malformed call
// and an unknown reason are not the end of an answer.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]string{
		"stop": "stop", "malformed_function_call": "malformed_call", "function_call_filter: MALFORMED_FUNCTION_CALL": "malformed_call", "tired": "other", "sensitive": "content_filter",
		"network_error": "network", "error": "incomplete", "insufficient_system_resource": "overloaded",
	} {
		m := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", reason)
		})
		resp, err := agent.Generate(t.Context(), m, hello())
		got := string(resp.Finish)
		if err != nil {
			got = string(agent.AsModelError(err).Kind)
		}
		if got != want {
			t.Errorf("finish_reason %s gives %s, want %s", reason, got, want)
		}
	}
}
