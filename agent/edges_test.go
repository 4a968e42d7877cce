package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// TestCancelWhileTheRunBegins cancels and steers from other goroutines while a run is starting.
func TestCancelWhileTheRunBegins(t *testing.T) {
	for range 200 {
		s := agent.NewSession()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.Cancel(agent.CancelNow)
					runtime.Gosched()
				}
			}
		})
		_, _, _ = tryRun(newAgent(t, newScript(say("a"))), s, "go")
		close(stop)
		wg.Wait()
	}
}

// TestNextRunFromDone starts the next run while the first is still unwinding: the end of the first
// must not release the session.
func TestNextRunFromDone(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	wait := func(ctx context.Context, r *agent.Request, yield func(agent.Chunk, error) bool) {
		close(began)
		<-release
		say("second")(ctx, r, yield)
	}
	a := newAgent(t, newScript(say("first"), wait))
	s := agent.NewSession()
	done := make(chan error)
	for ev := range a.Run(context.Background(), s, agent.Text{Text: "go"}) {
		if _, ok := ev.(agent.Done); ok {
			go func() { _, err := a.Run(context.Background(), s, agent.Text{Text: "more"}).Collect(); done <- err }()
			<-began
		}
	}
	if err := s.Append(agent.UserText("x")); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("the session of a run in progress took a message: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLeavingMidStreamKeepsWhatWasDone leaves, cancels and panics while the response is still
// streaming and one of its calls has run: the history keeps the call and its result, in memory and
// on disk.
func TestLeavingMidStreamKeepsWhatWasDone(t *testing.T) {
	agenttest.CheckLeaks(t)
	for _, how := range []string{"break", "cancel", "panic"} {
		t.Run(how, func(t *testing.T) {
			ran := make(chan struct{})
			w := newTool("write", agent.Writing("a"), func(context.Context, string) (*agent.ToolResult, error) {
				defer close(ran)
				return agent.TextResult("written"), nil
			})
			m := newScript(func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
				_ = yield(agent.ToolCallStart{ID: "1", Name: "write"}, nil) && yield(agent.ToolCallDelta{Args: `{}`}, nil)
				<-ran
				time.Sleep(5 * time.Millisecond)
				if yield(agent.TextDelta{Text: "and "}, nil) {
					<-ctx.Done()
				}
			})
			dir := t.TempDir()
			s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s", NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() { _ = recover() }()
				for ev := range newAgent(t, m, w).Run(context.Background(), s, agent.Text{Text: "go"}) {
					if _, ok := ev.(agent.TextDelta); ok {
						switch how {
						case "cancel":
							s.Cancel(agent.CancelNow)
						case "panic":
							panic("consumer")
						default:
							return
						}
					}
				}
			}()
			if got := resultTexts(s, 0); len(got) != 1 || got[0] != "written" {
				t.Errorf("results = %q", got)
			}
			want := s.Messages()
			s.Close()
			again, rec, err := agent.OpenSession(filepath.Join(dir, "s.jsonl"), agent.SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if diff := cmp.Diff(want, again.Messages()); diff != "" || rec.Interrupted != nil {
				t.Errorf("%+v (-memory +disk):\n%s", rec, diff)
			}
		})
	}
}

// TestPanicWhileToolsRun makes the consumer panic at CallDone, when the message is in the history
// but the results are not.
func TestPanicWhileToolsRun(t *testing.T) {
	s := agent.NewSession()
	func() {
		defer func() { _ = recover() }()
		for ev := range newAgent(t, newScript(calls(tc{"1", "look", `{}`})), okTool("look")).Run(context.Background(), s, agent.Text{Text: "go"}) {
			if _, ok := ev.(agent.CallDone); ok {
				panic("consumer")
			}
		}
	}()
	if got := resultTexts(s, 0); len(got) != 1 || got[0] != "look{}" {
		t.Errorf("results = %q", got)
	}
}

// TestMiddlewareThatRetries calls next twice, both for a tool and for the model.
func TestMiddlewareThatRetries(t *testing.T) {
	var runs atomic.Int32
	flaky := newTool("flaky", agent.Writing("a"), func(_ context.Context, args string) (*agent.ToolResult, error) {
		if runs.Add(1)%2 == 1 {
			return nil, errors.New("try again")
		}
		return agent.TextResult("ok"), nil
	})
	again := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			err := next(ctx, op)
			if (op.IsModel() && err != nil) || (op.Result != nil && op.Result.IsError) {
				return next(ctx, op)
			}
			return err
		}
	}
	m := newScript(fails(agent.ErrServer, agent.TextDelta{Text: "hm"}, agent.Usage{Input: 3}), calls(tc{"1", "flaky", `{}`}, tc{"2", "flaky", `{}`}), say("done"))
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{flaky}, Middleware: []agent.Middleware{again}, Parallel: 1})
	s := agent.NewSession()
	res, evs := run(t, a, s, "go")
	if got := resultTexts(s, 0); fmt.Sprint(got) != "[ok ok]" || res.Calls != 2 || runs.Load() != 4 {
		t.Errorf("results %q, %d calls, %d runs", got, res.Calls, runs.Load())
	}
	if !hasEvent[agent.StreamReset](evs) || res.Usage.Input != 23 {
		t.Errorf("reset %v, usage %+v; the failed attempt cost 3 tokens", hasEvent[agent.StreamReset](evs), res.Usage)
	}

	// Once a call has begun, the model is not asked again for the same response.
	m = newScript(fails(agent.ErrServer, agent.ToolCallStart{ID: "x", Name: "flaky"}, agent.ToolCallDelta{Args: "{}"}), say("done"))
	s = agent.NewSession()
	run(t, configured(t, agent.Config{Model: m, Tools: []agent.Tool{flaky}, Middleware: []agent.Middleware{again}, Parallel: 1}), s, "go")
	if err := agent.CheckPairing(s.Messages()); err != nil {
		t.Error(err)
	}
}

