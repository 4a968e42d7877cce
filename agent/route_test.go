package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// leg is one attempt of a toyRouter.
type leg struct {
	name string
	m    agent.Model
	keep bool
}

// toyRouter calls each of its legs and passes on the answers that are marked to be kept. A token
// costs one micro-dollar.
type toyRouter struct {
	name string
	legs []leg
}

func (r *toyRouter) Name() string      { return r.name }
func (r *toyRouter) ReportsCost() bool { return true }

func (r *toyRouter) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		for i, l := range r.legs {
			ctx := agent.BeginRoute(ctx, agent.Routing{Router: r.name, Model: l.name, Reason: "told to", Attempt: i + 1})
			out := agent.Routed{Kept: l.keep, Duration: time.Second}
			for c, err := range l.m.Stream(ctx, req) {
				if u, ok := c.(agent.Usage); ok {
					out.Usage = u
				}
				out.Err = err
				if l.keep {
					yield(c, err)
				}
			}
			out.MicroDollars = out.Usage.Total()
			agent.EndRoute(ctx, out)
			agent.EndRoute(ctx, out) // the attempt must still be counted only once
		}
	}
}

func answer(text string, tokens int64) *script {
	return newScript(chunks(agent.TextDelta{Text: text}, agent.Usage{Input: tokens, Output: 1}, agent.Finish{Reason: agent.FinishStop}))
}

func refuse(kind agent.ErrorKind) *script { return newScript(fails(kind)) }

// routeLine formats one report of a trace, for comparison.
func routeLine(ev agent.Event) string {
	switch ev := ev.(type) {
	case agent.Routing:
		return fmt.Sprintf("%d<%d %s asks %s", ev.ID, ev.Parent, ev.Router, ev.Model)
	case agent.Routed:
		line := fmt.Sprintf("%d<%d %s had %s: $%d", ev.ID, ev.Parent, ev.Router, ev.Model, ev.MicroDollars)
		for _, f := range []struct {
			name string
			set  bool
		}{{" kept", ev.Kept}, {" nested", ev.Nested}, {" failed", ev.Err != nil}} {
			if f.set {
				line += f.name
			}
		}
		return line
	}
	return ""
}

