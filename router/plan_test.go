package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// work is a tool that fails on request.
type work struct{}

func (work) Spec() agent.ToolSpec {
	return agent.ToolSpec{Name: "work", Schema: json.RawMessage(`{"type":"object"}`)}
}

func (work) Call(_ context.Context, c agent.ToolCall) (*agent.ToolResult, error) {
	if strings.Contains(string(c.Args), "fail") {
		return nil, errors.New("no luck")
	}
	return agent.TextResult("done " + string(c.Args)), nil
}

const aPlan = "Here it is.\n<plan steps=\"3\">\n1. work\n</plan>"

var thousand = agenttest.Usage(agent.Usage{Input: 900, Output: 100})

func doWork(id, args string) agenttest.Turn {
	return agenttest.Join(agenttest.Call(id, "work", args), thousand)
}

func speak(text string) agenttest.Turn { return agenttest.Join(agenttest.Text(text), thousand) }

func newPlanner(t testing.TB, planner, actor agent.Model) *PlanThenAct {
	t.Helper()
	p, err := NewPlanThenAct(PlanConfig{Planner: Member{Model: planner, Name: "strong", Price: usd(10)}, Actor: Member{Model: actor, Name: "fast", Price: usd(1)}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// forgetful returns a PlanThenAct that remembers nothing between requests, as if restarted each
// time.
func forgetful(t testing.TB, planner, actor agent.Model) agent.Model {
	return agent.ModelFunc(func(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
		return newPlanner(t, planner, actor).Stream(ctx, req)
	})
}

func works(n int) (turns []agenttest.Turn) {
	for i := range n {
		turns = append(turns, doWork(fmt.Sprint("w", i), fmt.Sprintf(`{"n":%d}`, i)))
	}
	return turns
}

// TestPlanThenAct runs whole tasks in the loop, once with one router and once with a new one for
// every request: since the state of a task is in its messages, the results must be the same.
//
// Evidence: routers · A strong model plans and a fast one carries out
func TestPlanThenAct(t *testing.T) {
	fail := func(n int) (turns []agenttest.Turn) {
		for i := range n {
			turns = append(turns, doWork(fmt.Sprint("f", i), fmt.Sprintf(`{"fail":%d}`, i)))
		}
		return turns
	}
	cat := func(lists ...[]agenttest.Turn) (all []agenttest.Turn) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	one := func(ts ...agenttest.Turn) []agenttest.Turn { return ts }
	same := doWork("s", `{"same":1}`)
	for _, tt := range []struct {
		name           string
		planner, actor []agenttest.Turn
		want           string // the members that were asked, in order
		reasons        []string
	}{
		{name: "plan, act, done", planner: one(speak(aPlan)), actor: cat(works(2), one(speak("all done"))),
			want: "strong fast fast fast", reasons: []string{"there is no plan yet", "carries out plan 1"}},
		{name: "looks around first", planner: cat(works(2), one(speak(aPlan))), actor: one(speak("all done")),
			want: "strong strong strong fast"},
		{name: "a question", planner: one(speak("It is 4.")), want: "strong"},
		{name: "plans and begins itself", planner: one(agenttest.Join(agenttest.Text(aPlan), agenttest.Call("c", "work", `{}`), thousand)), actor: one(speak("all done")),
			want: "strong fast"},
		{name: "calls fail", planner: one(speak(aPlan), speak(aPlan)), actor: cat(fail(4), one(speak("all done"))),
			want: "strong fast fast fast fast strong fast", reasons: []string{"the plan goes back: 4 tool calls in a row failed", "carries out plan 2"}},
		{name: "calls fail now and then", planner: one(speak(aPlan)), actor: cat(fail(3), works(1), fail(3), one(speak("all done"))),
			want: "strong fast fast fast fast fast fast fast fast"},
		{name: "calls repeat", planner: one(speak(aPlan), speak(aPlan)), actor: one(same, same, same, speak("all done")),
			want: "strong fast fast fast strong fast", reasons: []string{"the plan goes back: the same call was made 3 times with the same result"}},
		{name: "takes too long", planner: one(speak(aPlan), speak(aPlan)), actor: cat(works(10), one(speak("all done"))),
			want: "strong fast fast fast fast fast fast fast fast fast fast strong fast", reasons: []string{"far beyond what was expected"}},
		{name: "asks for another", planner: one(speak(aPlan), speak(aPlan)), actor: cat(works(1), one(speak("<replan>there is no such file</replan>"), speak("all done"))),
			want: "strong fast fast strong fast", reasons: []string{"the plan goes back: there is no such file"}},
		{name: "looks around before the second plan", planner: cat(one(speak(aPlan)), works(2), one(speak(aPlan))), actor: cat(fail(4), one(speak("all done"))),
			want: "strong fast fast fast fast strong strong strong fast"},
		{name: "takes over", planner: cat(one(speak(aPlan), speak(aPlan), speak(aPlan)), works(2), one(speak("did it myself"))), actor: cat(fail(4), fail(4), fail(4)),
			want: "strong fast fast fast fast strong fast fast fast fast strong fast fast fast fast strong strong strong", reasons: []string{"takes over after 3 plans"}},
		{name: "asks for another again and again", planner: one(speak(aPlan), speak(aPlan), speak(aPlan), speak("did it myself")),
			actor: one(speak("<replan>no</replan>"), speak("<replan>no</replan>"), speak("<replan>no</replan>")),
			want:  "strong fast strong fast strong fast strong"},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restarts=%v", tt.name, restarts), func(t *testing.T) {
				agenttest.CheckLeaks(t)
				planner, actor := agenttest.Script(tt.planner...), agenttest.Script(tt.actor...)
				model := agent.Model(newPlanner(t, planner, actor))
				if restarts {
					model = forgetful(t, planner, actor)
				}
				var l ledger
				a, err := agent.New(agent.Config{Model: model, Tools: []agent.Tool{work{}}, Limits: agent.Limits{MicroDollars: -1}})
				if err != nil {
					t.Fatal(err)
				}
				res, err := a.Run(l.trace(t.Context()), agent.NewSession(), agent.Text{Text: "do it"}).Collect()
				if err != nil || res.Stop != agent.StopDone {
					t.Fatalf("%+v, %v", res, err)
				}
				var who, why []string
				for _, b := range l.began {
					who = append(who, b.Model)
					why = append(why, b.Reason)
				}
				if diff := cmp.Diff(tt.want, strings.Join(who, " ")); diff != "" {
					t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(why, "\n"))
				}
				for _, want := range tt.reasons {
					if !strings.Contains(strings.Join(why, "\n"), want) {
						t.Errorf("no attempt was made because %q:\n%s", want, strings.Join(why, "\n"))
					}
				}
				if planner.Left() != 0 || actor.Left() != 0 {
					t.Errorf("%d and %d turns are left", planner.Left(), actor.Left())
				}
				kept := 0
				for _, r := range l.routed {
					kept += btoi(r.Kept)
				}
				if kept != res.Steps {
					t.Errorf("%d attempts are kept in %d steps", kept, res.Steps)
				}
				if calls := int64(planner.Calls() + actor.Calls()); res.Usage.Total() != 1000*calls {
					t.Errorf("the run counts %d tokens of %d answers of 1000", res.Usage.Total(), calls)
				}
				if want := 10_000_000*int64(planner.Calls()) + 1_000_000*int64(actor.Calls()); res.MicroDollars != want {
					t.Errorf("the run cost %d, the attempts %d", res.MicroDollars, want)
				}
			})
		}
	}
}

