package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// Evidence: loop · A run streams events and returns a result with the reason why it stopped
func TestRunAnswers(t *testing.T) {
	m := newScript(calls(tc{"1", "look", `{"a":1}`}), say("done"))
	a := newAgent(t, m, okTool("look"))
	s := agent.NewSession()
	res, evs := run(t, a, s, "go")
	if res.Stop != agent.StopDone || res.Text() != "done" || res.Steps != 2 || res.Calls != 1 {
		t.Errorf("result = %+v", res)
	}
	if want := (agent.Usage{Input: 20, Output: 10}); res.Usage != want {
		t.Errorf("usage = %+v, want %+v", res.Usage, want)
	}
	if _, ok := evs[len(evs)-1].(agent.Done); !ok {
		t.Errorf("last event is %T, want Done", evs[len(evs)-1])
	}
	want := []agent.Message{
		agent.UserText("go"),
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.ToolCall{ID: "1", Name: "look", Args: []byte(`{"a":1}`)}}},
		{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "1", Parts: []agent.Part{agent.Text{Text: `look{"a":1}`}}}}},
		{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: "done"}}},
	}
	if diff := cmp.Diff(want, s.Messages()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// Evidence: loop · A stream that is cut off is an error, never a short answer
func TestIncompleteStreamIsAnError(t *testing.T) {
	cut := chunks(agent.TextDelta{Text: "half an ans"})
	m := newScript(cut, cut, cut)
	a := configured(t, agent.Config{Model: m, Retry: agent.Retry{Max: 2, Base: 1}})
	res, evs, err := tryRun(a, agent.NewSession(), "go")
	me, ok := errors.AsType[*agent.ModelError](err)
	if !ok || me.Kind != agent.ErrIncomplete || res.Stop != agent.StopError {
		t.Fatalf("err = %v, result = %+v; want an incomplete-stream error", err, res)
	}
	if len(m.reqs) != 3 {
		t.Errorf("%d requests, want 1 and 2 retries", len(m.reqs))
	}
	if !hasEvent[agent.StreamReset](evs) {
		t.Error("no StreamReset: a consumer would show the half answer twice")
	}
	if _, err := agent.Generate(context.Background(), newScript(cut), &agent.Request{}); err == nil {
		t.Error("Generate took a cut stream for an answer")
	}
}

func TestFailuresAreDataForTheModel(t *testing.T) {
	fail := newTool("fail", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		return nil, errors.New("disk on fire; use water")
	})
	panics := newTool("panics", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) { panic("boom") })
	none := newTool("none", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) { return nil, nil })
	m := newScript(calls(tc{"1", "fail", `{}`}, tc{"2", "panics", `{}`}, tc{"3", "nosuch", `{}`}, tc{"4", "none", ``}, tc{"5", "odd name!", `{}`}), say("ok"))
	s := agent.NewSession()
	res, _ := run(t, newAgent(t, m, fail, panics, none), s, "go")
	if res.Stop != agent.StopDone || len(m.reqs) != 2 {
		t.Fatalf("result %+v after %d requests; a failing tool must not end or repeat the step", res, len(m.reqs))
	}
	got := resultTexts(s, 0)
	for i, want := range []string{"disk on fire; use water", "panic: boom", `no tool named "nosuch". The tools are: fail, panics, none`, "(no output)", `no tool named "odd_name_"`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("result %d = %q, want it to hold %q", i, got[i], want)
		}
	}
	for i, isErr := range []bool{true, true, true, false, true} {
		if results(s, 0)[i].IsError != isErr {
			t.Errorf("result %d: IsError = %v", i, !isErr)
		}
	}
}

func TestTruncatedArgumentsAreNeverExecuted(t *testing.T) {
	var ran atomic.Int32
	w := newTool("write", agent.Writing("."), func(context.Context, string) (*agent.ToolResult, error) {
		ran.Add(1)
		return nil, nil
	})
	m := newScript(chunks(agent.ToolCallStart{ID: "1", Name: "write"}, agent.ToolCallDelta{Args: `{"text":"half a fi`}, agent.Finish{Reason: agent.FinishLength}), say("ok"))
	s := agent.NewSession()
	run(t, newAgent(t, m, w), s, "go")
	if ran.Load() != 0 {
		t.Error("a call with truncated arguments was executed")
	}
	if got := resultTexts(s, 0)[0]; !strings.Contains(got, "cut off") {
		t.Errorf("result = %q", got)
	}
}

