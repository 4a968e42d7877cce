package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// steps returns a run of n calls, each with the given arguments and result.
func steps(n int, of func(i int) (args, result string)) *Run {
	r := &Run{Name: "made", System: "You are careful.", Messages: []agent.Message{agent.UserText("Mend it.")}}
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		args, result := of(i)
		r.Messages = append(r.Messages, says(text("Next."), call(id, "sh", args)), results(id, result))
	}
	r.Messages = append(r.Messages, says(text("Done.")))
	return r
}

func play(t *testing.T, r *Run, p Policy, cfg Config) *Result {
	t.Helper()
	res, err := Replay(context.Background(), r, p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestRawReadsWhatItWrote checks that without compaction, each prompt is read from the cache up to
// the end of the previous prompt.
func TestRawReadsWhatItWrote(t *testing.T) {
	r := steps(5, func(i int) (string, string) {
		return fmt.Sprintf(`{"command": "cat f%d.go"}`, i), strings.Repeat("some words ", 30*i)
	})
	res := play(t, r, Raw(), Config{})
	if len(res.Steps) != 6 {
		t.Fatalf("%d steps, want 6", len(res.Steps))
	}
	var total float64
	for k, st := range res.Steps {
		want := agent.Usage{Input: int64(count(r.System) + Tokens(r.Messages[:1+2*k])), Output: int64(Tokens(r.Messages[1+2*k : 2+2*k]))}
		if k > 0 {
			want.CachedInput = res.Steps[k-1].Usage.Input
		}
		want.CacheWrite = want.Input - want.CachedInput
		if d := cmp.Diff(want, st.Usage); d != "" {
			t.Errorf("step %d (-want +got):\n%s", k, d)
		}
		total += 0.1*float64(want.CachedInput) + 1.25*float64(want.CacheWrite) + 5*float64(want.Output)
	}
	var cost float64
	for _, st := range res.Steps {
		cost += st.Cost
	}
	if math.Abs(cost-total) > 1e-6 {
		t.Errorf("cost %g, want %g", cost, total)
	}
	if r.Largest() != int(res.Steps[5].Usage.Input) {
		t.Errorf("the longest prompt is %d, Largest says %d", res.Steps[5].Usage.Input, r.Largest())
	}
}

// TestCompactionBreaksCache checks that a history that was rewritten from its second message on is
// read from the cache only up to that message.
func TestCompactionBreaksCache(t *testing.T) {
	r := steps(4, func(int) (string, string) { return `{}`, strings.Repeat("alpha beta ", 100) })
	budget := r.Largest() - 10
	res := play(t, r, DropOldest(0.5), Config{Budget: budget})
	last := res.Steps[4]
	if !last.Compacted || res.Steps[3].Compacted {
		t.Fatalf("compacted at %v", res.Steps)
	}
	if want := int64(count(r.System) + Tokens(r.Messages[:1])); last.Usage.CachedInput != want {
		t.Errorf("%d tokens read from the cache, want the %d of system prompt and task", last.Usage.CachedInput, want)
	}
	if last.Usage.Input > int64(budget)/2+20 {
		t.Errorf("the prompt after compaction has %d tokens, budget %d", last.Usage.Input, budget)
	}
}

// Evidence: compaction · A policy is measured on replayed runs
func TestSupport(t *testing.T) {
	r := steps(5, func(i int) (string, string) {
		switch i {
		case 0:
			return `{"command": "grep -n parse_header lib/http.c"}`, "lib/http.c:120: int parse_header(char *line_start) // 33 of them"
		case 1:
			return `{"command": "ls docs/"}`, "guide.md"
		case 2:
			return `{"command": "pwd"}`, "/"
		case 3:
			return `{"command": "edit 120 33 line_start brand_new_name"}`, "ok"
		}
		return `{"command": "cat line_start"}`, "ok"
	})
	forget := Policy{Name: "forget", New: func(agent.Model) (Parts, error) {
		return Parts{Middleware: OnResult(func(string) string { return "-" })}, nil
	}}
	res := play(t, r, forget, Config{})
	type seen struct {
		Referred, Standing, Known int
		Lost                      []Thing
	}
	var got []seen
	for _, st := range res.Steps {
		got = append(got, seen{st.Referred, st.Standing, st.Known, st.Lost})
	}
	want := []seen{
		{},            // nothing was shown yet
		{Referred: 2}, // the third call from here
		{Referred: 2},
		{Referred: 2, Known: 2, Lost: []Thing{{KindIdentifier, "line_start"}, {KindLine, "120"}}}, // brand_new_name is the agent's invention; 33 is not a line
		{Referred: 1, Standing: 1, Known: 1},                                                      // the action itself has shown it
		{},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s := Compare(play(t, r, Raw(), Config{}), res)
	if want := (0.0 + 0.0 + 0.0 + 1.0) / 4; math.Abs(s.Support-want) > 1e-9 || s.Reread != 3.0/6 || s.Lost != 1.0/6 {
		t.Errorf("support %g, re-read %g, lost %g", s.Support, s.Reread, s.Lost)
	}
	st := res.Steps[3]
	again := 0.1*float64(st.Usage.Input) + 1.25*float64(100+count("lib/http.c:120: int parse_header(char *line_start) // 33 of them")) + 5*100
	if math.Abs(st.Reread-again) > 1e-6 {
		t.Errorf("reading again costs %g, want %g", st.Reread, again)
	}
	if s.CostReread <= s.Cost {
		t.Errorf("cost %g, with re-reads %g", s.Cost, s.CostReread)
	}
}

// TestSummariserIsCharged: a question appended to the live request is read from the cache almost
// entirely, and is paid for once.
func TestSummariserIsCharged(t *testing.T) {
	r := steps(4, func(int) (string, string) { return `{}`, strings.Repeat("alpha beta ", 100) })
	var asked *agent.Response
	p := Policy{Name: "summary", New: func(m agent.Model) (Parts, error) {
		return Parts{Compactor: CompactorFunc(func(ctx context.Context, ms []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
			req := &agent.Request{System: r.System, Messages: append(append([]agent.Message(nil), ms...), agent.UserText("Sum up.")), Purpose: agent.PurposeSummarise}
			res, err := agent.Generate(ctx, m, req)
			if err != nil {
				return nil, agent.CompactionReport{}, err
			}
			asked = res
			return []agent.Message{ms[0], agent.UserText(res.Message.Text())}, agent.CompactionReport{Usage: agent.Usage{Output: 1}}, nil // the usage that the compactor reports does not count
		})}, nil
	}}
	res := play(t, r, p, Config{Budget: r.Largest() - 10})
	st := res.Steps[4]
	if asked == nil || asked.Message.Text() != "Next.\nNext.\nNext.\nNext." {
		t.Fatalf("the summariser said %+v", asked)
	}
	if d := cmp.Diff(asked.Usage, st.Summariser); d != "" {
		t.Errorf("charged (-want +got):\n%s", d)
	}
	fresh := int64(Tokens(r.Messages[7:9]) + Tokens([]agent.Message{agent.UserText("Sum up.")}))
	if got := st.Summariser.CacheWrite; got != fresh {
		t.Errorf("the summariser wrote %d tokens, want %d: the last turn and the question", got, fresh)
	}
	if want := DefaultPrices().Cost(st.Usage) + DefaultPrices().Cost(st.Summariser); st.Cost != want {
		t.Errorf("cost %g, want %g", st.Cost, want)
	}
}

// TestForeignSummariser: the usage that a compactor reports for calls made elsewhere is charged.
func TestForeignSummariser(t *testing.T) {
	r := steps(3, func(int) (string, string) { return `{}`, strings.Repeat("alpha beta ", 100) })
	spent := agent.Usage{Input: 70, Output: 7}
	p := Policy{Name: "elsewhere", New: func(agent.Model) (Parts, error) {
		return Parts{Compactor: CompactorFunc(func(_ context.Context, ms []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
			return ms[:1], agent.CompactionReport{Usage: spent}, nil
		})}, nil
	}}
	res := play(t, r, p, Config{Budget: r.Largest() - 10})
	if d := cmp.Diff(spent, res.Steps[3].Summariser); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if want := DefaultPrices().Cost(res.Steps[3].Usage) + 70 + 35; res.Steps[3].Cost != want {
		t.Errorf("cost %g, want %g", res.Steps[3].Cost, want)
	}
}

func TestFailedCompactions(t *testing.T) {
	r := steps(3, func(int) (string, string) { return `{}`, strings.Repeat("alpha beta ", 100) })
	for name, f := range map[string]CompactorFunc{
		"no luck": func(context.Context, []agent.Message, int) ([]agent.Message, agent.CompactionReport, error) {
			return nil, agent.CompactionReport{}, errors.New("no luck")
		},
		"check pairing": func(_ context.Context, ms []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
			return ms[2:], agent.CompactionReport{}, nil
		},
	} {
		p := Policy{Name: name, New: func(agent.Model) (Parts, error) { return Parts{Compactor: f}, nil }}
		res := play(t, r, p, Config{Budget: r.Largest() - 10})
		if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], name) || !strings.Contains(res.Notes[0], "step 4") {
			t.Errorf("notes %q, want one of step 4 with %q", res.Notes, name)
		}
		raw := play(t, r, Raw(), Config{})
		if d := cmp.Diff(raw.Steps, res.Steps); d != "" {
			t.Errorf("the history did not stay as it was (-want +got):\n%s", d)
		}
	}
	calls := Policy{Name: "calls", New: func(agent.Model) (Parts, error) {
		return Parts{Middleware: func(next agent.Handler) agent.Handler {
			return func(ctx context.Context, op *agent.Op) error {
				err := next(ctx, op)
				if op.IsModel() {
					op.Response = &agent.Response{Message: says(text("no calls"))}
				}
				return err
			}
		}}, nil
	}}
	if _, err := Replay(context.Background(), r, calls, Config{}); err == nil || !strings.Contains(err.Error(), "changed the calls") {
		t.Errorf("error %v", err)
	}
	bad := Policy{Name: "bad", New: func(agent.Model) (Parts, error) { return Parts{}, errors.New("no parts") }}
	if _, err := Replay(context.Background(), r, bad, Config{}); err == nil || !strings.Contains(err.Error(), "policy bad: no parts") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Replay(ctx, r, Raw(), Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context ended", err)
	}
}

// TestMiddleware checks that a policy's middleware sees the model and tool calls as in the loop,
// and that the model sees the middleware's changes.
func TestMiddleware(t *testing.T) {
	r := steps(2, func(i int) (string, string) { return fmt.Sprintf(`{"n": %d}`, i), "long result" })
	var seen []string
	p := Policy{Name: "watch", New: func(agent.Model) (Parts, error) {
		return Parts{Middleware: func(next agent.Handler) agent.Handler {
			return func(ctx context.Context, op *agent.Op) error {
				live := len(op.Session.Messages())
				if op.IsModel() {
					cp := *op.Request
					cp.Messages = append(append([]agent.Message(nil), cp.Messages...), agent.UserText("remember"))
					op.Request = &cp
				}
				err := next(ctx, op)
				if op.IsModel() {
					res := *op.Response
					res.Message.Parts = append([]agent.Part{text("kept")}, res.Message.Parts[1:]...)
					op.Response = &res
					seen = append(seen, fmt.Sprintf("model %d: %d messages, %d live, %d tokens", op.Step, len(op.Request.Messages), live, op.Response.Usage.Input))
				} else {
					seen = append(seen, fmt.Sprintf("tool %d: %s %s, %d live: %s", op.Step, op.Call.Name, op.Call.Args, live, op.Result.Text()))
				}
				return err
			}
		}}, nil
	}}
	res := play(t, r, p, Config{})
	want := []string{}
	for k, st := range res.Steps {
		want = append(want, fmt.Sprintf("model %d: %d messages, %d live, %d tokens", k+1, 2+2*k, 1+2*k, st.Usage.Input))
		if k < 2 {
			want = append(want, fmt.Sprintf(`tool %d: sh {"n": %d}, %d live: long result`, k+1, k, 2+2*k))
		}
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, want := res.Steps[1].Usage, res.Steps[1].Usage.Input; got.Output != int64(Tokens(r.Messages[3:4])) ||
		want != int64(count(r.System)+Tokens([]agent.Message{r.Messages[0], says(text("kept"), r.Messages[1].Parts[1]), r.Messages[2], agent.UserText("remember")})) {
		t.Errorf("the second step used %+v: the answer counts as it was written, and is kept as middleware left it", got)
	}
	if got, want := res.Steps[0].Usage.Input, int64(count(r.System)+Tokens([]agent.Message{r.Messages[0], agent.UserText("remember")})); got != want {
		t.Errorf("the first prompt has %d tokens, want %d", got, want)
	}
}

func TestMask(t *testing.T) {
	ms := []agent.Message{agent.UserText("go")}
	for i := range 3 {
		id := fmt.Sprint("c", i)
		ms = append(ms, says(call(id, "sh", "{}")), results(id, "a\nb"))
	}
	want := append([]agent.Message(nil), ms...)
	want[2], want[4] = results("c0", "[output left out: 2 lines]"), results("c1", "[output left out: 2 lines]")
	once := mask(ms, 1)
	if d := cmp.Diff(want, once); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(once, mask(once, 1)); d != "" {
		t.Errorf("masked twice (-once +twice):\n%s", d)
	}
}

func TestMean(t *testing.T) {
	got := Mean([]Score{
		{Policy: "p", Run: "a", Steps: 10, Cost: 0.5, CostReread: 0.6, Support: 1, Reread: 0, Lost: 0.1, Input: 1000, Cached: 900, Peak: 70, Compactions: 1},
		{Policy: "p", Run: "b", Steps: 20, Cost: 0.7, CostReread: 0.8, Support: 0.5, Reread: 0.5, Lost: 0.3, Input: 3000, Cached: 2100, Peak: 50, Compactions: 2},
	})
	want := []string{"mean of 2", "p", "30", "60.0 %", "70.0 %", "75.0 %", "25.0 %", "20.0 %", "75.0 %", "70", "3"}
	if d := cmp.Diff(want, got.Row()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(got.Row()) != len(Columns()) {
		t.Errorf("%d cells, %d columns", len(got.Row()), len(Columns()))
	}
}