// TestPlanPrefixes checks that each member's request begins with the loop's request, and that the
// instructions of each member stay the same.
func TestPlanPrefixes(t *testing.T) {
	planner := agenttest.Script(works(1)[0], speak(aPlan))
	actor := agenttest.Script(doWork("a", `{}`), doWork("b", `{"n":2}`), speak("all done"))
	a, err := agent.New(agent.Config{Model: newPlanner(t, planner, actor), System: "Be good.", Tools: []agent.Tool{work{}}})
	if err != nil {
		t.Fatal(err)
	}
	s := agent.NewSession()
	if _, err := a.Run(t.Context(), s, agent.Text{Text: "do it"}).Collect(); err != nil {
		t.Fatal(err)
	}
	for _, r := range planner.Requests() {
		if r.System != "Be good." || !strings.Contains(r.Messages[len(r.Messages)-1].Text(), "write the plan") {
			t.Errorf("the planner is asked %q … %q", r.System, r.Messages[len(r.Messages)-1].Text())
		}
	}
	history := s.Messages()
	for i, r := range actor.Requests() {
		if r.System != "Be good.\n\n"+promptText(actorRules) {
			t.Errorf("the actor's instructions are %q", r.System)
		}
		if i > 0 {
			if diff := cmp.Diff(history[:len(r.Messages)], r.Messages); diff != "" {
				t.Errorf("request %d of the actor is not the conversation:\n%s", i+1, diff)
			}
		}
	}
	if text := history[3].Text(); !strings.HasPrefix(text, aPlan) || len(history[3].Calls()) != 1 {
		t.Errorf("the plan and the first call are not one message: %q", text)
	}
}