// Evidence: loop · A call starts while the model still streams
func TestCallsStartWhileTheModelStreams(t *testing.T) {
	started := make(chan struct{})
	look := newTool("look", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		close(started)
		return agent.TextResult("seen"), nil
	})
	m := newScript(func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		if !yield(agent.ToolCallStart{ID: "1", Name: "look"}, nil) || !yield(agent.ToolCallDelta{Args: `{"a":`}, nil) || !yield(agent.ToolCallDelta{Args: `1}`}, nil) {
			return
		}
		select {
		case <-started: // the stream has not ended, and the tool is running
		case <-time.After(time.Minute):
			t.Error("the call did not start while the stream was open")
		}
		yield(agent.Finish{Reason: agent.FinishTools}, nil)
	}, say("ok"))
	run(t, newAgent(t, m, look), agent.NewSession(), "go")
}

// TestConflictingCallsKeepTheirOrder: of reads and writes of several paths, conflicting ones never
// overlap and run in order; all others may overlap.
//
// Evidence: loop · Calls that conflict keep their order
func TestConflictingCallsKeepTheirOrder(t *testing.T) {
	var mu sync.Mutex
	var log []string
	active := map[string]string{}
	touch := func(write bool) func(context.Context, string) (*agent.ToolResult, error) {
		return func(_ context.Context, path string) (*agent.ToolResult, error) {
			mu.Lock()
			if other, ok := active[path]; ok && (write || other == "w") {
				t.Errorf("%s is touched by two calls at once", path)
			}
			kind := "r"
			if write {
				kind = "w"
			}
			active[path] = kind
			log = append(log, kind+path)
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			delete(active, path)
			mu.Unlock()
			return agent.TextResult(kind + path), nil
		}
	}
	m := newScript(calls(tc{"1", "w", `{"path":"a"}`}, tc{"2", "r", `{"path":"a"}`}, tc{"3", "w", `{"path":"a"}`},
		tc{"4", "w", `{"path":"b"}`}, tc{"5", "r", `{"path":"c"}`}), say("ok"))
	s := agent.NewSession()
	run(t, newAgent(t, m, fileTool("w", true, touch(true)), fileTool("r", false, touch(false))), s, "go")
	var onA []string
	for _, e := range log {
		if e[1:] == "a" {
			onA = append(onA, e)
		}
	}
	if diff := cmp.Diff([]string{"wa", "ra", "wa"}, onA); diff != "" {
		t.Errorf("order on a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"wa", "ra", "wa", "wb", "rc"}, resultTexts(s, 0)); diff != "" {
		t.Errorf("results are not in call order (-want +got):\n%s", diff)
	}
}

func TestParallelCap(t *testing.T) {
	var now, peak atomic.Int32
	slow := newTool("slow", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		n := now.Add(1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		for end := time.Now().Add(time.Minute); peak.Load() < 3 && time.Now().Before(end); { // the others are on their way
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * time.Millisecond) // one more than may be would come now
		now.Add(-1)
		return nil, nil
	})
	var cs []tc
	for i := range 20 {
		cs = append(cs, tc{fmt.Sprint(i), "slow", fmt.Sprintf(`{"i":%d}`, i)})
	}
	a := configured(t, agent.Config{Model: newScript(calls(cs...), say("ok")), Tools: []agent.Tool{slow}, Parallel: 3})
	run(t, a, agent.NewSession(), "go")
	if p := peak.Load(); p != 3 {
		t.Errorf("peak concurrency %d, want 3", p)
	}
}

// Evidence: loop · Leaving the event loop cancels the run and waits for its tools
func TestBreakCancelsAndWaits(t *testing.T) {
	agenttest.CheckLeaks(t)
	var ended atomic.Bool
	began := make(chan struct{})
	slow := newTool("slow", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		close(began)
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
		ended.Store(true)
		return nil, ctx.Err()
	})
	m := newScript(calls(tc{"1", "slow", `{}`}), say("never"))
	a := newAgent(t, m, slow)
	s := agent.NewSession()
	for ev, err := range a.Run(context.Background(), s, agent.Text{Text: "go"}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(agent.CallStart); ok {
			<-began
			break
		}
	}
	if !ended.Load() {
		t.Error("the loop returned before its tool did")
	}
	// The session can continue.
	m.turns = append(m.turns, say("later"))
	m.next = len(m.turns) - 1
	if res, _ := run(t, a, s, "again"); res.Text() != "later" {
		t.Errorf("second run: %+v", res)
	}
}

