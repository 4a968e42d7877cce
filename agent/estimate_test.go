package agent_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// fakeModel is a script with a name, so that a price holds for it.
type fakeModel struct{ *script }

func (fakeModel) Name() string { return "fake" }

var fakePrices = agent.Prices{"fake": {Input: 3_000_000, Output: 15_000_000}}

// hangs yields chunks and then waits for the end of its context.
func hangs(after ...agent.Chunk) turn {
	return func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		for _, c := range after {
			if !yield(c, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(nil, ctx.Err())
	}
}

// prompt is a text of about 2,000 tokens.
var prompt = strings.Repeat("context ", 2000)

// spent runs one prompt and returns the result, the events of charged calls and the log.
func spent(t *testing.T, cfg agent.Config, turns ...turn) (*agent.Result, []agent.Charged, []*agent.Entry) {
	t.Helper()
	cfg.Model, cfg.Prices = fakeModel{newScript(turns...)}, fakePrices
	cfg.Sleep = func(context.Context, time.Duration) error { return nil }
	dir := t.TempDir()
	s, err := agent.CreateSession(dir, agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var charged []agent.Charged
	var res *agent.Result
	for ev := range configured(t, cfg).Run(t.Context(), s, agent.Text{Text: prompt}) {
		switch ev := ev.(type) {
		case agent.TextDelta:
			if strings.Contains(ev.Text, "cancel") {
				s.Cancel(agent.CancelNow)
			}
		case agent.Charged:
			charged = append(charged, ev)
		case agent.Done:
			res = ev.Result
		}
	}
	if total, cost := s.Usage(); total != res.Usage || cost != res.MicroDollars {
		t.Errorf("the session has %+v for %d, the result %+v for %d", total, cost, res.Usage, res.MicroDollars)
	}
	return res, charged, logged(t, filepath.Join(dir, s.ID()+".jsonl"))
}

// logged returns the entries of a session's log.
func logged(t *testing.T, path string) (out []*agent.Entry) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range agent.ReadEntries(bytes.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// A call that is cancelled, breaks or times out costs what the provider reported, and else what is
// estimated from the prompt and the part that arrived. It counts towards the totals, is marked as
// estimated in the result, the events and the log, and a retry adds the next call.
//
// Evidence: loop · A cancelled or broken model call is estimated and charged
func TestBrokenCallIsCharged(t *testing.T) {
	words := agent.TextDelta{Text: strings.Repeat("one two three four ", 50)} // about 200 tokens
	thoughts := agent.ThinkingDelta{Text: strings.Repeat("one two three four ", 50)}
	start := agent.Usage{Input: 1234, CachedInput: 1000, Output: 1}
	ok := agent.Usage{Input: 10, Output: 5} // what say reports
	idle := agent.Retry{IdleTimeout: 20 * time.Millisecond}
	type between struct{ low, high int64 }
	none := between{}
	full, out := between{1800, 2600}, between{150, 260}
	for name, tc := range map[string]struct {
		cfg       agent.Config
		turns     []turn
		input     between // of the broken calls
		output    between
		reasoning between
		retried   bool
		reported  bool // all of it
	}{
		"cancelled in the text":      {turns: []turn{hangs(words, agent.TextDelta{Text: "cancel"})}, input: full, output: out},
		"cancelled, ignores context": {turns: []turn{chunks(words, agent.TextDelta{Text: "cancel"}, words, words, words, words)}, input: full, output: between{150, 1300}},
		"cancelled in the reasoning": {turns: []turn{hangs(thoughts, agent.TextDelta{Text: "cancel"})}, input: full, output: out, reasoning: out},
		"cancelled in a call": {turns: []turn{hangs(agent.TextDelta{Text: "cancel"}, agent.ToolCallStart{ID: "1", Name: "look"},
			agent.ToolCallDelta{Args: `{"a":"` + words.Text})}, input: full, output: between{1, 260}},
		"cancelled after a report": {turns: []turn{hangs(start, words, agent.TextDelta{Text: "cancel"})}, input: between{1234, 1234}, output: out},
		"the stream ends":          {turns: []turn{chunks(words), say("ok")}, input: full, output: out, retried: true},
		"the connection breaks":    {turns: []turn{fails(agent.ErrNetwork, words), say("ok")}, input: full, output: out, retried: true},
		"it breaks twice":          {turns: []turn{fails(agent.ErrNetwork, words), fails(agent.ErrServer, words), say("ok")}, input: between{3600, 5200}, output: between{300, 520}, retried: true},
		"it breaks after a report": {turns: []turn{fails(agent.ErrNetwork, start, words), say("ok")}, input: between{1234, 1234}, output: out, retried: true},
		"nothing but a report":     {turns: []turn{fails(agent.ErrNetwork, start), say("ok")}, input: between{1234, 1234}, output: between{1, 1}, retried: true, reported: true},
		"a complete report":        {turns: []turn{fails(agent.ErrNetwork, words, agent.Usage{Input: 900, Output: 700}), say("ok")}, input: between{900, 900}, output: between{700, 700}, retried: true, reported: true},
		"silent in the text":       {cfg: agent.Config{Retry: idle}, turns: []turn{hangs(words), say("ok")}, input: full, output: out, retried: true},
		"silent from the start":    {cfg: agent.Config{Retry: idle}, turns: []turn{hangs(), say("ok")}, input: full, output: none, retried: true},
		"empty stream":             {turns: []turn{chunks(), say("ok")}, input: full, output: none, retried: true},
		"refused":                  {turns: []turn{fails(agent.ErrRateLimit), fails(agent.ErrOverloaded), fails(agent.ErrServer), say("ok")}, retried: true},
		"connection refused":       {turns: []turn{fails(agent.ErrNetwork), say("ok")}, retried: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				res, charged, entries := spent(t, tc.cfg, tc.turns...)
				u := res.Usage
				if tc.retried {
					u = u.Add(agent.Usage{Input: -ok.Input, Output: -ok.Output})
					if res.Stop != agent.StopDone {
						t.Fatalf("stop %q: %v", res.Stop, res.Err)
					}
				} else if res.Stop != agent.StopCanceled {
					t.Fatalf("stop %q: %v", res.Stop, res.Err)
				}
				for what, x := range map[string]struct {
					got  int64
					want between
				}{"input": {u.Input, tc.input}, "output": {u.Output, tc.output}, "reasoning": {u.Reasoning, tc.reasoning}} {
					if x.got < x.want.low || x.got > x.want.high {
						t.Errorf("%s of the broken calls: %d, want %v", what, x.got, x.want)
					}
				}
				var events, inLog agent.Usage
				var cost int64
				for _, c := range charged {
					events, cost = events.Add(c.Usage), cost+c.MicroDollars
					if c.Estimated == tc.reported || c.Err == nil {
						t.Errorf("event %+v", c)
					}
				}
				for _, e := range entries {
					if e.Type == agent.EntrySpend {
						inLog = inLog.Add(*e.Usage)
						if e.Estimated == tc.reported {
							t.Errorf("log entry of %+v: estimated %t", *e.Usage, e.Estimated)
						}
					}
				}
				estimated := u
				if tc.reported {
					estimated = agent.Usage{}
				}
				if events != u || inLog != u || res.Estimated != estimated {
					t.Errorf("spent %+v, events %+v, log %+v, estimated %+v", u, events, inLog, res.Estimated)
				}
				if (cost == 0) != (u == agent.Usage{}) || res.MicroDollars < cost {
					t.Errorf("cost %d of %d", cost, res.MicroDollars)
				}
			})
		})
	}
}