// TestMiddlewareThatAnswers returns a cached response with a call in it, without asking the model.
func TestMiddlewareThatAnswers(t *testing.T) {
	cached := &agent.Response{Message: agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{
		agent.Text{Text: "cached"}, agent.ToolCall{ID: "c", Name: "look", Args: json.RawMessage(`{}`)}}}, Finish: agent.FinishTools}
	cache := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if op.IsModel() && op.Step == 1 {
				op.Response = cached
				return nil
			}
			return next(ctx, op)
		}
	}
	s := agent.NewSession()
	res, _ := run(t, configured(t, agent.Config{Model: newScript(say("done")), Tools: []agent.Tool{okTool("look")}, Middleware: []agent.Middleware{cache}}), s, "go")
	if got := resultTexts(s, 0); fmt.Sprint(got) != "[look{}]" || res.Text() != "done" {
		t.Errorf("results %q, %+v", got, res)
	}
	forge := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			err := next(ctx, op)
			if op.IsModel() {
				op.Response = cached
			}
			return err
		}
	}
	if _, _, err := tryRun(configured(t, agent.Config{Model: newScript(say("x")), Middleware: []agent.Middleware{forge}}), agent.NewSession(), "go"); err == nil || !strings.Contains(err.Error(), "changed the calls") {
		t.Errorf("err = %v", err)
	}
}

// TestSteerDuringVerify: a message that arrives while the work is verified is read before the run
// counts as done.
func TestSteerDuringVerify(t *testing.T) {
	s := agent.NewSession()
	once := sync.OnceFunc(func() { s.Steer(agent.Text{Text: "also this"}) })
	a := configured(t, agent.Config{Model: newScript(say("done"), say("this too")), Verify: func(context.Context, *agent.Session) (string, error) {
		once()
		return "", nil
	}})
	if res, _ := run(t, a, s, "go"); res.Text() != "this too" || res.Stop != agent.StopDone {
		t.Errorf("result = %+v", res)
	}
}