func TestPanickingConsumerLeavesNothing(t *testing.T) {
	agenttest.CheckLeaks(t)
	slow := newTool("slow", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	a := newAgent(t, newScript(calls(tc{"1", "slow", `{}`})), slow)
	s := agent.NewSession()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		for ev := range a.Run(context.Background(), s, agent.Text{Text: "go"}) {
			if _, ok := ev.(agent.CallStart); ok {
				panic("consumer")
			}
		}
	}()
	if err := s.Append(agent.UserText("x")); err != nil {
		t.Errorf("the session is still busy: %v", err)
	}
}

func TestRunIsSingleUse(t *testing.T) {
	a := newAgent(t, newScript(say("a"), say("b")))
	r := a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"})
	if _, err := r.Collect(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Collect(); !errors.Is(err, agent.ErrRunUsed) {
		t.Errorf("second use: %v, want ErrRunUsed", err)
	}
}

func TestOneRunPerSession(t *testing.T) {
	a := newAgent(t, newScript(say("a"), say("b")))
	s := agent.NewSession()
	for range a.Run(context.Background(), s, agent.Text{Text: "go"}) {
		if _, err := a.Run(context.Background(), s, agent.Text{Text: "too"}).Collect(); !errors.Is(err, agent.ErrBusy) {
			t.Fatalf("a second run on a busy session: %v, want ErrBusy", err)
		}
		break
	}
}

func TestContextCancelEndsTheRun(t *testing.T) {
	agenttest.CheckLeaks(t)
	ctx, cancel := context.WithCancel(context.Background())
	hang := func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		if yield(agent.TextDelta{Text: "thinking"}, nil) {
			cancel()
			<-ctx.Done()
			yield(nil, ctx.Err())
		}
	}
	res, err := newAgent(t, newScript(hang)).Run(ctx, agent.NewSession(), agent.Text{Text: "go"}).Collect()
	if !errors.Is(err, context.Canceled) || res.Stop != agent.StopCanceled {
		t.Errorf("res = %+v, err = %v", res, err)
	}
}

