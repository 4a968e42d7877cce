package luthier_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/luthier-dev/luthier"
	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/tools"
)

// namedScript is a scripted model with a name, which has a price.
type namedScript struct{ *agenttest.Scripted }

func (namedScript) Name() string { return "house-1" }

type verdictOut struct {
	Fixed bool `json:"fixed"`
}

// Every setting of a run that a host needs is an option of New, without Customize.
//
// Evidence: luthier · Policy, prices, limits, retries, output and verification are options of New
func TestOptions(t *testing.T) {
	out, err := tools.Output[verdictOut]()
	if err != nil {
		t.Fatal(err)
	}
	asked, verified := 0, 0
	var log bytes.Buffer
	model := agenttest.Script(
		agenttest.Error(&agent.ModelError{Kind: agent.ErrServer, Err: errors.New("down")}),
		agenttest.Call("1", "list", `{"path":"."}`),
		agenttest.Text("not JSON"),
		agenttest.Text(`{"fixed":false}`),
		agenttest.Join(agenttest.Text(`{"fixed":true}`), agenttest.Usage(agent.Usage{Input: 100, Output: 20})),
	)
	opts := luthier.Options{
		Model: namedScript{model}, NoSandbox: true, NoIndex: true, StateDir: t.TempDir(),
		Policy: agent.PolicyFunc(func(_ context.Context, req *agent.PermissionRequest) agent.Verdict {
			asked++
			return agent.Verdict{Rule: "house rule", Reason: "not today"}
		}),
		Prices: agent.Prices{"house-1": {Input: 1_000_000, Output: 1_000_000}}, Limits: agent.Limits{MicroDollars: 1 << 40},
		SessionLimits: agent.SessionLimits{Tokens: 1 << 40},
		Retry:         agent.Retry{Base: 1, Cap: 1, Answers: 1}, Effort: agent.EffortHigh, Output: out.Spec(),
		Verify: func(_ context.Context, s *agent.Session) (string, error) {
			if verified++; verified == 1 {
				return "Not fixed yet.", nil
			}
			return "", nil
		},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	c, err := luthier.New(t.Context(), t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.NewSessionWith(agent.SessionOptions{ID: "s1", Labels: map[string]string{"user": "ada"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if m := s.Meta(); m.ID != "s1" || m.Dir != c.Dir() || m.Labels["user"] != "ada" {
		t.Errorf("meta %+v", m)
	}
	res, err := c.Run(t.Context(), s, agent.Text{Text: "fix it"}).Collect()
	if err != nil {
		t.Fatal(err)
	}
	got, err := out.Value(res)
	if err != nil || !got.Fixed || res.Stop != agent.StopDone || verified != 2 || asked != 1 {
		t.Errorf("%+v, %v; %s (%s); verified %d, asked %d", got, err, res.Stop, res.Detail, verified, asked)
	}
	if u := res.Usage; res.MicroDollars != u.Total() || res.MicroDollars == 0 {
		t.Errorf("%d micro-dollars for %+v", res.MicroDollars, u)
	}
	for _, req := range model.Requests() {
		if req.Effort != agent.EffortHigh || req.Output == nil || req.SessionID != "s1" {
			t.Errorf("request: effort %q, output %v, session %q", req.Effort, req.Output, req.SessionID)
		}
	}
	if l := log.String(); !strings.Contains(l, "house rule") || !strings.Contains(l, "run ends") {
		t.Errorf("log: %s", l)
	}
	opts.Prices, opts.StateDir = agent.Prices{}, t.TempDir()
	if _, err := luthier.New(t.Context(), t.TempDir(), opts); err == nil || !strings.Contains(err.Error(), "no price") {
		t.Errorf("a cost limit without a price: %v", err)
	}
	opts.AllowUnpriced, opts.SubAgents = true, luthier.Shared
	if free, err := luthier.New(t.Context(), t.TempDir(), opts); err != nil {
		t.Errorf("AllowUnpriced: %v", err)
	} else {
		free.Close()
	}
}

// A limit of a session holds for its next run, whoever made the session, also for a model that
// reports no usage and after the session was opened again.
func TestSessionLimitsOption(t *testing.T) {
	c, err := luthier.New(t.Context(), t.TempDir(), luthier.Options{
		Model: agenttest.Script(agenttest.Text("one"), agenttest.Text("two"), agenttest.Text("three")), NoSandbox: true, NoIndex: true, StateDir: t.TempDir(),
		SessionLimits: agent.SessionLimits{Tokens: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []agent.StopReason{agent.StopDone, agent.StopTokens, agent.StopTokens} {
		if i == 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, _, err = c.Resume(""); err != nil {
				t.Fatal(err)
			}
		}
		res, err := c.Run(t.Context(), s, agent.Text{Text: "go"}).Collect()
		if err != nil || res.Stop != want {
			t.Errorf("run %d: %+v, %v", i+1, res, err)
		}
	}
	s.Close()
	mem := agent.NewSession()
	for i, want := range []agent.StopReason{agent.StopDone, agent.StopTokens} {
		if res, err := c.Run(t.Context(), mem, agent.Text{Text: "go"}).Collect(); err != nil || res.Stop != want {
			t.Errorf("run %d in memory: %+v, %v", i+1, res, err)
		}
	}
}
