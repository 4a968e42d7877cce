package anthropic_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/anthropic"
)

// A cancelled answer costs the prompt that message_start reported, and the text that had arrived.
func TestCancelledAnswerIsCharged(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{
			`{"type":"message_start","message":{"id":"m","role":"assistant","usage":{"input_tokens":200,"cache_read_input_tokens":1000,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one two three four five six seven eight nine ten"}}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{Model: "m", BaseURL: srv.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	s := agent.NewSession()
	for ev := range a.Run(t.Context(), s, agent.Text{Text: "count"}) {
		switch ev := ev.(type) {
		case agent.TextDelta:
			s.Cancel(agent.CancelNow)
		case agent.Done:
			u := ev.Result.Usage
			if u.Input != 1200 || u.CachedInput != 1000 || u.Output < 8 || u.Output > 20 || ev.Result.Estimated != u {
				t.Errorf("usage %+v, estimated %+v", u, ev.Result.Estimated)
			}
		}
	}
}
