package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// Evidence: loop · A steering message skips calls that have not started
func TestSteeringSkipsWhatHasNotBegun(t *testing.T) {
	s := agent.NewSession()
	steer := newTool("slow", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) {
		s.Steer(agent.Text{Text: "stop that, use tabs"})
		return agent.TextResult("first"), nil
	})
	m := newScript(calls(tc{"1", "slow", `{"n":1}`}, tc{"2", "slow", `{"n":2}`}, tc{"3", "slow", `{"n":3}`}), say("tabs it is"))
	res, evs := run(t, newAgent(t, m, steer), s, "go")
	got := resultTexts(s, 0)
	if got[0] != "first" || !strings.HasPrefix(got[1], "Skipped") || !strings.HasPrefix(got[2], "Skipped") {
		t.Errorf("results = %q", got)
	}
	if res.Calls != 1 || !hasEvent[agent.Steered](evs) {
		t.Errorf("calls = %d, steered event %v", res.Calls, hasEvent[agent.Steered](evs))
	}
	last := m.reqs[1].Messages
	if text := last[len(last)-1].Text(); text != "stop that, use tabs" {
		t.Errorf("the model read %q last", text)
	}
}

func TestSteeringAtTheEndKeepsTheRunGoing(t *testing.T) {
	s := agent.NewSession()
	m := newScript(func(ctx context.Context, r *agent.Request, yield func(agent.Chunk, error) bool) {
		s.Steer(agent.Text{Text: "one more thing"})
		say("done")(ctx, r, yield)
	}, say("that too"))
	if res, _ := run(t, newAgent(t, m), s, "go"); res.Text() != "that too" {
		t.Errorf("result = %+v", res)
	}
	s.Steer(agent.Text{Text: "queued"})
	m.turns = append(m.turns, say("seen"))
	if res, _ := run(t, newAgent(t, m), s, "next"); res.Text() != "seen" || s.Messages()[5].Text() != "queued" {
		t.Errorf("a message without a run was lost: %v", s.Messages())
	}
}

