package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// allowAll is a policy that decides.
var allowAll = agent.PolicyFunc(func(context.Context, *agent.PermissionRequest) agent.Verdict {
	return agent.Verdict{Decision: agent.Allow, Rule: "test"}
})

// A logger at debug level gets every step, call, decision and failure of a run, those of its
// sub-agents under their own session; one at another level gets nothing.
//
// Evidence: loop · A logger at debug level logs a run
func TestDebugLog(t *testing.T) {
	play := func(level slog.Level) string {
		var out bytes.Buffer
		l := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" {
				return slog.Attr{}
			}
			return a
		}}))
		sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: newScript(say("the answer"))}})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(0, 0)
		a := configured(t, agent.Config{Model: named{newScript(fails(agent.ErrOverloaded), calls(tc{"1", "look", `{"path":"a.go"}`}), calls(tc{"2", "agent", `{"task":"think"}`}), say("ok"))},
			Tools: []agent.Tool{okTool("look"), sub}, Logger: l, Policy: allowAll, Now: func() time.Time { return now }, Random: func() float64 { return 0 }})
		run(t, a, agent.NewSessionWith(agent.SessionOptions{ID: "s1"}), "go "+strings.Repeat("é", 300))
		return out.String()
	}
	if got := play(slog.LevelInfo); got != "" {
		t.Errorf("at info level: %s", got)
	}
	got := play(slog.LevelDebug)
	for _, want := range []string{
		`level=DEBUG msg="agent: run begins" session=s1 model=scripted-1 messages=0`,
		`msg="agent: step" session=s1 step=1`,
		`msg="agent: retry" session=s1 attempt=1 delay=500ms err="model: overloaded: scripted"`,
		`msg="agent: call starts" session=s1 tool=look call=1 args="{\"path\":\"a.go\"}" effects="reads ."`,
		`msg="agent: call done" session=s1 tool=look call=1 failed=false bytes=19 text="look{\"path\":\"a.go\"}"`,
		`msg="agent: decision" session=s1 tool=look call=1 decision=allow`,
		`role=assistant calls=0 text="the answer"`,
		`msg="agent: run ends" session=s1 stop=done detail="the model answered" steps=3 calls=2 usage.input=40`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if n := strings.Count(got, `msg="agent: run ends"`); n != 2 || strings.Count(got, "the answer\"") > 2 {
		t.Errorf("%d runs end\n%s", n, got)
	}
	for _, line := range strings.Split(got, "\n") {
		if len(line) > 1000 {
			t.Errorf("a long record: %s", line)
		}
	}
}

