package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/router/anthropic"
)

// serve answers every request with one recorded stream, in place of the provider.
func serve(stream string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream)
	}))
}

const recorded = `
data: {"type":"message_start","message":{"usage":{"input_tokens":12,"cache_read_input_tokens":2000,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is "}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"noon."}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}

data: {"type":"message_stop"}

`

func ExampleNew() {
	srv := serve(recorded)
	defer srv.Close()
	model, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", APIKey: "test", BaseURL: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &agent.Request{Messages: []agent.Message{agent.UserText("What time is it?")}}
	for chunk, err := range model.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch c := chunk.(type) {
		case agent.TextDelta:
			fmt.Printf("%q\n", c.Text)
		case agent.Finish:
			fmt.Println(c.Reason)
		}
	}
	// Output:
	// "It is "
	// "noon."
	// stop
}

func ExampleModel_Stream_usage() {
	srv := serve(recorded)
	defer srv.Close()
	model, err := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", APIKey: "test", BaseURL: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := agent.Generate(context.Background(), model, &agent.Request{Messages: []agent.Message{agent.UserText("What time is it?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Message.Text())
	fmt.Printf("%d tokens in, %d of them from the cache, %d out\n", res.Usage.Input, res.Usage.CachedInput, res.Usage.Output)
	// Output:
	// It is noon.
	// 2012 tokens in, 2000 of them from the cache, 7 out
}

func ExampleConfig_serverTools() {
	var body struct{ Tools []json.RawMessage }
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, recorded)
	}))
	defer srv.Close()
	model, err := anthropic.New(anthropic.Config{
		Model: "claude-sonnet-4-5", APIKey: "test", BaseURL: srv.URL,
		ServerTools: []json.RawMessage{json.RawMessage(`{"type":"web_search_20250305","name":"web_search","max_uses":3}`)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := agent.Generate(context.Background(), model, &agent.Request{Messages: []agent.Message{agent.UserText("Who made lutes?")}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.ReplaceAll(string(body.Tools[0]), `"`, "'"))
	// Output:
	// {'type':'web_search_20250305','name':'web_search','max_uses':3}
}
