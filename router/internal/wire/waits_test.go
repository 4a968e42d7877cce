package wire

import (
	"net/http"
	"testing"
	"time"
)

// TestWait: a wait is obeyed wherever a server states it: in Retry-After, in the body as a field or
// in words, or in the headers that say when a limit is reset.
//
// Evidence: backends · A wait stated in a header, in the body or by the reset of a limit is obeyed
func TestWait(t *testing.T) {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		header http.Header
		body   string
		want   time.Duration
	}{
		{nil, "", 0},
		{http.Header{"Retry-After": {"7"}}, `{"error":{"message":"try again in 3s"}}`, 7 * time.Second},
		{http.Header{"Retry-After-Ms": {"250"}}, "", 250 * time.Millisecond},
		{nil, `[{"error":{"code":429,"message":"Please retry in 50.5s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"51s"}]}}]`, 51 * time.Second},
		{nil, `{"error":{"message":"You exceeded your current quota. Please retry in 24.191338s."}}`, 24191338 * time.Microsecond},
		{nil, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s. Visit"}}`, 2 * time.Second},
		{nil, `{"error":{"message":"Please try again in 6m0s."}}`, 6 * time.Minute},
		{nil, `{"error":{"message":"Please try again in 1m26.4s."}}`, 86400 * time.Millisecond},
		{nil, `{"error":{"message":"Please try again in 20ms."}}`, 20 * time.Millisecond},
		{nil, `{"error":{"message":"Try again in 1 minute and 5 seconds"}}`, 65 * time.Second},
		{nil, `{"error":{"message":"Too many requests, please wait 30 seconds"}}`, 30 * time.Second},
		{nil, `{"error":{"message":"Retry after 45 seconds."}}`, 45 * time.Second},
		{nil, `{"error":{"message":"Limit reached. It resets in 2 hours."}}`, 2 * time.Hour},
		{nil, `{"error":{"message":"slow down","retry_after":12.5}}`, 12500 * time.Millisecond},
		{nil, `{"error":{"message":"slow down","retry_after_ms":1500}}`, 1500 * time.Millisecond},
		{nil, `{"error":{"message":"slow down"},"retryAfter":"3s"}`, 3 * time.Second},
		{nil, `{"error":{"message":"slow down","retry_after_seconds":9}}`, 9 * time.Second},
		{nil, `{"error":{"message":"slow down","metadata":{"retry_in":4}}}`, 4 * time.Second},
		{nil, `{"error":{"message":"the model gpt-4 has 8192 tokens; 30 requests per 60 seconds"}}`, 0},
		{nil, `{"error":{"message":"try again later"}}`, 0},
		{nil, `{"error":{"message":"wait","retry_after":-1}}`, 0},
		{nil, `{"retry_after":99999999999999999999}`, 0},
		{http.Header{"X-Ratelimit-Reset-Requests": {"1s"}, "X-Ratelimit-Reset-Tokens": {"6m0s"}, "X-Ratelimit-Remaining-Requests": {"59"}, "X-Ratelimit-Remaining-Tokens": {"0"}}, "", 6 * time.Minute},
		{http.Header{"X-Ratelimit-Reset-Requests": {"24h0m0s"}, "X-Ratelimit-Reset-Tokens": {"7.66s"}, "X-Ratelimit-Remaining-Requests": {"14000"}, "X-Ratelimit-Remaining-Tokens": {"120"}}, "", 7660 * time.Millisecond},
		{http.Header{"X-Ratelimit-Reset": {"1768478460"}}, "", time.Minute},
		{http.Header{"X-Ratelimit-Reset": {"1768478460000"}}, "", time.Minute},
		{http.Header{"X-Ratelimit-Reset": {"30"}}, "", 30 * time.Second},
		{http.Header{"Ratelimit-Reset": {"15"}}, "", 15 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"1768470000"}}, "", 0}, // past
		{http.Header{"Anthropic-Ratelimit-Tokens-Reset": {"2026-01-15T12:00:40Z"}, "Anthropic-Ratelimit-Tokens-Remaining": {"0"}, "Anthropic-Ratelimit-Requests-Reset": {"2026-01-15T12:10:00Z"}, "Anthropic-Ratelimit-Requests-Remaining": {"5"}}, "", 40 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"Thu, 15 Jan 2026 12:00:20 GMT"}}, "", 20 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"Thu, 15 Jan 2026 12:00:20 GMT"}, "Date": {"Thu, 15 Jan 2026 12:00:10 GMT"}}, "", 10 * time.Second},
		{http.Header{"X-Ratelimit-Reset": {"soon"}}, "", 0},
	} {
		if got := Wait(tt.header, []byte(tt.body), true, now); got != tt.want {
			t.Errorf("Wait(%v, %s) = %v, want %v", tt.header, tt.body, got, tt.want)
		}
	}
	if got := Wait(http.Header{"X-Ratelimit-Reset": {"30"}}, nil, false, now); got != 0 {
		t.Errorf("a failure that is not about a limit waits %v for its reset", got)
	}
}

// FuzzRefusal: bodies and headers of any bytes are read without a panic, and no wait is negative.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"Please try again in 1m2s","retry_after":1}}`), "6m0s")
	f.Add([]byte("You passed 202753 input tokens; the context length is only 202752"), "1768478460")
	f.Fuzz(func(t *testing.T, body []byte, value string) {
		if d := Wait(http.Header{"X-Ratelimit-Reset": {value}}, body, true, time.Unix(1768478400, 0)); d < 0 {
			t.Fatalf("a wait of %v", d)
		}
		r := Refusal{Status: 400, Message: string(body), Body: body, Code: value}
		r.Overflows()
		Demanded(string(body))
		DemandedID(string(body))
		Finish(value)
	})
}