// A session in memory has an id of its own, as one on disk; a fork has another.
func TestMemorySessionsHaveIDs(t *testing.T) {
	a, b := agent.NewSession(), agent.NewSession()
	f, err := a.Fork(-1, agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*agent.Session{a, b, f} {
		if !regexp.MustCompile(`^\d{8}T\d{6}-[A-Z2-7]{10}$`).MatchString(s.ID()) {
			t.Errorf("id %q", s.ID())
		}
	}
	if a.ID() == b.ID() || a.ID() == f.ID() || f.Meta().Parent != a.ID() {
		t.Errorf("ids %q, %q, fork %q of %q", a.ID(), b.ID(), f.ID(), f.Meta().Parent)
	}
	opts := agent.SessionOptions{ID: "mine", Dir: "/w", Labels: map[string]string{"user": "ada"}, Now: func() time.Time { return time.Unix(9, 0) }}
	want := agent.SessionMeta{ID: "mine", Created: time.Unix(9, 0).UTC(), Dir: "/w", Labels: opts.Labels}
	if diff := cmp.Diff(want, agent.NewSessionWith(opts).Meta()); diff != "" {
		t.Error(diff)
	}
	m := newScript(say("ok"))
	run(t, newAgent(t, m), a, "go")
	if m.reqs[0].SessionID != a.ID() {
		t.Errorf("the request is of session %q", m.reqs[0].SessionID)
	}
}

// The limits of a session hold for all its runs together, with what sub-agents and tools spend,
// and after it was opened again.
//
// Evidence: loop · A limit of a session holds for all its runs together
func TestSessionLimits(t *testing.T) {
	prices := agent.Prices{"scripted-1": {Input: 1_000_000, Output: 2_000_000}} // an answer costs 20
	agentOf := func(m *script, tools ...agent.Tool) *agent.Agent {
		return configured(t, agent.Config{Model: named{m}, Prices: prices, Tools: tools})
	}
	dir := t.TempDir()
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s", NoSync: true, Limits: agent.SessionLimits{MicroDollars: 50}})
	if err != nil {
		t.Fatal(err)
	}
	m := newScript(say("1"), say("2"), say("3"), say("4"), say("5"))
	for i, want := range []agent.StopReason{agent.StopDone, agent.StopDone, agent.StopDone, agent.StopCost} {
		if i == 2 { // another process goes on
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, _, err = agent.OpenSession(dir+"/s.jsonl", agent.SessionOptions{NoSync: true}); err != nil {
				t.Fatal(err)
			}
		}
		if res, _ := run(t, agentOf(m), s, "go"); res.Stop != want || want == agent.StopCost && !strings.Contains(res.Detail, "session") {
			t.Errorf("run %d: %s (%s)", i+1, res.Stop, res.Detail)
		}
	}
	s.Close()
	if s, _, err = agent.OpenSession(dir+"/s.jsonl", agent.SessionOptions{NoSync: true, Limits: agent.SessionLimits{Tokens: 1000}}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if res, _ := run(t, agentOf(m), s, "go"); res.Stop != agent.StopDone {
		t.Errorf("with a higher limit: %s", res.Stop)
	}
	fork, err := s.Fork(-1, agent.SessionOptions{NoSync: true})
	if err != nil || fork.Meta().Limits != (agent.SessionLimits{Tokens: 1000}) {
		t.Errorf("the fork: %+v, %v", fork.Meta(), err)
	}
	fork.Close()

	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: named{newScript(calls(tc{"9", "look", `{"n":1}`}), calls(tc{"9", "look", `{"n":2}`}), say("never"))}, Tools: []agent.Tool{okTool("look")}}})
	if err != nil {
		t.Fatal(err)
	}
	mem := agent.NewSessionWith(agent.SessionOptions{Limits: agent.SessionLimits{Tokens: 45}})
	res, _ := run(t, agentOf(newScript(calls(tc{"1", "agent", `{"task":"x"}`}), say("never")), sub), mem, "go")
	if res.Stop != agent.StopTokens || res.Usage.Total() > 60 { // the calling answer is counted when its stream ends, perhaps after the first step of the sub-agent
		t.Errorf("with a sub-agent: %s after %d tokens", res.Stop, res.Usage.Total())
	}
	// The limits of the configuration hold for sessions without their own.
	cfg := agent.Config{Model: named{newScript(say("1"), say("2"), say("3"))}, Prices: prices, SessionLimits: agent.SessionLimits{MicroDollars: 15}}
	mem = agent.NewSession()
	for i, want := range []agent.StopReason{agent.StopDone, agent.StopCost} {
		if res, _ := run(t, configured(t, cfg), mem, "go"); res.Stop != want {
			t.Errorf("run %d under the agent's limits: %s", i+1, res.Stop)
		}
	}
	if res, _ := run(t, configured(t, cfg), agent.NewSessionWith(agent.SessionOptions{Limits: agent.SessionLimits{Tokens: 99}}), "go"); res.Stop != agent.StopDone {
		t.Errorf("a session with its own limits: %s", res.Stop)
	}
	cfg.Prices = agent.Prices{}
	if _, err := agent.New(cfg); err == nil || !strings.Contains(err.Error(), "SessionLimits") {
		t.Errorf("a session's cost limit without a price: %v", err)
	}
	// A limit in money cannot be kept without a price, here and in a sub-agent.
	free := agent.NewSessionWith(agent.SessionOptions{Limits: agent.SessionLimits{MicroDollars: 50}})
	if _, _, err := tryRun(newAgent(t, newScript(say("x"))), free, "go"); err == nil || !strings.Contains(err.Error(), "no price for model") || errors.Is(err, agent.ErrBusy) {
		t.Errorf("without a price: %v", err)
	}
	unknown, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: newScript(say("never"))}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, agentOf(newScript(calls(tc{"1", "agent", `{"task":"x"}`}), say("ok")), unknown), free, "go")
	if got := resultTexts(free, 0)[0]; !strings.Contains(got, "no price") {
		t.Errorf("the sub-agent: %s", got)
	}
}
