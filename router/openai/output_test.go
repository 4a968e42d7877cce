package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/openai"
)

// A run over a server whose model does not keep to the output schema asks it to correct its answer,
// with the schema and the tools in every request.
func TestRunWithOutput(t *testing.T) {
	answers := []string{"Sure! Here is it: {...", "```json\\n{\\\"verdict\\\":\\\"good\\\"}\\n```"}
	var bodies []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n", answers[len(bodies)-1])
	}))
	defer srv.Close()
	m, err := openai.New(openai.Config{Model: "m", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Model: m, Output: &agent.OutputSchema{Name: "review", Schema: json.RawMessage(`{"type":"object","properties":{"verdict":{"enum":["good","bad"]},"note":{"type":"string"}},"required":["verdict"],"additionalProperties":false}`)}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "review"}).Collect()
	if err != nil || string(res.Output) != `{"verdict":"good"}` || res.Usage.Input != 20 || len(bodies) != 2 {
		t.Fatalf("stop %q, output %s, usage %+v, %d requests, %v", res.Stop, res.Output, res.Usage, len(bodies), err)
	}
	for i, b := range bodies {
		if !strings.Contains(b, `"response_format":{"type":"json_schema"`) || strings.Contains(b, "cannot be used") != (i == 1) {
			t.Errorf("request %d: %s", i, b)
		}
	}
}