func TestParallelCallsWithoutIDs(t *testing.T) {
	m := newScript(chunks(
		agent.ToolCallStart{Index: 0, Name: "look"}, agent.ToolCallStart{Index: 1, Name: "look", ID: "x"}, agent.ToolCallStart{Index: 2, Name: "look", ID: "x"},
		agent.ToolCallDelta{Index: 1, Args: `{"n"`}, agent.ToolCallDelta{Index: 0, Args: `{"n":`}, agent.ToolCallDelta{Index: 2, Args: `{"n":2}`},
		agent.ToolCallDelta{Index: 1, Args: `:1}`}, agent.ToolCallDelta{Index: 0, Args: `0}`},
		agent.Finish{Reason: agent.FinishTools}), say("ok"))
	s := agent.NewSession()
	_, evs := run(t, newAgent(t, m, okTool("look")), s, "go")
	if diff := cmp.Diff([]string{`look{"n":0}`, `look{"n":1}`, `look{"n":2}`}, resultTexts(s, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := agent.CheckPairing(s.Messages()); err != nil {
		t.Error(err)
	}
	ids := map[string]bool{}
	for _, ev := range evs {
		if st, ok := ev.(agent.ToolCallStart); ok {
			ids[st.ID] = true
		}
	}
	for _, r := range results(s, 0) {
		if !ids[r.CallID] {
			t.Errorf("result for %q, which no event announced", r.CallID)
		}
	}
}

func TestHangingToolIsAbandoned(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	stuck := newTool("stuck", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		<-release
		return nil, nil
	})
	stuck.spec.Timeout = 5 * time.Millisecond
	a := configured(t, agent.Config{Model: newScript(calls(tc{"1", "stuck", `{}`}), say("went on")), Tools: []agent.Tool{stuck}, Grace: 5 * time.Millisecond})
	s := agent.NewSession()
	res, _ := run(t, a, s, "go")
	if res.Text() != "went on" || res.Abandoned != 1 {
		t.Errorf("result = %+v", res)
	}
	if got := resultTexts(s, 0)[0]; !strings.Contains(got, "left behind") {
		t.Errorf("tool result = %q", got)
	}
}

func TestToolTimeLimit(t *testing.T) {
	obeys := newTool("obeys", agent.ReadOnly("."), func(ctx context.Context, _ string) (*agent.ToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	obeys.spec.Timeout = time.Millisecond
	s := agent.NewSession()
	res, _ := run(t, newAgent(t, newScript(calls(tc{"1", "obeys", `{}`}), say("ok")), obeys), s, "go")
	if got := resultTexts(s, 0)[0]; !strings.Contains(got, "time limit of 1ms") || res.Abandoned != 0 {
		t.Errorf("tool result = %q, %+v", got, res)
	}
}

func TestOversizedThings(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	loud := newTool("loud", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) {
		return agent.TextResult(strings.Repeat(big, 8) + "\xff end"), nil
	})
	args := []agent.Chunk{agent.ToolCallStart{ID: "1", Name: "loud"}, agent.ToolCallDelta{Args: `{"a":"`}}
	for range 50 {
		args = append(args, agent.ToolCallDelta{Args: big})
	}
	args = append(args, agent.ToolCallDelta{Args: `"}`}, agent.ToolCallStart{Index: 1, ID: "2", Name: "loud"}, agent.ToolCallDelta{Index: 1, Args: "{}"}, agent.Finish{Reason: agent.FinishTools})
	s := agent.NewSession()
	run(t, newAgent(t, newScript(chunks(args...), say("ok")), loud), s, "go")
	got := resultTexts(s, 0)
	if !strings.Contains(got[0], "at most 16777216 are accepted") {
		t.Errorf("50 MB of arguments: %.200q", got[0])
	}
	if len(got[1]) > 300<<10 || !strings.Contains(got[1], "bytes left out") || !strings.HasSuffix(got[1], " end") {
		t.Errorf("8 MB of output became %d bytes ending in %q", len(got[1]), got[1][len(got[1])-20:])
	}

	endless := func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		for yield(agent.TextDelta{Text: big}, nil) {
		}
	}
	_, _, err := tryRun(configured(t, agent.Config{Model: newScript(endless), Limits: agent.Limits{ResponseBytes: 4 << 20}}), agent.NewSession(), "go")
	if err == nil || !strings.Contains(err.Error(), "ResponseBytes") {
		t.Errorf("a model that never stops: %v", err)
	}
}

// Evidence: loop · A verification that fails sends its message back to the model
func TestVerify(t *testing.T) {
	var checks int
	cfg := agent.Config{Model: newScript(say("done"), say("really done")), Verify: func(context.Context, *agent.Session) (string, error) {
		if checks++; checks == 1 {
			return "the tests fail: TestX", nil
		}
		return "", nil
	}}
	s := agent.NewSession()
	res, _ := run(t, configured(t, cfg), s, "go")
	if res.Text() != "really done" || res.Stop != agent.StopDone {
		t.Errorf("result = %+v", res)
	}
	if got := s.Messages()[2].Text(); got != "the tests fail: TestX" {
		t.Errorf("the model read %q", got)
	}
	cfg = agent.Config{Model: newScript(say("1"), say("2"), say("3")), Limits: agent.Limits{Verifications: 2},
		Verify: func(context.Context, *agent.Session) (string, error) { return "no", nil }}
	if res, _ := run(t, configured(t, cfg), agent.NewSession(), "go"); res.Stop != agent.StopUnverified {
		t.Errorf("result = %+v", res)
	}
}

func TestNewNamesTheBadField(t *testing.T) {
	temp := 9.0
	m := newScript()
	for want, cfg := range map[string]agent.Config{
		"Config.Model":               {},
		"Config.Tools":               {Model: m, Tools: []agent.Tool{okTool("a"), okTool("a")}},
		"1 to 64":                    {Model: m, Tools: []agent.Tool{okTool("no spaces")}},
		"tool 0 is nil":              {Model: m, Tools: []agent.Tool{nil}},
		"Config.Parallel":            {Model: m, Parallel: -1},
		"Config.Temperature":         {Model: m, Temperature: &temp},
		"Config.Repetition":          {Model: m, Repetition: agent.Repetition{Remind: 5, Warn: 3, Stop: 8}},
		"Config.Middleware[0]":       {Model: m, Middleware: []agent.Middleware{nil}},
		"Config.Limits.MicroDollars": {Model: m, Limits: agent.Limits{MicroDollars: 5}},
		"Config.Retry.Base":          {Model: m, Retry: agent.Retry{Base: -1}},
		"Config.Prices":              {Model: m, Prices: agent.Prices{"x": {Input: -1}}},
	} {
		if _, err := agent.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to name %s", err, want)
		}
	}
	if _, err := newAgent(t, m).Run(context.Background(), nil).Collect(); err == nil {
		t.Error("a nil session was accepted")
	}
	if _, err := newAgent(t, m).Run(context.Background(), agent.NewSession()).Collect(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty session without input: %v", err)
	}
}
