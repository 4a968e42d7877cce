package router

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// usd returns a price at which a thousand tokens, in or out, cost the given number of dollars.
func usd(perThousand float64) *agent.Price {
	n := int64(perThousand * 1e9)
	return &agent.Price{Input: n, Output: n}
}

// says returns a scripted model that always answers with the text and reports a thousand tokens.
func says(text string) *agenttest.Scripted {
	return agenttest.Script(agenttest.Join(agenttest.Text(text), agenttest.Usage(agent.Usage{Input: 900, Output: 100}))).Loop()
}

// wants returns a check that passes answers containing a word.
func wants(word string) VerifyFunc {
	return func(_ context.Context, _ *agent.Request, resp *agent.Response) (Finding, error) {
		if strings.Contains(resp.Message.Text(), word) {
			return Finding{Verdict: Passed}, nil
		}
		return Finding{Verdict: Rejected, Feedback: "it lacks " + word + "\nand more"}, nil
	}
}

// ledger records what routers report.
type ledger struct {
	mu     sync.Mutex
	began  []agent.Routing
	routed []agent.Routed
}

func (l *ledger) trace(ctx context.Context) context.Context {
	return agent.WithRouteTrace(ctx, &agent.RouteTrace{
		Routing: func(r agent.Routing) { l.mu.Lock(); defer l.mu.Unlock(); l.began = append(l.began, r) },
		Routed:  func(r agent.Routed) { l.mu.Lock(); defer l.mu.Unlock(); l.routed = append(l.routed, r) },
	})
}

// lines lists the attempts in order: member, dollars, and whether each was kept.
func (l *ledger) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, b := range l.began {
		for _, r := range l.routed {
			if r.ID == b.ID {
				line := fmt.Sprintf("%s $%g", r.Model, float64(r.MicroDollars)/1e6)
				if r.Estimated {
					line = r.Model + " $?"
				}
				if r.Kept {
					line += " kept"
				}
				if r.Err != nil {
					line += " " + string(agent.AsModelError(r.Err).Kind)
				}
				out = append(out, line)
			}
		}
	}
	return out
}

func ask(text string) *agent.Request {
	return &agent.Request{Messages: []agent.Message{agent.UserText(text)}, Purpose: agent.PurposeAct, SessionID: "s"}
}

