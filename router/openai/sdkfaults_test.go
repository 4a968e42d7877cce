package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// TestWhyNotTheSDKsStream documents the bugs of the SDK's own streaming that no option avoids,
// because of which this package reads streams itself. If an update of the SDK makes this test fail,
// reconsider that decision.
func TestWhyNotTheSDKsStream(t *testing.T) {
	const head = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]`
	const stop = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	for _, tt := range []struct {
		name, body string
		fault      func(events int, err error) bool
	}{
		{"\"error\": null, as some servers send with every event, ends the stream", head + `,"error":null}` + "\n\n" + stop + "\n\ndata: [DONE]\n\n",
			func(n int, err error) bool { return n == 0 && err != nil }},
		{"the last event is lost when the server closes without a blank line", head + "}\n\n" + stop + "\n",
			func(n int, err error) bool { return n == 1 && err == nil }},
		{"carriage returns do not end lines", strings.ReplaceAll(head+"}\n\n"+stop+"\n\n", "\n", "\r"),
			func(n int, err error) bool { return n == 0 }},
		{"a stream cut before its finish is no error", head + "}\n\n",
			func(n int, err error) bool { return n == 1 && err == nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, tt.body)
			}))
			defer srv.Close()
			client := sdk.NewClient(option.WithBaseURL(srv.URL+"/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0), option.WithHTTPClient(testClient(t)))
			stream := client.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("x")}})
			defer stream.Close()
			n := 0
			for stream.Next() {
				n++
			}
			if !tt.fault(n, stream.Err()) {
				t.Errorf("%d events and error %v: the fault is gone", n, stream.Err())
			}
		})
	}
}
