package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/internal/tier"
)

func TestConformanceOfReference(t *testing.T) {
	tier.Normal(t)
	CheckLeaks(t)
	Conformance(t, newReference(t, ""))
}

// TestConformanceNotices breaks the reference model in one way at a time and checks that the suite
// fails: a suite that cannot fail proves nothing.
//
// Evidence: backends · The conformance suite finds planted faults
func TestConformanceNotices(t *testing.T) {
	for _, tt := range []struct {
		fault, scenario string
		hangs           bool // only the time limit detects it
	}{
		{"cut-is-success", "cut", false},
		{"cut-is-success", "cut-in-call", false},
		{"cut-is-success", "cut-at-start", false},
		{"untyped", "reset", false},
		{"untyped-cancel", "cancel", false},
		{"writes-request", "text", false},
		{"short-lines", "text-long-line", false},
		{"skips-garbage", "garbage", false},
		{"drops-signature", "thinking-replay", false},
		{"mixes-calls", "tool-calls-interleaved", false},
		{"trims-text", "text-whitespace", false},
		{"one-part", "user-parts", false},
		{"one-part", "tool-results", false},
		{"sends-foreign", "opaque-foreign", false},
		{"sends-foreign", "thinking-foreign", false},
		{"unsigned-provider", "thinking-replay", false},
		{"no-retry-after", "http-429-seconds", false},
		{"reads-all", "http-huge", false},
		{"ignores-context", "cancel", true},
		{"ignores-context", "deadline", true},
		{"leaks-body", "break", true},
	} {
		t.Run(tt.fault+"/"+tt.scenario, func(t *testing.T) {
			limit := 2 * time.Second
			if tt.hangs {
				t.Parallel() // these tests wait, so they wait in parallel
				limit = tier.Pick(time.Second/2, time.Second, limit)
			}
			sc, ok := FindScenario(tt.scenario)
			if !ok {
				t.Fatal("no such scenario")
			}
			if err := checkWithin(t.Context(), newReference(t, tt.fault)(), sc, limit); err == nil {
				t.Error("the suite did not notice")
			}
		})
	}
}

// checkWithin is Check for models that may hang: it stops waiting after limit, and closing the
// server unblocks the model.
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
