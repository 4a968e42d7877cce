package langchain_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/langchain"
)

func ExampleModel() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"It is noon."}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":4}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	llm, err := openai.New(openai.WithToken("test"), openai.WithBaseURL(srv.URL))
	if err != nil {
		fmt.Println(err)
		return
	}
	model := langchain.Model(llm, langchain.MaxOutput(4096))
	res, err := agent.Generate(context.Background(), model, &agent.Request{Messages: []agent.Message{agent.UserText("What time is it?")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Message.Text(), res.Usage.Input, res.Usage.Output)
	caps, _ := agent.CapabilitiesOf(model)
	fmt.Println("streams arguments of calls:", caps.StreamingTools)
	// Output:
	// It is noon. 12 4
	// streams arguments of calls: false
}

func ExampleLLM() {
	var llm llms.Model = langchain.LLM(agenttest.Script(agenttest.Text("It is noon.")))
	answer, err := llms.GenerateFromSinglePrompt(context.Background(), llm, "What time is it?")
	fmt.Println(answer, err)
	// Output: It is noon. <nil>
}