func newTestCascade(t testing.TB, cfg CascadeConfig) *Cascade {
	t.Helper()
	c, err := NewCascade(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCascade(t *testing.T) {
	broken := func(kind agent.ErrorKind) agent.Model {
		return agenttest.Script(agenttest.Error(&agent.ModelError{Kind: kind, Err: errors.New("down")})).Loop()
	}
	half := agenttest.Script(agenttest.Join(agenttest.Text("right but "), agenttest.Cut())).Loop()
	odds, err := PriorOdds(Prior{0.7, 0.01}, Prior{0.5, 0.02})
	if err != nil {
		t.Fatal(err)
	}
	noTools := agenttest.Script().Loop()
	members := func(ms ...agent.Model) (out []Member) {
		for i, m := range ms {
			out = append(out, Member{Model: m, Name: string(rune('a' + i)), Price: usd(float64(i + 1))})
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		cfg   CascadeConfig
		want  string
		kind  agent.ErrorKind
		lines []string
	}{
		{name: "the first passes", cfg: CascadeConfig{Members: members(says("right"), says("right too"))}, want: "right", lines: []string{"a $1 kept"}},
		{name: "the second passes", cfg: CascadeConfig{Members: members(says("wrong"), says("right"), says("right"))}, want: "right", lines: []string{"a $1", "b $2 kept"}},
		{name: "none passes", cfg: CascadeConfig{Members: members(says("one"), says("two"))}, want: "two", lines: []string{"a $1", "b $2 kept"}},
		{name: "none passes, the first was likelier", cfg: CascadeConfig{Members: members(says("one"), says("two")), Odds: odds, Check: Check{0.2, 0.2}, Worth: 100}, want: "one", lines: []string{"a $1 kept", "b $2"}},
		{name: "none passes and it must", cfg: CascadeConfig{Members: members(says("one"), says("two")), Strict: true}, kind: agent.ErrInvalid, lines: []string{"a $1", "b $2"}},
		{name: "one is down", cfg: CascadeConfig{Members: members(broken(agent.ErrServer), says("right"))}, want: "right", lines: []string{"a $0 server", "b $2 kept"}},
		{name: "one breaks off", cfg: CascadeConfig{Members: members(half, says("right"))}, want: "right", lines: []string{"a $? incomplete", "b $2 kept"}},
		{name: "the strong one is down", cfg: CascadeConfig{Members: members(says("wrong"), broken(agent.ErrServer))}, want: "wrong", lines: []string{"a $1 kept", "b $0 server"}},
		{name: "all are down", cfg: CascadeConfig{Members: members(broken(agent.ErrAuth), broken(agent.ErrOverloaded))}, kind: agent.ErrOverloaded, lines: []string{"a $0 auth", "b $0 overloaded"}},
		{name: "too small a window", cfg: CascadeConfig{Members: []Member{{Model: noTools, Name: "tiny", MaxContext: 2}, {Model: says("right"), Name: "b", Price: usd(2)}}}, want: "right", lines: []string{"b $2 kept"}},
		{name: "two attempts at most", cfg: CascadeConfig{Members: members(says("one"), says("two"), says("right")), Attempts: 2}, want: "two", lines: []string{"a $1", "b $2 kept"}},
		{name: "two dollars at most", cfg: CascadeConfig{Members: members(says("one"), says("two"), says("right")), Dollars: 2}, want: "two", lines: []string{"a $1", "b $2 kept"}},
		{name: "the check fails", cfg: CascadeConfig{Members: members(says("one"), says("two")), Verify: func(context.Context, *agent.Request, *agent.Response) (Finding, error) {
			return Finding{Verdict: Passed}, errors.New("no disk")
		}}, want: "two", lines: []string{"a $1", "b $2 kept"}},
		{name: "the check panics", cfg: CascadeConfig{Members: members(says("one"), says("two")), Verify: func(context.Context, *agent.Request, *agent.Response) (Finding, error) {
			panic("oops")
		}}, want: "two", lines: []string{"a $1", "b $2 kept"}},
		{name: "the check hangs", cfg: CascadeConfig{Members: members(says("one"), says("two")), Timeout: time.Millisecond, Verify: func(ctx context.Context, _ *agent.Request, _ *agent.Response) (Finding, error) {
			<-ctx.Done()
			return Finding{}, nil
		}}, want: "two", lines: []string{"a $1", "b $2 kept"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agenttest.CheckLeaks(t)
			if tt.cfg.Verify == nil {
				tt.cfg.Verify = wants("right")
			}
			var l ledger
			resp, err := agent.Generate(l.trace(t.Context()), newTestCascade(t, tt.cfg), ask("go on with the work"))
			if (err != nil) != (tt.kind != "") || err != nil && agent.AsModelError(err).Kind != tt.kind {
				t.Fatalf("error %v, want kind %q", err, tt.kind)
			}
			if resp.Message.Text() != tt.want {
				t.Errorf("the answer is %q, want %q", resp.Message.Text(), tt.want)
			}
			if diff := cmp.Diff(tt.lines, l.lines()); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCascadeTellsTheNext checks that the second member receives the same request with the finding
// about the first answer appended.
func TestCascadeTellsTheNext(t *testing.T) {
	first := agenttest.Script(agenttest.Join(agenttest.Text("let me see"), agenttest.Call("c1", "edit", `{"path":"a.go"}`)))
	second := says("right")
	req := ask("do it")
	c := newTestCascade(t, CascadeConfig{Members: []Member{{Model: first, Name: "cheap"}, {Model: second, Name: "strong"}}, Verify: wants("right")})
	var l ledger
	if _, err := agent.Generate(l.trace(t.Context()), c, req); err != nil {
		t.Fatal(err)
	}
	got := second.Requests()[0]
	if diff := cmp.Diff(req.Messages, got.Messages[:1]); diff != "" || len(got.Messages) != 2 || len(req.Messages) != 1 {
		t.Errorf("the request does not begin as it was, or it was changed: %d messages, %d before\n%s", len(got.Messages), len(req.Messages), diff)
	}
	note := got.Messages[1].Text()
	for _, want := range []string{"let me see", `calls edit {"path":"a.go"}`, "it lacks right", "rejected"} {
		if !strings.Contains(note, want) {
			t.Errorf("the note lacks %q:\n%s", want, note)
		}
	}
	if why := l.began[1].Reason; !strings.Contains(why, "cheap was rejected: it lacks right") || strings.Contains(why, "and more") {
		t.Errorf("the reason is %q", why)
	}
}

func TestCascadeLeavesTitlesAlone(t *testing.T) {
	c := newTestCascade(t, CascadeConfig{Members: []Member{{Model: says("a title"), Name: "cheap"}, {Model: says("right"), Name: "strong"}}, Verify: wants("right")})
	req := ask("go")
	req.Purpose = agent.PurposeTitle
	resp, err := agent.Generate(t.Context(), c, req)
	if err != nil || resp.Message.Text() != "a title" {
		t.Errorf("%q, %v", resp.Message.Text(), err)
	}
}

// TestCascadeCountsRouters checks that if a member is a router, the cost that the router's own
// members report counts towards the cost limit.
func TestCascadeCountsRouters(t *testing.T) {
	inner, err := NewFallback(FallbackConfig{Members: []Member{{Model: says("one"), Name: "leaf", Price: usd(3)}}})
	if err != nil {
		t.Fatal(err)
	}
	c := newTestCascade(t, CascadeConfig{Dollars: 2, Verify: wants("right"),
		Members: []Member{{Model: inner, Name: "inner"}, {Model: says("right"), Name: "strong", Price: usd(1)}}})
	var l ledger
	resp, err := agent.Generate(l.trace(t.Context()), c, ask("go"))
	if err != nil || resp.Message.Text() != "one" {
		t.Errorf("%q, %v: $3 of $2 are spent, nothing more may be", resp.Message.Text(), err)
	}
	if diff := cmp.Diff([]string{"inner $0 kept", "leaf $3 kept"}, l.lines()); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

// TestCascadeShowsThatItLives checks that the stream is not silent during a check that takes longer
// than the interval between signs of life.
func TestCascadeShowsThatItLives(t *testing.T) {
	agenttest.CheckLeaks(t)
	signs := make(chan struct{}, 100)
	c := newTestCascade(t, CascadeConfig{Members: []Member{{Model: says("right"), Name: "a"}},
		Verify: func(ctx context.Context, _ *agent.Request, _ *agent.Response) (Finding, error) {
			for range 3 {
				<-signs
			}
			return Finding{Verdict: Passed}, nil
		}})
	c.every = time.Millisecond
	text := ""
	for chunk, err := range c.Stream(t.Context(), ask("go")) {
		if err != nil {
			t.Fatal(err)
		}
		switch chunk := chunk.(type) {
		case agent.TextDelta:
			text += chunk.Text
		case agent.Usage:
			select {
			case signs <- struct{}{}:
			default:
			}
		}
	}
	if text != "right" {
		t.Errorf("the answer is %q", text)
	}
}

// TestCascadeIsLeft leaves the stream at every chunk, and cancels while the check runs.
func TestCascadeIsLeft(t *testing.T) {
	agenttest.CheckLeaks(t)
	for n := range 5 {
		var l ledger
		c := newTestCascade(t, CascadeConfig{Members: []Member{{Model: says("wrong"), Name: "a", Price: usd(1)}, {Model: says("right"), Name: "b", Price: usd(1)}}, Verify: wants("right")})
		seen := 0
		for range c.Stream(l.trace(t.Context()), ask("go")) {
			if seen++; seen > n {
				break
			}
		}
		if diff := cmp.Diff([]string{"a $1", "b $1 kept"}, l.lines()); diff != "" {
			t.Errorf("left after %d chunks:\n%s", n, diff)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var l ledger
	c := newTestCascade(t, CascadeConfig{Members: []Member{{Model: says("wrong"), Name: "a", Price: usd(1)}, {Model: says("right"), Name: "b"}},
		Verify: func(ctx context.Context, _ *agent.Request, _ *agent.Response) (Finding, error) {
			cancel()
			<-ctx.Done()
			return Finding{}, ctx.Err()
		}})
	_, err := agent.Generate(l.trace(ctx), c, ask("go"))
	if me := agent.AsModelError(err); me == nil || me.Kind != agent.ErrCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it checks: %v", err)
	}
	if diff := cmp.Diff([]string{"a $1"}, l.lines()); diff != "" {
		t.Error(diff)
	}
	left := newTestCascade(t, CascadeConfig{Members: []Member{{Model: says("wrong"), Name: "a"}, {Model: says("right"), Name: "b"}},
		Verify: func(ctx context.Context, _ *agent.Request, _ *agent.Response) (Finding, error) {
			<-ctx.Done() // until the reader leaves
			return Finding{}, ctx.Err()
		}})
	left.every = time.Millisecond
	for range left.Stream(t.Context(), ask("go")) {
		break // at the first sign of life
	}
}

func TestVerifyForm(t *testing.T) {
	tools := []agent.ToolSpec{{Name: "edit"}}
	call := func(name, args string) agent.Message {
		return agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "1", Name: name, Args: []byte(args)}}}
	}
	text := func(s string) agent.Message {
		return agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: s}}}
	}
	for _, tt := range []struct {
		name   string
		req    agent.Request
		resp   agent.Response
		passes bool
	}{
		{"text", agent.Request{}, agent.Response{Message: text("hello"), Finish: agent.FinishStop}, true},
		{"empty", agent.Request{}, agent.Response{Message: text(" \n"), Finish: agent.FinishStop}, false},
		{"cut", agent.Request{}, agent.Response{Message: text("hello"), Finish: agent.FinishLength}, false},
		{"refused", agent.Request{}, agent.Response{Message: text("no"), Finish: agent.FinishRefusal}, false},
		{"call", agent.Request{Tools: tools}, agent.Response{Message: call("edit", ` {"a":1}`), Finish: agent.FinishTools}, true},
		{"unknown tool", agent.Request{Tools: tools}, agent.Response{Message: call("exit", `{}`), Finish: agent.FinishTools}, false},
		{"half arguments", agent.Request{Tools: tools}, agent.Response{Message: call("edit", `{"a"`), Finish: agent.FinishTools}, false},
		{"no object", agent.Request{Tools: tools}, agent.Response{Message: call("edit", `[1]`), Finish: agent.FinishTools}, false},
		{"must call", agent.Request{Tools: tools, ToolChoice: agent.ToolChoice{Mode: agent.ToolModeRequired}}, agent.Response{Message: text("hi"), Finish: agent.FinishStop}, false},
		{"must be JSON", agent.Request{Output: &agent.OutputSchema{}}, agent.Response{Message: text("hi"), Finish: agent.FinishStop}, false},
		{"is JSON", agent.Request{Output: &agent.OutputSchema{}}, agent.Response{Message: text("[1]"), Finish: agent.FinishStop}, true},
	} {
		f, err := VerifyForm(t.Context(), &tt.req, &tt.resp)
		if err != nil || (f.Verdict == Passed) != tt.passes || (f.Feedback == "") != tt.passes {
			t.Errorf("%s: %+v, %v", tt.name, f, err)
		}
	}
}

func TestVerifyAll(t *testing.T) {
	always := func(f Finding, err error) VerifyFunc {
		return func(context.Context, *agent.Request, *agent.Response) (Finding, error) { return f, err }
	}
	pass, reject, none, fail := always(Finding{Verdict: Passed}, nil), always(Finding{Verdict: Rejected, Feedback: "no"}, nil), always(Finding{}, nil), always(Finding{}, errors.New("no disk"))
	run := func(out string, ok bool, err error) VerifyFunc {
		return VerifyWith(func(context.Context, *agent.Request, *agent.Response) (string, bool, error) { return out, ok, err })
	}
	for _, tt := range []struct {
		name   string
		checks []VerifyFunc
		want   Finding
		fails  bool
	}{
		{"none", nil, Finding{}, false},
		{"no opinion", []VerifyFunc{none, none}, Finding{}, false},
		{"one passes", []VerifyFunc{none, pass}, Finding{Verdict: Passed}, false},
		{"one rejects", []VerifyFunc{pass, reject, fail}, Finding{Verdict: Rejected, Feedback: "no"}, false},
		{"one fails", []VerifyFunc{pass, fail, reject}, Finding{}, true},
		{"tests pass", []VerifyFunc{run("ok", true, nil)}, Finding{Verdict: Passed}, false},
		{"tests fail", []VerifyFunc{run("FAIL: TestX", false, nil)}, Finding{Verdict: Rejected, Feedback: "FAIL: TestX"}, false},
		{"tests do not run", []VerifyFunc{run("", true, errors.New("no go"))}, Finding{}, true},
	} {
		f, err := VerifyAll(tt.checks...)(t.Context(), nil, nil)
		if diff := cmp.Diff(tt.want, f); diff != "" || (err != nil) != tt.fails {
			t.Errorf("%s: %v\n%s", tt.name, err, diff)
		}
	}
}

func TestNewCascadeErrors(t *testing.T) {
	m := Member{Model: says("x"), Name: "m"}
	odds, err := PriorOdds(Prior{0.5, 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]CascadeConfig{
		"none": {}, "no model": {Members: []Member{{}}}, "worth": {Members: []Member{m}, Odds: odds, Worth: -1},
		"odds": {Members: []Member{m, {Model: says("y"), Name: "n"}}, Odds: odds},
		"nine": {Members: make9()},
	} {
		if _, err := NewCascade(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func make9() (ms []Member) {
	for i := range 9 {
		ms = append(ms, Member{Model: says("x"), Name: string(rune('a' + i))})
	}
	return ms
}

func BenchmarkCascade(b *testing.B) {
	turn := agenttest.Join(agenttest.Text("right"), agenttest.Usage(agent.Usage{Input: 900, Output: 100}))
	fast := agenttest.Script(turn).Loop().Forget()
	c := newTestCascade(b, CascadeConfig{Members: []Member{{Model: fast, Name: "a", Price: usd(1)}, {Model: fast, Name: "b", Price: usd(1)}}})
	req := ask("go")
	b.Run("member alone", func(b *testing.B) { benchmarkStream(b, fast, req) })
	b.Run("cascade", func(b *testing.B) { benchmarkStream(b, c, req) })
}

func benchmarkStream(b *testing.B, m agent.Model, req *agent.Request) {
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Stream(ctx, req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestFeedbackIsDigested checks that the digest of a test run's output, however long, contains the
// failed tests.
func TestFeedbackIsDigested(t *testing.T) {
	long := strings.Repeat("=== RUN   TestFine\n--- PASS: TestFine (0.00s)\n", 2000) +
		"=== RUN   TestBroken\n    a_test.go:7: got 1, want 2\n--- FAIL: TestBroken (0.00s)\nFAIL\n" +
		strings.Repeat("=== RUN   TestAlsoFine\n--- PASS: TestAlsoFine (0.00s)\n", 2000)
	got := attemptNote("tried", Finding{Verdict: Rejected, Feedback: long})
	if len(got) > 2*maxDigest || !strings.Contains(got, "TestBroken") || !strings.Contains(got, "got 1, want 2") {
		t.Errorf("%d bytes:\n%.2000s", len(got), got)
	}
}
