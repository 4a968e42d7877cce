package anthropic

import (
	"net/http"
	"testing"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// newTestModel returns a model that uses a server on loopback; its connections end with the test.
func newTestModel(t testing.TB, url string, edit ...func(*Config)) *Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	cfg := Config{Model: "claude-sonnet-4-5", APIKey: "test-key", BaseURL: url, HTTPClient: &http.Client{Transport: transport}}
	for _, e := range edit {
		e(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Evidence: backends · Anthropic's Messages API passes the conformance suite
func TestConformance(t *testing.T) {
	tier.Normal(t)
	agenttest.CheckLeaks(t)
	for name, edit := range map[string]func(*Config){
		"default":        func(*Config) {},
		"output by tool": func(c *Config) { c.OutputByTool, c.DisableCache = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			srv := agenttest.NewServer(t, newWire)
			m := newTestModel(t, srv.URL, edit)
			agenttest.Conformance(t, func() agent.Model { return m })
		})
	}
}
