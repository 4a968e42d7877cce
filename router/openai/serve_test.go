package openai

import (
	"net/http/httptest"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
	chatserve "github.com/luthier-dev/luthier/router/serve"
)

// offerChat serves m on loopback until t ends.
func offerChat(t testing.TB, m agent.Model) *httptest.Server {
	t.Helper()
	handler, err := chatserve.New(m, chatserve.Config{Name: "front"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(handler)
	t.Cleanup(func() {
		srv.CloseClientConnections() // a stalled stream must not block the test
		srv.Close()
	})
	return srv
}

// TestConformanceThroughServe runs the suite through package serve: the official client asks our
// server, whose model is in turn a client of the suite's server. Anything lost or changed on the
// way makes a scenario fail.
//
// Evidence: server · The conformance suite passes through the server
func TestConformanceThroughServe(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	origin := agenttest.NewServer(t, func(*agenttest.WireRequest) agenttest.Wire { return &chatWire{} })
	client := testClient(t)
	upstream := newModel(t, Config{Model: "gpt-5", BaseURL: origin.URL + "/v1", APIKey: "test-key", HTTPClient: client})
	front := offerChat(t, upstream)
	agenttest.Conformance(t, func() agent.Model {
		return newModel(t, Config{Model: "front", BaseURL: front.URL + "/v1", APIKey: "test-key", HTTPClient: client})
	}, agenttest.Skip("opaque-replay", "the chat API has no field for a provider's own parts"))
}
