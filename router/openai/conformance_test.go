package openai

import (
	"net/http"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

func newModel(t *testing.T, cfg Config) *Model {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// testClient returns a client whose connections end with the test.
func testClient(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Evidence: backends · OpenAI chat completions pass the conformance suite
func TestConformanceChat(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	srv := agenttest.NewServer(t, func(*agenttest.WireRequest) agenttest.Wire { return &chatWire{} })
	client := testClient(t)
	agenttest.Conformance(t, func() agent.Model {
		return newModel(t, Config{Model: "gpt-5", BaseURL: srv.URL + "/v1", APIKey: "test-key", HTTPClient: client})
	})
}

// Evidence: backends · The OpenAI Responses API passes the conformance suite
func TestConformanceResponses(t *testing.T) {
	agenttest.CheckLeaks(t)
	srv := agenttest.NewServer(t, func(*agenttest.WireRequest) agenttest.Wire { return &responsesWire{} })
	client := testClient(t)
	agenttest.Conformance(t, func() agent.Model {
		return newModel(t, Config{Model: "gpt-5", API: Responses, BaseURL: srv.URL + "/v1", APIKey: "test-key", HTTPClient: client})
	})
}