// TestSteerThatWasReadSkipsNothing sends messages from other goroutines at all times: a call may be
// skipped only while a message is unread.
func TestSteerThatWasReadSkipsNothing(t *testing.T) {
	for i := range 100 {
		s := agent.NewSession()
		m := newScript(calls(tc{"1", "look", `{"n":1}`}), calls(tc{"2", "look", `{"n":2}`}), calls(tc{"3", "look", `{"n":3}`}), say("done"), say("done"))
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Microsecond)
			s.Steer(agent.Text{Text: "steer"})
		})
		run(t, newAgent(t, m, okTool("look")), s, "go")
		wg.Wait()
		ms := s.Messages()
		for j, msg := range ms {
			if msg.Role == agent.RoleTool && strings.HasPrefix(msg.Parts[0].(agent.ToolResult).Text(), "Skipped") && (j+1 >= len(ms) || ms[j+1].Text() != "steer") {
				t.Fatalf("a call was skipped for a message that was read before: %v", ms)
			}
		}
	}
}

// TestFailedAttemptsAreCounted: usage reported by a broken stream counts, since it was paid for.
func TestFailedAttemptsAreCounted(t *testing.T) {
	m := newScript(fails(agent.ErrServer, agent.Usage{Input: 100}), say("ok"))
	s := agent.NewSession()
	res, evs := run(t, newAgent(t, m), s, "go")
	if u, _ := s.Usage(); res.Usage.Input != 110 || u != res.Usage {
		t.Errorf("run %+v, session %+v", res.Usage, u)
	}
	if hasEvent[agent.StreamReset](evs) {
		t.Error("StreamReset although nothing was streamed")
	}
}

// TestSlowConsumerCostsLittle: a consumer that is slow at every event gets more time, and does not
// cause an endless series of requests.
func TestSlowConsumerCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
			for range 4 {
				if !yield(agent.TextDelta{Text: "w"}, nil) {
					return
				}
				if ctx.Err() != nil {
					yield(nil, ctx.Err())
					return
				}
			}
			yield(agent.Finish{Reason: agent.FinishStop}, nil)
		}
		m := newScript()
		for range 30 {
			m.turns = append(m.turns, slow)
		}
		a := configured(t, agent.Config{Model: m, Retry: agent.Retry{Max: -1, IdleTimeout: 4 * time.Millisecond}})
		for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(agent.TextDelta); ok {
				time.Sleep(15 * time.Millisecond)
			}
		}
		if len(m.reqs) > 12 {
			t.Errorf("%d requests", len(m.reqs))
		}
	})
}

