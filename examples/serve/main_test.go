package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/router/moe/embedded"
)

// TestServe starts the program with a small model, sends a request with the official client, and
// interrupts the program.
//
// Evidence: engine · A GGUF model answers in this process
func TestServe(t *testing.T) {
	agenttest.CheckLeaks(t)
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, embedded.Model(), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"-model", path, "-addr", "127.0.0.1:0", "-name", "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	addr, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- run(ctx, o, func(a string) { addr <- a }) }()
	base := "http://"
	select {
	case a := <-addr:
		base += a
	case err := <-ended:
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	hc := &http.Client{Transport: transport}
	client := openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("none"), option.WithHTTPClient(hc))

	answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: "tiny", MaxTokens: openai.Int(8), Temperature: openai.Float(0), Logprobs: openai.Bool(true),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello.")}})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Usage.CompletionTokens != 8 || answer.Choices[0].FinishReason != "length" || len(answer.Choices[0].Logprobs.Content) != 8 {
		t.Errorf("answer = %s", answer.RawJSON())
	}
	get := func(path string) string {
		res, err := hc.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	for path, want := range map[string]string{"/health": "ok", "/v1/models": `"tiny"`, "/metrics": "luthier_engine_expert_entropy_bits"} {
		if body := get(path); !strings.Contains(body, want) {
			t.Errorf("%s lacks %q: %s", path, want, body)
		}
	}
	transport.CloseIdleConnections()
	interrupt()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("still running 20 s after the interrupt")
	}
}

func TestParse(t *testing.T) {
	if _, err := parse(nil); err == nil || !strings.Contains(err.Error(), "-model") {
		t.Errorf("without a model: %v", err)
	}
}