func TestPlanReasoning(t *testing.T) {
	think := agenttest.Thinking("hmm", "sig")
	for _, tt := range []struct {
		name  string
		turn  agenttest.Turn
		parts string
	}{
		{"before a plan it is left out", agenttest.Join(think, agenttest.Text(aPlan), thousand), "text call"},
		{"before a call it stays", agenttest.Join(think, agenttest.Text("look"), agenttest.Call("x", "work", `{}`), thousand), "thinking text call"},
		{"before an answer it stays", agenttest.Join(think, agenttest.Text("It is 4."), thousand), "thinking text"},
	} {
		p := newPlanner(t, agenttest.Script(tt.turn), agenttest.Script(agenttest.Join(agenttest.Call("a", "work", `{}`), agenttest.Usage(agent.Usage{Input: 7}))))
		req := ask("do it")
		req.Tools = []agent.ToolSpec{work{}.Spec()}
		resp, err := agent.Generate(t.Context(), p, req)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, part := range resp.Message.Parts {
			switch part.(type) {
			case agent.Text:
				parts = append(parts, "text")
			case agent.Thinking:
				parts = append(parts, "thinking")
			case agent.ToolCall:
				parts = append(parts, "call")
			}
		}
		if diff := cmp.Diff(tt.parts, strings.Join(parts, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		want := agent.Usage{Input: 900, Output: 100}
		if tt.parts == "text call" {
			want = agent.Usage{Input: 7}
		}
		if resp.Usage != want {
			t.Errorf("%s: usage %+v is not that of the last attempt", tt.name, resp.Usage)
		}
	}
}

// TestPlanIsPaidOnce checks that if the actor's answer breaks off after the plan was written, the
// plan is still there when the loop retries.
func TestPlanIsPaidOnce(t *testing.T) {
	planner := agenttest.Script(speak(aPlan))
	actor := agenttest.Script(agenttest.Join(agenttest.Text("I beg"), agenttest.Cut()), agenttest.Error(&agent.ModelError{Kind: agent.ErrInvalid, Err: errors.New("odd")}), speak("all done"))
	model := newPlanner(t, planner, actor)
	a, err := agent.New(agent.Config{Model: model, Tools: []agent.Tool{work{}}, Retry: agent.Retry{Base: 1, Cap: 1}})
	if err != nil {
		t.Fatal(err)
	}
	s := agent.NewSession()
	res, err := a.Run(t.Context(), s, agent.Text{Text: "do it"}).Collect()
	if err != nil || res.Text() != aPlan+"\n\nall done" {
		t.Errorf("%v: %q", err, res.Text())
	}
	if planner.Calls() != 1 || actor.Calls() != 3 {
		t.Errorf("the planner was asked %d times, the actor %d", planner.Calls(), actor.Calls())
	}
	if n := len(model.drafts); n != 0 {
		t.Errorf("%d plans are kept that nobody needs any more", n)
	}
}

func TestPlanDirect(t *testing.T) {
	tools := []agent.ToolSpec{work{}.Spec()}
	for _, tt := range []struct {
		name string
		req  agent.Request
		want string
	}{
		{"a plan", agent.Request{Purpose: agent.PurposePlan, Tools: tools}, "strong"},
		{"a title", agent.Request{Purpose: agent.PurposeTitle}, "fast"},
		{"a summary", agent.Request{Purpose: agent.PurposeSummarise, Tools: tools}, "fast"},
		{"a sub-agent", agent.Request{Purpose: agent.PurposeSubAgent, Tools: tools}, "fast"},
		{"no tools", agent.Request{Purpose: agent.PurposeAct}, "strong"},
		{"too long for the actor", agent.Request{Tools: tools, System: strings.Repeat("long ", 10_000)}, "strong"},
	} {
		p, err := NewPlanThenAct(PlanConfig{Planner: Member{Model: says("strong"), Name: "strong"}, Actor: Member{Model: says("fast"), Name: "fast", MaxContext: 8000}})
		if err != nil {
			t.Fatal(err)
		}
		tt.req.Messages = []agent.Message{agent.UserText("go")}
		resp, err := agent.Generate(t.Context(), p, &tt.req)
		if err != nil || resp.Message.Text() != tt.want {
			t.Errorf("%s goes to %q, %v", tt.name, resp.Message.Text(), err)
		}
	}
}

// TestPlanIsLeft leaves a response of two members at every chunk: everything must be paid for, and
// nothing may be left running.
func TestPlanIsLeft(t *testing.T) {
	agenttest.CheckLeaks(t)
	for n := range 8 {
		planner, actor := agenttest.Script(speak(aPlan)), agenttest.Script(doWork("a", `{}`))
		var l ledger
		req := ask("do it")
		req.Tools = []agent.ToolSpec{work{}.Spec()}
		seen := 0
		for range newPlanner(t, planner, actor).Stream(l.trace(t.Context()), req) {
			if seen++; seen > n {
				break
			}
		}
		if len(l.routed) != planner.Calls()+actor.Calls() || len(l.began) != len(l.routed) {
			t.Errorf("left after %d chunks: %v for %d and %d calls", n, l.lines(), planner.Calls(), actor.Calls())
		}
	}
}

func TestReadMarks(t *testing.T) {
	for text, want := range map[string]marks{
		"":                                     {},
		"just talk of a plan":                  {},
		aPlan:                                  {plan: true, steps: 3},
		"<plan>x</plan>":                       {plan: true},
		"<plan steps=12>x</plan> and more":     {plan: true, steps: 12},
		"<plan steps='7' a=b>x</plan>":         {plan: true, steps: 7},
		`<plan steps="99999999999">x</plan>`:   {plan: true, steps: maxSteps},
		`<plan steps="-4">x</plan>`:            {plan: true},
		"<plan>cut off":                        {},
		"</plan>":                              {},
		"<planet>x</plan>":                     {},
		"<plan\n</plan>":                       {},
		"<replan> no file </replan>":           {replan: "no file"},
		"<replan></replan>":                    {replan: "it asked for another plan"},
		"<plan>x</plan> <replan>no</replan>":   {replan: "no"},
		"<replan>no</replan> <plan>x</plan>":   {plan: true},
		"<plan>x</plan> </replan>":             {plan: true},
		"<replan>no <plan>x</plan> </replan>":  {plan: true},
		"</replan>":                            {},
		"<replan>" + strings.Repeat("x", 2000): {},
	} {
		if diff := cmp.Diff(want, readMarks(text), cmp.AllowUnexported(marks{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzReadMarks(f *testing.F) {
	for _, s := range []string{aPlan, "<replan>x</replan>", "<plan steps=", "</plan><plan></replan>", "<plan steps='1'>x</plan></replan>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := readMarks(s)
		if m.plan && m.replan != "" || m.steps < 0 || m.steps > maxSteps || len(m.replan) > 600 {
			t.Errorf("%q gives %+v", s, m)
		}
	})
}

// TestPlanStateCountsLooks checks that the actor's answers do not count as the planner's
// exploration for its next plan.
func TestPlanStateCountsLooks(t *testing.T) {
	p := newPlanner(t, says("x"), says("x"))
	step := func(id string, failed bool, text string) []agent.Message {
		return []agent.Message{
			{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: text}, agent.ToolCall{ID: id, Name: "w", Args: json.RawMessage(id)}}},
			{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, IsError: failed}}},
		}
	}
	ms := []agent.Message{agent.UserText("do it")}
	ms = append(ms, step("1", true, aPlan)...)
	for i := 2; i <= 4; i++ {
		ms = append(ms, step(fmt.Sprint(i), true, "")...)
	}
	ms = append(append(ms, step("5", false, "")...), step("6", false, "")...)
	want := planState{phase: phasePlan, explored: 2, plans: 1, stray: "4 tool calls in a row failed"}
	if diff := cmp.Diff(want, stateOf(ms, &p.limits), cmp.AllowUnexported(planState{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlanStateOfAnything derives the state of nonsensical conversations.
func TestPlanStateOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := newPlanner(t, says("x"), says("x"))
	p.limits.plans = 1
	parts := []agent.Part{agent.Text{Text: aPlan}, agent.Text{Text: "<replan>x</replan>"}, agent.ToolCall{ID: "1", Name: "w"}, agent.ToolResult{CallID: "1", IsError: true},
		agent.ToolResult{Parts: []agent.Part{agent.Text{Text: strings.Repeat("y", 900)}}}, agent.Thinking{}, agent.Image{}, agent.Opaque{}, nil}
	roles := []agent.Role{agent.RoleUser, agent.RoleAssistant, agent.RoleTool, ""}
	seen := map[planPhase]int{}
	for range 3000 {
		var ms []agent.Message
		for range r.IntN(20) {
			m := agent.Message{Role: roles[r.IntN(len(roles))]}
			for range r.IntN(4) {
				m.Parts = append(m.Parts, parts[r.IntN(len(parts))])
			}
			ms = append(ms, m)
		}
		seen[stateOf(ms, &p.limits).phase]++
	}
	if len(seen) != 3 {
		t.Errorf("only the phases %v were seen", seen)
	}
}

func TestNewPlanThenActErrors(t *testing.T) {
	if _, err := NewPlanThenAct(PlanConfig{Planner: Member{Model: says("x"), Name: "a"}}); err == nil {
		t.Error("no error without an actor")
	}
	if _, err := NewPlanThenAct(PlanConfig{Planner: Member{Model: says("x"), Name: "a"}, Actor: Member{Model: says("x"), Name: "a"}}); err == nil {
		t.Error("no error for two of one name")
	}
}

func BenchmarkPlanThenAct(b *testing.B) {
	fast := agenttest.Script(speak("go")).Loop().Forget()
	p := newPlanner(b, fast, fast)
	req := ask("do it")
	req.Tools = []agent.ToolSpec{work{}.Spec()}
	req.Messages = append(req.Messages, agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: strings.Replace(aPlan, "3", "900", 1)}, agent.ToolCall{ID: "0", Name: "work"}}},
		agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: "0"}}})
	for i := range 49 {
		id := fmt.Sprint(i)
		req.Messages = append(req.Messages,
			agent.Message{Role: agent.RoleAssistant, Parts: []agent.Part{agent.Text{Text: strings.Repeat("now the next. ", 10)}, agent.ToolCall{ID: id, Name: "work", Args: json.RawMessage(id)}}},
			agent.Message{Role: agent.RoleTool, Parts: []agent.Part{agent.ToolResult{CallID: id, Parts: []agent.Part{agent.Text{Text: strings.Repeat("output ", 500)}}}}})
	}
	b.Run("member alone", func(b *testing.B) { benchmarkStream(b, fast, req) })
	b.Run("101 messages", func(b *testing.B) { benchmarkStream(b, p, req) })
}