// Evidence: loop · A run can be cancelled now, after the model or after the tools
func TestCancelPoints(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, at := range []agent.CancelPoint{agent.CancelNow, agent.CancelAfterModel, agent.CancelAfterTools} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			s := agent.NewSession()
			var finished atomic.Int32
			takes := 20 * time.Millisecond
			if at == agent.CancelNow {
				takes = time.Minute // never, unless the call is not cancelled
			}
			slow := newTool("slow", agent.Writing("a"), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
				s.Cancel(at)
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(takes):
					finished.Add(1)
					return agent.TextResult("ok"), nil
				}
			})
			m := newScript(calls(tc{"1", "slow", `{"n":1}`}, tc{"2", "slow", `{"n":2}`}), say("never"))
			res, _ := run(t, newAgent(t, m, slow), s, "go")
			if res.Stop != agent.StopCanceled {
				t.Errorf("stop = %s", res.Stop)
			}
			want := map[agent.CancelPoint]int32{agent.CancelNow: 0, agent.CancelAfterModel: 1, agent.CancelAfterTools: 2}[at]
			if finished.Load() != want {
				t.Errorf("%d calls finished, want %d", finished.Load(), want)
			}
			if err := agent.CheckPairing(s.Messages()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Evidence: loop · Limits on steps, tokens, cost and time end a run
func TestLimits(t *testing.T) {
	loop := func(n int) *script {
		m := newScript()
		for i := range n {
			m.turns = append(m.turns, calls(tc{"1", "look", fmt.Sprintf(`{"n":%d}`, i)}))
		}
		return m
	}
	prices := agent.Prices{"": {}, "scripted-1": {Input: 1_000_000, Output: 2_000_000}}
	for _, tt := range []struct {
		name   string
		limits agent.Limits
		want   agent.StopReason
		steps  int
	}{
		{"steps", agent.Limits{Steps: 3}, agent.StopSteps, 3},
		{"tokens", agent.Limits{Tokens: 45}, agent.StopTokens, 3},               // 15 tokens a step
		{"cost", agent.Limits{MicroDollars: 40}, agent.StopCost, 2},             // 10 + 2*5 micro-dollars a step
		{"wall", agent.Limits{Wall: 30 * time.Millisecond}, agent.StopTime, -1}, // see the sleep below
	} {
		t.Run(tt.name, func(t *testing.T) {
			look := okTool("look")
			if tt.name == "wall" {
				look = newTool("look", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
			}
			a := configured(t, agent.Config{Model: named{loop(10)}, Tools: []agent.Tool{look}, Limits: tt.limits, Prices: prices})
			s := agent.NewSession()
			res, _ := run(t, a, s, "go")
			if res.Stop != tt.want || (tt.steps >= 0 && res.Steps != tt.steps) || res.Detail == "" {
				t.Errorf("result = %+v", res)
			}
			if err := agent.CheckPairing(s.Messages()); err != nil {
				t.Errorf("the history is not fit to go on: %v", err)
			}
		})
	}
}

type named struct{ *script }

func (named) Name() string { return "scripted-1" }

// Evidence: loop · A model that repeats itself is reminded, then stopped
func TestRepetitionLadder(t *testing.T) {
	same := newScript()
	for i := range 10 {
		same.turns = append(same.turns, calls(tc{fmt.Sprint(i), "look", `{"path":"x"}`}))
	}
	res, evs := run(t, newAgent(t, same, okTool("look")), agent.NewSession(), "go")
	if res.Stop != agent.StopRepetition || res.Steps != 8 {
		t.Errorf("result = %+v, want a stop at 8", res)
	}
	var texts []string
	for _, ev := range evs {
		if r, ok := ev.(agent.Reminded); ok {
			texts = append(texts, r.Text)
		}
	}
	if len(texts) != 2 || !strings.Contains(texts[0], "3 times") || !strings.Contains(texts[1], "the run ends at 8") {
		t.Errorf("reminders = %q", texts)
	}

	// A result that changes, or a change made in between, does not count as repetition.
	n := 0
	poll := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		n++
		return agent.TextResult(fmt.Sprint(n)), nil
	})
	same.next = 0
	same.turns = append(same.turns, say("ok"))
	if res, _ := run(t, newAgent(t, same, poll), agent.NewSession(), "go"); res.Stop != agent.StopDone {
		t.Errorf("polling: %+v", res)
	}
	work := newScript()
	for i := range 12 {
		work.turns = append(work.turns, calls(tc{fmt.Sprint("e", i), "edit", fmt.Sprintf(`{"n":%d}`, i)}), calls(tc{fmt.Sprint("t", i), "look", `{}`}))
	}
	work.turns = append(work.turns, say("ok"))
	edit := newTool("edit", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) { return agent.TextResult("edited"), nil })
	if res, _ := run(t, newAgent(t, work, okTool("look"), edit), agent.NewSession(), "go"); res.Stop != agent.StopDone {
		t.Errorf("tests between edits: %+v", res)
	}

	same.next = 0
	off := configured(t, agent.Config{Model: same, Tools: []agent.Tool{okTool("look")}, Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}})
	if res, _ := run(t, off, agent.NewSession(), "go"); res.Stop != agent.StopDone {
		t.Errorf("ladder off: %+v", res)
	}
}

// Evidence: loop · Temporary model errors are retried with backoff and Retry-After
func TestRetry(t *testing.T) {
	var slept []time.Duration
	sleep := func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
	limited := func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		yield(nil, &agent.ModelError{Kind: agent.ErrRateLimit, Status: 429, RetryAfter: 42 * time.Second, Err: errors.New("slow down")})
	}
	cfg := agent.Config{Model: newScript(fails(agent.ErrServer), fails(agent.ErrServer), limited, say("ok")),
		Sleep: sleep, Random: func() float64 { return 1 }, Retry: agent.Retry{Base: time.Second}}
	res, evs := run(t, configured(t, cfg), agent.NewSession(), "go")
	if res.Text() != "ok" || fmt.Sprint(slept) != "[1s 2s 42s]" {
		t.Errorf("slept %v, result %+v", slept, res)
	}
	if !hasEvent[agent.RetryWait](evs) {
		t.Error("no RetryWait event")
	}

	for name, tt := range map[string]struct {
		turns []turn
		reqs  int
	}{
		"final error": {[]turn{fails(agent.ErrAuth)}, 1},
		"too many":    {[]turn{fails(agent.ErrServer), fails(agent.ErrServer), fails(agent.ErrServer)}, 3},
		"Retry-After too far": {[]turn{func(_ context.Context, _ *agent.Request, y func(agent.Chunk, error) bool) {
			y(nil, &agent.ModelError{Kind: agent.ErrRateLimit, RetryAfter: time.Hour})
		}}, 1},
	} {
		m := newScript(tt.turns...)
		res, _, err := tryRun(configured(t, agent.Config{Model: m, Sleep: sleep, Retry: agent.Retry{Max: 2}}), agent.NewSession(), "go")
		if err == nil || res.Stop != agent.StopError || len(m.reqs) != tt.reqs {
			t.Errorf("%s: %d requests, %v", name, len(m.reqs), err)
		}
	}
}

func TestIdleStreamTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
			if yield(agent.TextDelta{Text: "hm"}, nil) {
				<-ctx.Done()
				yield(nil, ctx.Err())
			}
		}
		m := newScript(hang, say("ok"))
		res, evs := run(t, configured(t, agent.Config{Model: m, Retry: agent.Retry{IdleTimeout: 20 * time.Millisecond}}), agent.NewSession(), "go")
		if res.Text() != "ok" {
			t.Fatalf("result = %+v", res)
		}
		for _, ev := range evs {
			if w, ok := ev.(agent.RetryWait); ok {
				if me := agent.AsModelError(w.Err); me.Kind != agent.ErrTimeout {
					t.Errorf("kind = %s", me.Kind)
				}
				return
			}
		}
		t.Error("no retry")
	})
}

// TestSlowConsumerIsNotAnIdleModel: if the consumer holds one event for longer than the idle time,
// the model is asked again, and no failure is counted against it.
func TestSlowConsumerIsNotAnIdleModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
			for range 3 {
				if !yield(agent.TextDelta{Text: "word "}, nil) {
					return
				}
				if ctx.Err() != nil {
					yield(nil, ctx.Err())
					return
				}
			}
			yield(agent.Finish{Reason: agent.FinishStop}, nil)
		}
		a := configured(t, agent.Config{Model: newScript(slow, slow), Retry: agent.Retry{Max: -1, IdleTimeout: 20 * time.Millisecond}})
		held := false
		for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(agent.TextDelta); ok && !held {
				held = true
				time.Sleep(100 * time.Millisecond)
			}
			if d, ok := ev.(agent.Done); ok && d.Result.Text() != "word word word " {
				t.Errorf("text = %q", d.Result.Text())
			}
		}
	})
}

// TestStepWithToolsIsNotAskedAgain breaks a stream after its first call began: the parts that
// arrived are kept, the call runs once, and the model continues from its result.
//
// Evidence: loop · A step whose tools have run is never sent again
func TestStepWithToolsIsNotAskedAgain(t *testing.T) {
	var ran atomic.Int32
	w := newTool("write", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) {
		ran.Add(1)
		return agent.TextResult("written"), nil
	})
	m := newScript(fails(agent.ErrNetwork, agent.TextDelta{Text: "I write."}, agent.ToolCallStart{ID: "1", Name: "write"}, agent.ToolCallDelta{Args: `{}`},
		agent.ToolCallStart{Index: 1, ID: "2", Name: "write"}, agent.ToolCallDelta{Index: 1, Args: `{"half`}), say("ok"))
	s := agent.NewSession()
	res, _ := run(t, newAgent(t, m, w), s, "go")
	if ran.Load() != 1 || res.Text() != "ok" || len(m.reqs) != 2 {
		t.Errorf("ran %d times, %d requests, %+v", ran.Load(), len(m.reqs), res)
	}
	if msgs := s.Messages(); len(msgs) != 4 || len(msgs[1].Calls()) != 1 || msgs[1].Text() != "I write." {
		t.Errorf("history = %v", msgs)
	}
	if err := agent.CheckPairing(s.Messages()); err != nil {
		t.Error(err)
	}
}

// Evidence: loop · Plan mode lets the model read until its plan is approved
func TestPlanMode(t *testing.T) {
	edit := newTool("edit", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) {
		t.Error("a write ran in plan mode")
		return nil, nil
	})
	m := newScript(calls(tc{"1", "look", `{}`}, tc{"2", "edit", `{}`}), say("1. edit a\n2. test"), say("carried out"))
	a := newAgent(t, m, okTool("look"), edit)
	s := agent.NewSession()
	res, err := a.Plan(context.Background(), s, agent.Text{Text: "plan it"}).Collect()
	if err != nil || res.Stop != agent.StopDone {
		t.Fatal(res, err)
	}
	if s.Plan() != "1. edit a\n2. test" {
		t.Errorf("plan = %q", s.Plan())
	}
	if got := m.reqs[0]; len(got.Tools) != 1 || got.Tools[0].Name != "look" || got.Purpose != agent.PurposePlan || !strings.Contains(got.System, "plan mode") {
		t.Errorf("offered %v for %q", got.Tools, got.Purpose)
	}
	if got := resultTexts(s, 0)[1]; !strings.Contains(got, `no tool named "edit"`) {
		t.Errorf("the write was answered %q", got)
	}
	run(t, a, s, "go")
	if got := m.reqs[2]; len(got.Tools) != 2 || got.Epoch == m.reqs[1].Epoch {
		t.Errorf("acting: %d tools, epoch %d after %d", len(got.Tools), got.Epoch, m.reqs[1].Epoch)
	}
}

