package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

func TestConformanceOfReference(t *testing.T) {
	CheckLeaks(t)
	Conformance(t, newReference(t, ""))
}

// TestConformanceNotices breaks the reference model in one way at a time: a suite that cannot fail proves nothing.
func TestConformanceNotices(t *testing.T) {
	for _, tt := range []struct{ fault, scenario string }{
		{"cut-is-success", "cut"},
		{"cut-is-success", "cut-in-call"},
		{"cut-is-success", "cut-at-start"},
		{"untyped", "reset"},
		{"untyped-cancel", "cancel"},
		{"writes-request", "text"},
		{"short-lines", "text-long-line"},
		{"skips-garbage", "garbage"},
		{"drops-signature", "thinking-replay"},
		{"mixes-calls", "tool-calls-interleaved"},
		{"trims-text", "text-whitespace"},
		{"one-part", "user-parts"},
		{"one-part", "tool-results"},
		{"sends-foreign", "opaque-foreign"},
		{"sends-foreign", "thinking-foreign"},
		{"unsigned-provider", "thinking-replay"},
		{"no-retry-after", "http-429-seconds"},
		{"reads-all", "http-huge"},
		{"ignores-context", "cancel"},
		{"ignores-context", "deadline"},
		{"leaks-body", "break"},
	} {
		t.Run(tt.fault+"/"+tt.scenario, func(t *testing.T) {
			sc, ok := FindScenario(tt.scenario)
			if !ok {
				t.Fatal("no such scenario")
			}
			if err := checkWithin(t.Context(), newReference(t, tt.fault)(), sc, 2*time.Second); err == nil {
				t.Error("the suite did not notice")
			}
		})
	}
}

// checkWithin is Check for models that may hang: it stops waiting, and the server's end unblocks the model.
func checkWithin(ctx context.Context, m agent.Model, sc Scenario, limit time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- Check(ctx, m, sc) }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		m.(*refModel).client.CloseIdleConnections()
		return fmt.Errorf("hung")
	}
}

func TestScenariosAreWellFormed(t *testing.T) {
	var names []string
	for _, sc := range Scenarios() {
		if slices.Contains(names, sc.Name) || sc.About == "" || len(sc.Exchanges) == 0 {
			t.Errorf("scenario %q is doubled or empty", sc.Name)
		}
		names = append(names, sc.Name)
		name, n, ok := FindMarker([]byte("x conformance:other y " + Marker(sc.Name, 2) + `"`))
		if !ok || name != sc.Name || n != 2 {
			t.Errorf("marker of %q reads back as %q, %d, %v", sc.Name, name, n, ok)
		}
		if req := sc.Exchanges[0].Request(nil); !strings.Contains(req.Messages[len(req.Messages)-1].Text(), Marker(sc.Name, 1)) {
			t.Errorf("the first request of %q lacks its marker", sc.Name)
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d scenarios", len(names))
	}
}

func TestMissingCapabilitySkips(t *testing.T) {
	sc, _ := FindScenario("tool-result-image")
	caps := agent.AllCapabilities()
	if why := sc.Missing(caps); why != "" {
		t.Errorf("missing %q", why)
	}
	caps.ToolImages = false
	if why := sc.Missing(caps); !strings.Contains(why, "ToolImages") {
		t.Errorf("the reason is %q", why)
	}
}