// A response that is kept because its calls had begun is estimated if it broke; a run that its
// caller leaves is charged too.
func TestKeptResponseIsCharged(t *testing.T) {
	broken := fails(agent.ErrNetwork, agent.ToolCallStart{ID: "1", Name: "look"}, agent.ToolCallDelta{Args: "{}"}, agent.TextDelta{Text: "and"})
	res, charged, entries := spent(t, agent.Config{Tools: []agent.Tool{okTool("look")}}, broken, say("ok"))
	if res.Stop != agent.StopDone || res.Estimated.Input < 1800 || res.Usage.Input != res.Estimated.Input+10 || len(charged) != 0 {
		t.Errorf("stop %q, usage %+v, estimated %+v, charged %+v", res.Stop, res.Usage, res.Estimated, charged)
	}
	marked := 0
	for _, e := range entries {
		if e.Estimated && e.Type == agent.EntryMessage {
			marked++
		}
	}
	if marked != 1 {
		t.Errorf("%d messages are marked as estimated", marked)
	}
	s := agent.NewSession()
	for ev := range configured(t, agent.Config{Model: newScript(hangs(agent.TextDelta{Text: "hm"}))}).Run(t.Context(), s, agent.Text{Text: prompt}) {
		if _, ok := ev.(agent.TextDelta); ok {
			break
		}
	}
	if u, _ := s.Usage(); u.Input < 1800 {
		t.Errorf("a run that was left: %+v", u)
	}
}

