package agent_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
)

// answers is a model that gives one prepared answer after the other, and the last one again and
// again. It keeps the requests.
type answers struct {
	list     [][]agent.Chunk
	requests []agent.Request
}

func (m *answers) Stream(_ context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	m.requests = append(m.requests, *req)
	list := m.list[min(len(m.requests), len(m.list))-1]
	return func(yield func(agent.Chunk, error) bool) {
		for _, c := range list {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func finish(reason agent.FinishReason, cs ...agent.Chunk) []agent.Chunk {
	return append(cs, agent.Usage{Input: 10, Output: 1}, agent.Finish{Reason: reason})
}

// unusableAnswers are answers that cannot be the end of the work, with the reason of a run that
// gets nothing else.
var unusableAnswers = map[string]struct {
	answer []agent.Chunk
	stop   agent.StopReason
}{
	"empty":               {finish(agent.FinishStop), agent.StopEmpty},
	"empty, other reason": {finish(agent.FinishOther), agent.StopEmpty},
	"empty text":          {finish(agent.FinishStop, agent.TextDelta{}), agent.StopEmpty},
	"blank":               {finish(agent.FinishStop, agent.TextDelta{Text: " \n\u200b\ufeff\u00a0 "}), agent.StopEmpty},
	"only reasoning":      {finish(agent.FinishStop, agent.ThinkingDelta{Text: "I should edit the file"}), agent.StopEmpty},
	"reasoning and blank": {finish(agent.FinishStop, agent.ThinkingDelta{Text: "hm", Signature: "s"}, agent.TextDelta{Text: "\n\n"}), agent.StopEmpty},
	"opaque":              {finish(agent.FinishStop, agent.Opaque{Provider: "p", Data: []byte(`{}`)}), agent.StopEmpty},
	"tools without calls": {finish(agent.FinishTools), agent.StopEmpty},
	"malformed":           {finish(agent.FinishMalformed), agent.StopMalformed},
	"malformed with text": {finish(agent.FinishMalformed, agent.TextDelta{Text: "I will read it."}), agent.StopMalformed},
	"call as text":        {finish(agent.FinishStop, agent.TextDelta{Text: "<tool_call>{\"name\":\"echo\",\"arguments\":{}}</tool_call>"}), agent.StopMalformed},
	"unknown reason":      {finish(agent.FinishOther, agent.TextDelta{Text: "I have fi"}), agent.StopUnfinished},
	"new reason":          {finish("tired", agent.TextDelta{Text: "I have fi"}), agent.StopUnfinished},
}

// TestUnusableAnswers: an answer that says nothing, holds a call that cannot be read or ended for
// an unknown reason is never the end of the work: the model is asked again, then reminded, and then
// the run stops with a reason of its own. Every request is paid for.
//
// Evidence: loop · An answer without text or calls is never done: the model is asked again
func TestUnusableAnswers(t *testing.T) {
	for name, tt := range unusableAnswers {
		for _, good := range []int{1, 2, 3} {
			m := &answers{}
			for range good {
				m.list = append(m.list, tt.answer)
			}
			m.list = append(m.list, finish(agent.FinishStop, agent.TextDelta{Text: "done"}))
			a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{newEcho("echo")}})
			if err != nil {
				t.Fatal(err)
			}
			s, err := agent.CreateSession(filepath.Join(t.TempDir(), "s"), agent.SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var asked []agent.AskedAgain
			var res *agent.Result
			reminded := 0
			for ev, err := range a.Run(t.Context(), s, agent.Text{Text: "go"}) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				switch ev := ev.(type) {
				case agent.AskedAgain:
					asked = append(asked, ev)
				case agent.Reminded:
					reminded++
				case agent.Done:
					res = ev.Result
				}
			}
			want := agent.StopDone
			if good == 3 {
				want = tt.stop
			}
			if res.Stop != want || len(m.requests) != min(good, 2)+1 || len(asked) != min(good, 2) || reminded != max(len(asked)-1, 0) || res.Steps != len(m.requests) {
				t.Errorf("%s, %d times: stop %s (%s), %d requests, %d events, %d reminders, %d steps", name, good, res.Stop, res.Detail, len(m.requests), len(asked), reminded, res.Steps)
			}
			if want == agent.StopDone && res.Text() != "done" || want != agent.StopDone && res.Detail == "" {
				t.Errorf("%s: text %q, detail %q", name, res.Text(), res.Detail)
			}
			for i, ev := range asked {
				if ev.Attempt != i+1 || ev.Stop != tt.stop || ev.Detail == "" {
					t.Errorf("%s: event %+v", name, ev)
				}
			}
			if diff := cmp.Diff(m.requests[0].Messages, m.requests[1].Messages); diff != "" {
				t.Errorf("%s: the first repetition is not the same request:\n%s", name, diff)
			}
			if len(m.requests) == 3 && !strings.Contains(m.requests[2].Messages[len(m.requests[2].Messages)-1].Text(), "<reminder>") {
				t.Errorf("%s: the second repetition has no reminder: %v", name, m.requests[2].Messages)
			}
			if u, _ := s.Usage(); u.Total() != int64(11*len(m.requests)) || res.Usage != u {
				t.Errorf("%s: %d tokens in the session and %d in the run, want %d", name, u.Total(), res.Usage.Total(), 11*len(m.requests))
			}
			if err := agent.CheckPairing(s.Messages()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, msg := range s.Messages() {
				if msg.Role == agent.RoleAssistant && strings.TrimSpace(msg.Text()) == "" {
					t.Errorf("%s: the history holds an answer without text", name)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUnusableLimits: Retry.Answers limits the repetitions, an answer with calls starts the count
// again, and what was cut or withheld keeps its own reason.
func TestUnusableLimits(t *testing.T) {
	empty := finish(agent.FinishStop)
	for _, tt := range []struct {
		name     string
		answers  int
		list     [][]agent.Chunk
		stop     agent.StopReason
		requests int
	}{
		{"none", -1, [][]agent.Chunk{empty}, agent.StopEmpty, 1},
		{"one", 1, [][]agent.Chunk{empty}, agent.StopEmpty, 2},
		{"default", 0, [][]agent.Chunk{empty}, agent.StopEmpty, 3},
		{"four", 4, [][]agent.Chunk{empty}, agent.StopEmpty, 5},
		{"calls in between", 0, [][]agent.Chunk{empty, empty, callTurn(1, 1), empty, empty, finish(agent.FinishStop, agent.TextDelta{Text: "done"})}, agent.StopDone, 6},
		{"cut", 0, [][]agent.Chunk{finish(agent.FinishLength)}, agent.StopLength, 1},
		{"withheld", 0, [][]agent.Chunk{finish(agent.FinishFilter)}, agent.StopFiltered, 1},
		{"declined", 0, [][]agent.Chunk{finish(agent.FinishRefusal)}, agent.StopFiltered, 1},
	} {
		m := &answers{list: tt.list}
		a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{newEcho("echo")}, Retry: agent.Retry{Answers: tt.answers}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect()
		if err != nil || res.Stop != tt.stop || len(m.requests) != tt.requests {
			t.Errorf("%s: stop %s after %d requests, want %s after %d: %v", tt.name, res.Stop, len(m.requests), tt.stop, tt.requests, err)
		}
	}
}

// TestUnusableStaysInBudget: the limit of steps also ends a run whose model says nothing.
func TestUnusableStaysInBudget(t *testing.T) {
	m := &answers{list: [][]agent.Chunk{finish(agent.FinishStop)}}
	a, err := agent.New(agent.Config{Model: m, Limits: agent.Limits{Steps: 2}, Retry: agent.Retry{Answers: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); res.Stop != agent.StopSteps || len(m.requests) != 2 {
		t.Errorf("stop %s after %d requests", res.Stop, len(m.requests))
	}
}

// TestUnusableStructuredOutput: JSON that a host asked for is not taken for a call.
func TestUnusableStructuredOutput(t *testing.T) {
	m := &answers{list: [][]agent.Chunk{finish(agent.FinishStop, agent.TextDelta{Text: `{"name":"echo","arguments":{}}`})}}
	a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{newEcho("echo")}, Output: &agent.OutputSchema{Schema: []byte(`{"type":"object"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); res.Stop != agent.StopDone || len(m.requests) != 1 {
		t.Errorf("stop %s after %d requests", res.Stop, len(m.requests))
	}
}

// TestUnusableSubAgent: a sub-agent that says nothing fails, and its caller reads why.
func TestUnusableSubAgent(t *testing.T) {
	sub, err := agent.SubAgent(agent.SubAgentConfig{Agent: agent.Config{Model: &answers{list: [][]agent.Chunk{finish(agent.FinishStop)}}}})
	if err != nil {
		t.Fatal(err)
	}
	m := &answers{list: [][]agent.Chunk{
		finish(agent.FinishTools, agent.ToolCallStart{ID: "c", Name: "agent"}, agent.ToolCallDelta{Args: `{"task":"look"}`}),
		finish(agent.FinishStop, agent.TextDelta{Text: "done"})}}
	a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{sub}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := a.Run(t.Context(), agent.NewSession(), agent.Text{Text: "go"}).Collect(); err != nil || res.Stop != agent.StopDone {
		t.Fatalf("%+v, %v", res, err)
	}
	last := m.requests[1].Messages
	if r, ok := last[len(last)-1].Parts[0].(agent.ToolResult); !ok || !r.IsError || !strings.Contains(r.Text(), string(agent.StopEmpty)) {
		t.Errorf("the caller reads %v", last[len(last)-1])
	}
}

// TestNamesAreCorrected: a call under a mangled name runs the tool that it means, and the history,
// the events and the permission check have the tool's own name.
func TestNamesAreCorrected(t *testing.T) {
	var mu sync.Mutex // calls are decided in parallel
	var decided []string
	m := &answers{list: [][]agent.Chunk{
		finish(agent.FinishTools, agent.ToolCallStart{Index: 0, ID: "a", Name: "functions.echo"}, agent.ToolCallDelta{Index: 0, Args: `{}`},
			agent.ToolCallStart{Index: 1, ID: "b", Name: "ECHO<|channel|>commentary"}, agent.ToolCallDelta{Index: 1, Args: `{}`},
			agent.ToolCallStart{Index: 2, ID: "c", Name: "shout"}, agent.ToolCallDelta{Index: 2, Args: `{}`}),
		finish(agent.FinishStop, agent.TextDelta{Text: "done"})}}
	a, err := agent.New(agent.Config{Model: m, Tools: []agent.Tool{newEcho("echo")}, Policy: agent.PolicyFunc(func(_ context.Context, req *agent.PermissionRequest) agent.Verdict {
		mu.Lock()
		defer mu.Unlock()
		decided = append(decided, req.Call.Name)
		return agent.Verdict{Decision: agent.Allow}
	})})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	s := agent.NewSession()
	for ev := range a.Run(t.Context(), s, agent.Text{Text: "go"}) {
		if start, ok := ev.(agent.ToolCallStart); ok {
			names = append(names, start.Name)
		}
	}
	for _, c := range s.Messages()[1].Calls() {
		names = append(names, c.Name)
	}
	if got, want := fmt.Sprint(names), "[echo echo shout echo echo shout]"; got != want {
		t.Errorf("names in events and history are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(decided), "[echo echo]"; got != want {
		t.Errorf("the policy decided on %s, want %s", got, want)
	}
}