// TestGarbageStreams sends the loop streams that no model should send.
func TestGarbageStreams(t *testing.T) {
	agenttest.CheckLeaks(t)
	flood := func(c agent.Chunk) turn {
		return func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
			for yield(c, nil) {
			}
		}
	}
	many := func(n int) turn {
		var cs []agent.Chunk
		for i := range n {
			cs = append(cs, agent.ToolCallStart{Index: i, Name: "look"}, agent.ToolCallDelta{Index: i, Args: fmt.Sprint(`{"n":`, i, `}`)})
		}
		return chunks(append(cs, agent.Finish{Reason: agent.FinishTools})...)
	}
	fin := agent.Finish{Reason: agent.FinishTools}
	for name, tt := range map[string]struct {
		turn turn
		err  string // error of the run; empty if the run continues
		res  []string
	}{
		"nil flood":        {flood(nil), "ResponseBytes", nil},
		"empty text flood": {flood(agent.TextDelta{}), "ResponseBytes", nil},
		"text after finish": {func(c context.Context, r *agent.Request, y func(agent.Chunk, error) bool) {
			y(fin, nil)
			flood(agent.TextDelta{Text: "x"})(c, r, y)
		}, "ResponseBytes", nil},
		"unknown index flood": {func(_ context.Context, _ *agent.Request, y func(agent.Chunk, error) bool) {
			for i := 0; y(agent.ToolCallDelta{Index: i, Args: "{"}, nil); i++ {
			}
		}, "more than 4096 tool calls", nil},
		"call flood":             {many(5000), "more than 4096 tool calls", nil},
		"deltas without a start": {chunks(agent.ToolCallDelta{Index: 7, Args: `{}`}, fin), "", []string{`There is no tool named "unnamed". The tools are: look.`}},
		"finish twice":           {chunks(agent.ToolCallStart{ID: "1", Name: "look"}, fin, agent.ToolCallDelta{Args: `{"late":1}`}, fin, agent.Usage{Input: 1}), "", []string{"look{}"}},
		"junk after arguments":   {chunks(agent.ToolCallStart{ID: "1", Name: "look"}, agent.ToolCallDelta{Args: `{}`}, agent.ToolCallDelta{Args: ` and more`}, fin), "", []string{"look{}"}},
		"bad id and name":        {chunks(agent.ToolCallStart{ID: "\xff", Name: "lo\xffok"}, agent.ToolCallDelta{Args: `{}`}, fin), "", []string{`There is no tool named "lo_ok". The tools are: look.`}},
		"cut arguments":          {chunks(agent.ToolCallStart{ID: "1", Name: "look"}, agent.ToolCallDelta{Args: `{"text":"half a fi`}, fin), "", []string{"The arguments were cut off, so the call was not run. Send it again in smaller pieces, such as several edits instead of one large write."}},
		"malformed arguments":    {chunks(agent.ToolCallStart{ID: "1", Name: "look"}, agent.ToolCallDelta{Args: `{'a': "5" disk"}`}, fin), "", []string{`look{'a': "5" disk"}`}},
		"after the error": {func(_ context.Context, _ *agent.Request, y func(agent.Chunk, error) bool) {
			y(nil, &agent.ModelError{Kind: agent.ErrAuth, Err: errors.New("no key")})
			y(agent.ToolCallStart{ID: "1", Name: "look"}, nil)
			y(agent.ToolCallDelta{Args: "{}"}, nil)
			y(fin, nil)
		}, "no key", nil},
		"negative usage": {chunks(agent.ToolCallStart{ID: "1", Name: "look"}, agent.Usage{Input: -1 << 60, Output: -5}, fin), "", []string{"look{}"}},
		"thousand calls": {many(1000), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := agent.NewSession()
			a := configured(t, agent.Config{Model: newScript(tt.turn, say("ok")), Tools: []agent.Tool{okTool("look")}, Limits: agent.Limits{ResponseBytes: 1 << 20}})
			res, evs, err := tryRun(a, s, "go")
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("err = %v, want %s", err, tt.err)
				}
			} else if err != nil || res.Text() != "ok" {
				t.Fatalf("%+v, %v", res, err)
			}
			if res.Usage.Input < 0 {
				t.Errorf("usage %+v", res.Usage)
			}
			if tt.res != nil {
				if diff := cmp.Diff(tt.res, resultTexts(s, 0)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if err := agent.CheckPairing(s.Messages()); err != nil {
				t.Error(err)
			}
			announced := map[string]bool{}
			for _, ev := range evs {
				if st, ok := ev.(agent.ToolCallStart); ok {
					announced[st.ID] = true
				}
			}
			for _, m := range s.Messages() {
				for _, c := range m.Calls() {
					if !announced[c.ID] {
						t.Errorf("call %q was not announced", c.ID)
					}
				}
			}
		})
	}
}

// TestModelThatIgnoresItsContext: a model that keeps streaming after the time limit does not keep
// the run from ending.
func TestModelThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
			for yield(agent.TextDelta{Text: "x"}, nil) {
				time.Sleep(time.Millisecond)
			}
		}
		res, _ := run(t, configured(t, agent.Config{Model: newScript(deaf), Limits: agent.Limits{Wall: 20 * time.Millisecond}}), agent.NewSession(), "go")
		if res.Stop != agent.StopTime {
			t.Errorf("%+v", res)
		}
	})
}

