package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/serve"
)

func ExampleNew() {
	model := agenttest.Script(agenttest.Text("Hello, ", "client.")) // in real use one of router/moe, router/openai, …
	handler, err := serve.New(model, serve.Config{Name: "local", MaxConcurrent: 4, Queue: 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := httptest.NewServer(handler) // in real use http.ListenAndServe("127.0.0.1:8080", handler)
	defer srv.Close()

	res, err := http.Post(srv.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"local","messages":[{"role":"user","content":"Hello."}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	fmt.Println(res.StatusCode, strings.Contains(string(body), `"content":"Hello, client."`))
	// Output: 200 true
}
