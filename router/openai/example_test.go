package openai_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/openai"
	"github.com/luthier-dev/luthier/router/serve"
)

// offer starts a server on loopback that implements the chat completions API.
func offer(m agent.Model) *httptest.Server {
	handler, err := serve.New(m, serve.Config{Aliases: []string{"*"}}) // it answers whatever model name a client sends
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(handler)
}

func Example() {
	// A server in this process; in real use, any that implements the chat completions API.
	srv := offer(agenttest.Script(agenttest.Text("Hello, ", "luthier.")))
	defer srv.Close()

	model, err := openai.New(openai.Config{Model: "qwen3-coder", BaseURL: srv.URL + "/v1", NoKey: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &agent.Request{Messages: []agent.Message{agent.UserText("Say hello.")}}
	for chunk, err := range model.Stream(context.Background(), req) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if d, ok := chunk.(agent.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
	// Output: Hello, luthier.
}

func ExampleNew_errors() {
	srv := offer(agenttest.Script(
		agenttest.Error(&agent.ModelError{Kind: agent.ErrRateLimit, Status: 429, RetryAfter: 2e9})))
	defer srv.Close()
	model, err := openai.New(openai.Config{Model: "m", BaseURL: srv.URL + "/v1", NoKey: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = agent.Generate(context.Background(), model, &agent.Request{Messages: []agent.Message{agent.UserText("hi")}})
	me := agent.AsModelError(err)
	fmt.Println(me.Kind, me.Status, me.RetryAfter, me.Kind.Retryable())
	// Output: rate_limit 429 2s true
}

func ExampleNew_structured() {
	srv := offer(agenttest.Script(agenttest.Text(`{"ok":true}`)))
	defer srv.Close()
	model, err := openai.New(openai.Config{Model: "m", BaseURL: srv.URL + "/v1", NoKey: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := agent.Generate(context.Background(), model, &agent.Request{
		Messages: []agent.Message{agent.UserText("Is 7 prime?")},
		Output:   &agent.OutputSchema{Name: "verdict", Schema: []byte(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)},
	})
	fmt.Println(resp.Message.Text(), err)
	// Output: {"ok":true} <nil>
}