// Evidence: loop · Middleware sees and changes model and tool calls
func TestMiddleware(t *testing.T) {
	var audit []string
	watch := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			switch {
			case op.IsModel():
				op.Request.System = "be brief"
				err := next(ctx, op)
				audit = append(audit, "model:"+op.Response.Message.Text())
				return err
			case op.Call.Name == "forbidden":
				return errors.New("this house does not do that")
			}
			op.Call.Args = []byte(`{"rewritten":true}`)
			err := next(ctx, op)
			op.Result.Parts = append(op.Result.Parts, agent.Text{Text: "!"})
			return err
		}
	}
	m := newScript(calls(tc{"1", "look", `{}`}, tc{"2", "forbidden", `{}`}), say("ok"))
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{okTool("look"), okTool("forbidden")}, Middleware: []agent.Middleware{watch}, Parallel: 1})
	s := agent.NewSession()
	run(t, a, s, "go")
	if got := resultTexts(s, 0); got[0] != `look{"rewritten":true}!` || got[1] != "this house does not do that" {
		t.Errorf("results = %q", got)
	}
	if m.reqs[0].System != "be brief" || fmt.Sprint(audit) != "[model: model:ok]" {
		t.Errorf("system %q, audit %q", m.reqs[0].System, audit)
	}
}

// Evidence: backends · Each request begins with the bytes of the one before
func TestPrefixIsStable(t *testing.T) {
	m := newScript()
	for i := range 6 {
		m.turns = append(m.turns, calls(tc{fmt.Sprint(i), "look", fmt.Sprintf(`{"n":%d}`, i/3)}))
	}
	m.turns = append(m.turns, say("one"), say("two"))
	a := newAgent(t, m, okTool("look"))
	s := agent.NewSession()
	run(t, a, s, "go")
	run(t, a, s, "more")
	for i := 1; i < len(m.reqs); i++ {
		old, now := m.reqs[i-1], m.reqs[i]
		if now.Epoch != old.Epoch || fmt.Sprint(now.Messages[:len(old.Messages)]) != fmt.Sprint(old.Messages) {
			t.Fatalf("request %d does not begin with request %d", i+1, i)
		}
	}
}

// Evidence: loop · A compactor replaces the history between steps
func TestCompaction(t *testing.T) {
	big := strings.Repeat("word ", 2000)
	tool := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) { return agent.TextResult(big), nil })
	m := newScript()
	for i := range 6 {
		m.turns = append(m.turns, calls(tc{fmt.Sprint(i), "look", fmt.Sprintf(`{"n":%d}`, i)}))
	}
	m.turns = append(m.turns, fails(agent.ErrContextLength), say("ok"))
	for i := range m.turns[:6] { // without usage the size is estimated
		c := calls(tc{fmt.Sprint(i), "look", fmt.Sprintf(`{"n":%d}`, i)})
		m.turns[i] = func(ctx context.Context, r *agent.Request, yield func(agent.Chunk, error) bool) {
			c(ctx, r, func(ch agent.Chunk, err error) bool {
				if _, ok := ch.(agent.Usage); ok {
					return true
				}
				return yield(ch, err)
			})
		}
	}
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{tool}, Compactor: keepLast{}, ContextBudget: 8000})
	s := agent.NewSession()
	_, evs := run(t, a, s, "go")
	n := 0
	for _, ev := range evs {
		if _, ok := ev.(agent.Compacted); ok {
			n++
		}
	}
	if n < 2 || s.Epoch() != n {
		t.Errorf("%d compactions, epoch %d; want one by budget and one by overflow", n, s.Epoch())
	}
	if got := len(s.Transcript()); got < 14 {
		t.Errorf("the transcript has %d messages; compaction lost some", got)
	}
}

// keepLast keeps the first message and the last exchange.
type keepLast struct{}

func (keepLast) Compact(_ context.Context, ms []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
	return append(ms[:1:1], ms[len(ms)-2:]...), agent.CompactionReport{Before: len(ms), After: 3}, nil
}