// TestRouteTrace nests routers: an attempt that was kept by its own router counts as kept only if
// all routers above keep it.
func TestRouteTrace(t *testing.T) {
	inner := func(keep bool) *toyRouter {
		return &toyRouter{"in", []leg{{"a", refuse(agent.ErrServer), false}, {"b", answer("b", 10), keep}}}
	}
	for name, tt := range map[string]struct {
		router *toyRouter
		want   []string
	}{
		"flat": {inner(true), []string{"1<0 in asks a", "1<0 in had a: $0 failed", "2<0 in asks b", "2<0 in had b: $11 kept"}},
		"kept above": {&toyRouter{"out", []leg{{"in", inner(true), true}}}, []string{"1<0 out asks in", "2<1 in asks a", "2<1 in had a: $0 failed",
			"3<1 in asks b", "3<1 in had b: $11 kept", "1<0 out had in: $0 kept nested"}},
		"dropped above": {&toyRouter{"out", []leg{{"in", inner(true), false}, {"c", answer("c", 20), true}}}, []string{"1<0 out asks in", "2<1 in asks a",
			"2<1 in had a: $0 failed", "3<1 in asks b", "3<1 in had b: $11", "1<0 out had in: $0 nested", "4<0 out asks c", "4<0 out had c: $21 kept"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got, host []string
			note := func(to *[]string) *agent.RouteTrace {
				return &agent.RouteTrace{Routing: func(r agent.Routing) { *to = append(*to, routeLine(r)) }, Routed: func(r agent.Routed) { *to = append(*to, routeLine(r)) }}
			}
			ctx := agent.WithRouteTrace(agent.WithRouteTrace(t.Context(), note(&host)), note(&got))
			if _, err := agent.Generate(ctx, tt.router, &agent.Request{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, host); diff != "" {
				t.Errorf("the trace above was told something else (-inner +outer):\n%s", diff)
			}
		})
	}
	if _, err := agent.Generate(t.Context(), inner(true), &agent.Request{}); err != nil { // without a trace
		t.Error(err)
	}
}

// TestRunPaysRouters runs a router whose first attempt is discarded: both attempts are paid for,
// each once, in the result, the session, its log and the events. The events come before the chunks
// of the attempt.
//
// Evidence: routers · Every attempt is an event and is paid for once
func TestRunPaysRouters(t *testing.T) {
	dir := t.TempDir()
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: "s", NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	draft := &toyRouter{"in", []leg{{"cheap", answer("draft", 100), true}}}
	m := &toyRouter{"out", []leg{{"in", draft, false}, {"strong", answer("done", 1000), true}}}
	a := configured(t, agent.Config{Model: m, Limits: agent.Limits{MicroDollars: 1e6}})
	res, evs := run(t, a, s, "go")
	if want := (agent.Usage{Input: 1100, Output: 2}); res.Usage != want || res.MicroDollars != 1102 || res.Text() != "done" {
		t.Errorf("result %+v, want usage %+v and 1102 micro-dollars", res, want)
	}
	var lines []string
	for _, ev := range evs {
		if l := routeLine(ev); l != "" {
			lines = append(lines, l)
		} else if _, ok := ev.(agent.TextDelta); ok {
			lines = append(lines, "text")
		}
	}
	want := []string{"1<0 out asks in", "2<1 in asks cheap", "2<1 in had cheap: $101", "1<0 out had in: $0 nested", "3<0 out asks strong", "text", "3<0 out had strong: $1001 kept"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	checkSpent(t, s, res)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, _, err := agent.OpenSession(filepath.Join(dir, "s.jsonl"), agent.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	checkSpent(t, again, res)
	checkRoutes(t, filepath.Join(dir, "s.jsonl"))
}

func checkSpent(t *testing.T, s *agent.Session, res *agent.Result) {
	t.Helper()
	if u, cost := s.Usage(); u != res.Usage || cost != res.MicroDollars {
		t.Errorf("the session spent %+v, %d; the run %+v, %d", u, cost, res.Usage, res.MicroDollars)
	}
}

// checkRoutes checks that the log of TestRunPaysRouters has each attempt once, with the entry that
// paid for it.
func checkRoutes(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	for e, err := range agent.ReadEntries(f) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range e.Routes {
			got = append(got, fmt.Sprintf("%s $%d: %d<%d %s $%d", e.Type, e.MicroDollars, r.ID, r.Parent, r.Model, r.MicroDollars))
		}
	}
	want := []string{"spend $101: 2<1 cheap $101", "message $1001: 1<0 in $0", "message $1001: 3<0 strong $1001"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestRoutersCountAgainstLimits: the cost of an attempt whose answer the run never saw counts
// against the run's limit.
func TestRoutersCountAgainstLimits(t *testing.T) {
	call := newScript(calls(tc{"1", "look", `{}`}), say("late"))
	m := &toyRouter{"out", []leg{{"draft", answer("draft", 5000), false}, {"strong", call, true}}}
	a := configured(t, agent.Config{Model: m, Tools: []agent.Tool{okTool("look")}, Limits: agent.Limits{MicroDollars: 5000}})
	if res, _ := run(t, a, agent.NewSession(), "go"); res.Stop != agent.StopCost || res.MicroDollars != 5001+15 {
		t.Errorf("result %+v, want the cost limit reached at 5016", res)
	}
}

// TestFailedRoutesArePaid: if every attempt of a request fails, the usage that they reported before
// failing still counts.
func TestFailedRoutesArePaid(t *testing.T) {
	usage := agent.Usage{Input: 40, Output: 2}
	kept := newScript(fails(agent.ErrServer, agent.TextDelta{Text: "half"}, usage), say("whole"))
	lost := newScript(fails(agent.ErrServer, agent.TextDelta{Text: "half"}, usage), fails(agent.ErrServer))
	m := &toyRouter{"out", []leg{{"lost", lost, false}, {"kept", kept, true}}}
	s := agent.NewSession()
	res, evs := run(t, configured(t, agent.Config{Model: m}), s, "go")
	if res.MicroDollars != 42+42+15 || res.Usage.Input != 90 || !hasEvent[agent.StreamReset](evs) {
		t.Errorf("result %+v, want 99 micro-dollars for two halves and a whole", res)
	}
	checkSpent(t, s, res)
}

func TestCostLimitNeedsPrices(t *testing.T) {
	unpriced := newScript()
	for _, m := range []agent.Model{unpriced, priceless{unpriced}} {
		if _, err := agent.New(agent.Config{Model: m, Limits: agent.Limits{MicroDollars: 1}}); err == nil {
			t.Errorf("%T: a cost limit was accepted without prices", m)
		}
	}
}

type priceless struct{ agent.Model }

func (priceless) ReportsCost() bool { return false }

// TestThinkingKeepsItsProvider: deltas of two providers become two parts, each with its own
// provider.
//
// Evidence: routers · Reasoning returns only to the provider that signed it
func TestThinkingKeepsItsProvider(t *testing.T) {
	m := newScript(chunks(agent.ThinkingDelta{Text: "a", Provider: "x"}, agent.ThinkingDelta{Text: "b"}, agent.ThinkingDelta{Text: "c", Signature: "s"},
		agent.ThinkingDelta{Text: "d", Provider: "x"}, agent.ThinkingDelta{Text: "e", Provider: "y"}, agent.Finish{Reason: agent.FinishStop}))
	resp, err := agent.Generate(t.Context(), m, &agent.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.Part{agent.Thinking{Text: "abc", Signature: "s", Provider: "x"}, agent.Thinking{Text: "d", Provider: "x"}, agent.Thinking{Text: "e", Provider: "y"}}
	if diff := cmp.Diff(want, resp.Message.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// summarise is a compactor that calls a model, and then fails if its error is set.
type summarise struct {
	m   agent.Model
	err error
}

func (c *summarise) Compact(ctx context.Context, ms []agent.Message, _ int) ([]agent.Message, agent.CompactionReport, error) {
	resp, err := agent.Generate(ctx, c.m, &agent.Request{Purpose: agent.PurposeSummarise})
	if err == nil {
		err = c.err
	}
	return slices.Clone(ms), agent.CompactionReport{Usage: resp.Usage}, err
}

// TestSummariesOfRoutersArePaid: a summary requested through a router is paid at the prices of its
// members, even if the compaction fails.
func TestSummariesOfRoutersArePaid(t *testing.T) {
	for name, fails := range map[string]error{"kept": nil, "thrown away": errors.New("no")} {
		t.Run(name, func(t *testing.T) {
			m := &toyRouter{"out", []leg{{"draft", answer("draft", 100), false}, {"strong", answer("summary", 1000), true}}}
			s := agent.NewSession()
			a := configured(t, agent.Config{Model: newScript(say("done")), Compactor: &summarise{m, fails}, ContextBudget: 1})
			res, evs := run(t, a, s, "a question that is longer than one token")
			if want := int64(101 + 1001); res.MicroDollars != want {
				t.Errorf("%d micro-dollars, want %d", res.MicroDollars, want)
			}
			checkSpent(t, s, res)
			compacted := 0
			for _, ev := range evs {
				if _, ok := ev.(agent.Compacted); ok {
					compacted++
				}
			}
			if (compacted == 1) != (fails == nil) {
				t.Errorf("compacted %d times", compacted)
			}
		})
	}
}