// Broken calls count towards the limits between the retries of one step, and those of a sub-agent
// towards the limits of its caller.
func TestBrokenCallsReachLimits(t *testing.T) {
	breaks := fails(agent.ErrNetwork, agent.TextDelta{Text: "hm"})
	for want, limits := range map[agent.StopReason]agent.Limits{
		agent.StopTokens: {Tokens: 3000},
		agent.StopCost:   {MicroDollars: 8000},
	} {
		m := []turn{breaks, breaks, breaks, breaks, say("ok")}
		res, charged, _ := spent(t, agent.Config{Limits: limits}, m...)
		if res.Stop != want || len(charged) != 2 || res.Err != nil {
			t.Errorf("stop %q after %d broken calls, %v; want %q after 2", res.Stop, len(charged), res.Err, want)
		}
	}
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: newScript(breaks, say("done"))}})
	if err != nil {
		t.Fatal(err)
	}
	res, _, entries := spent(t, agent.Config{Tools: []agent.Tool{sub}}, calls(tc{"1", "agent", `{"task":"` + prompt + `"}`}), say("ok"))
	if res.Stop != agent.StopDone || res.Estimated.Input < 1800 || res.Estimated.Input > 2600 {
		t.Errorf("stop %q, estimated %+v", res.Stop, res.Estimated)
	}
	for _, e := range entries {
		if e.Type == agent.EntrySpend && !e.Estimated {
			t.Errorf("the log does not mark the sub-agent's spending: %+v", e.Usage)
		}
	}
}

// A complete answer counts as reported, also if middleware throws it away; the deadline of the
// caller's context counts as a cancellation.
func TestReportsAreBelieved(t *testing.T) {
	asked := 0
	twice := func(next agent.Handler) agent.Handler {
		return func(ctx context.Context, op *agent.Op) error {
			if asked++; asked == 1 {
				if err := next(ctx, op); err != nil {
					return err
				}
			}
			return next(ctx, op)
		}
	}
	long := chunks(agent.TextDelta{Text: strings.Repeat("one two ", 500)}, agent.Usage{Input: 10, Output: 5}, agent.Finish{Reason: agent.FinishStop})
	res, charged, _ := spent(t, agent.Config{Middleware: []agent.Middleware{twice}}, long, say("ok"))
	if want := (agent.Usage{Input: 20, Output: 10}); res.Usage != want || len(charged) != 1 || res.Estimated != (agent.Usage{}) {
		t.Errorf("usage %+v, estimated %+v, charged %+v", res.Usage, res.Estimated, charged)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		s := agent.NewSession()
		res, err := configured(t, agent.Config{Model: newScript(hangs())}).Run(ctx, s, agent.Text{Text: prompt}).Collect()
		if u, _ := s.Usage(); !errors.Is(err, context.DeadlineExceeded) || res.Estimated.Input < 1800 || u != res.Usage {
			t.Errorf("usage %+v, estimated %+v, %v", u, res.Estimated, err)
		}
	})
}

// A host estimates its own calls with CallUsage.
func TestCallUsage(t *testing.T) {
	req := &agent.Request{System: prompt, Messages: []agent.Message{agent.UserText(prompt)}}
	m := newScript(fails(agent.ErrNetwork, agent.TextDelta{Text: prompt}), fails(agent.ErrAuth), say("ok"))
	for i, want := range []struct{ input, output int64 }{{3600, 1800}, {0, 0}, {10, 5}} {
		resp, err := agent.Generate(t.Context(), m, req)
		u, estimated := agent.CallUsage(req, resp, err)
		if u.Input < want.input || u.Output < want.output || u.Input > want.input+want.input/3 || estimated != (i == 0) {
			t.Errorf("call %d: %+v, estimated %t", i, u, estimated)
		}
	}
	if u, _ := agent.CallUsage(req, nil, &agent.ModelError{Kind: agent.ErrTimeout, Status: 504, Err: errors.New("x")}); u != (agent.Usage{}) {
		t.Errorf("a gateway's time limit: %+v", u)
	}
}