// TestHugeArgumentsAreNotKept: arguments that are refused for their size fill neither the memory
// nor the history.
func TestHugeArgumentsAreNotKept(t *testing.T) {
	piece := strings.Repeat("x", 1<<20)
	var peak uint64
	huge := func(_ context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		yield(agent.ToolCallStart{ID: "1", Name: "look"}, nil)
		yield(agent.ToolCallDelta{Args: `{"a":"`}, nil)
		for i := range 50 {
			yield(agent.ToolCallDelta{Args: piece}, nil)
			if i == 49 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = m.HeapAlloc
			}
		}
		yield(agent.ToolCallDelta{Args: `"}`}, nil)
		yield(agent.Finish{Reason: agent.FinishTools}, nil)
	}
	s := agent.NewSession()
	run(t, newAgent(t, newScript(huge, say("ok")), okTool("look")), s, "go")
	if got := s.Messages()[1].Calls()[0].Args; len(got) > 100 || !json.Valid(got) {
		t.Errorf("%d bytes of refused arguments are in the history", len(got))
	}
	if peak > 30<<20 {
		t.Errorf("%d MiB in use after 50 MiB of arguments", peak>>20)
	}
}

// TestResultOfManyParts: the limit on a result's text applies to all its parts together.
func TestResultOfManyParts(t *testing.T) {
	tool := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		res := &agent.ToolResult{}
		for range 10_000 {
			res.Parts = append(res.Parts, agent.Text{Text: strings.Repeat("x", 1000)})
		}
		return res, nil
	})
	s := agent.NewSession()
	run(t, configured(t, agent.Config{Model: newScript(calls(tc{"1", "look", `{}`}), say("ok")), Tools: []agent.Tool{tool}, ResultBytes: 4000}), s, "go")
	if got := resultTexts(s, 0)[0]; len(got) > 5000 || !strings.Contains(got, "bytes of text dropped") {
		t.Errorf("%d bytes are left of 10 MB", len(got))
	}
}

// TestCallsWithoutIDsDifferBetweenRuns: ids assigned in different runs differ, since providers
// reject two results with one id in a history.
func TestCallsWithoutIDsDifferBetweenRuns(t *testing.T) {
	s := agent.NewSession()
	seen := map[string]bool{}
	for range 3 {
		run(t, newAgent(t, newScript(calls(tc{"", "look", `{}`}, tc{"", "look", `{"n":1}`}), say("ok")), okTool("look")), s, "go")
	}
	for _, m := range s.Messages() {
		for _, c := range m.Calls() {
			if seen[c.ID] {
				t.Errorf("the id %q is used twice", c.ID)
			}
			seen[c.ID] = true
		}
	}
	n := 0
	a := configured(t, agent.Config{Model: newScript(calls(tc{"", "look", `{}`}), say("ok")), Tools: []agent.Tool{okTool("look")},
		NewID: func() string { n++; return fmt.Sprint(n) }})
	s = agent.NewSession()
	run(t, a, s, "go")
	if got := results(s, 0)[0].CallID; got != "call_1" {
		t.Errorf("id = %q, want the injected one", got)
	}
}

// TestCancelDuringRetries: a cancelled run stops asking a model that fails.
func TestCancelDuringRetries(t *testing.T) {
	s := agent.NewSession()
	m := newScript(fails(agent.ErrServer), fails(agent.ErrServer), fails(agent.ErrServer))
	a := configured(t, agent.Config{Model: m, Sleep: func(context.Context, time.Duration) error { s.Cancel(agent.CancelAfterModel); return nil }})
	res, _ := run(t, a, s, "go")
	if res.Stop != agent.StopCanceled || len(m.reqs) > 2 {
		t.Errorf("%+v after %d requests", res, len(m.reqs))
	}
}
