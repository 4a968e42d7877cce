package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
)

// modelFunc answers a request with the parts of a message.
type modelFunc func(ctx context.Context, req *agent.Request) []agent.Part

func (f modelFunc) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		reason := agent.FinishStop
		for i, p := range f(ctx, req) {
			var cs []agent.Chunk
			switch p := p.(type) {
			case agent.Text:
				cs = []agent.Chunk{agent.TextDelta{Text: p.Text}}
			case agent.ToolCall:
				reason = agent.FinishTools
				cs = []agent.Chunk{agent.ToolCallStart{Index: i, ID: p.ID, Name: p.Name}, agent.ToolCallDelta{Index: i, Args: string(p.Args)}}
			}
			for _, c := range cs {
				if !yield(c, nil) {
					return
				}
			}
		}
		_ = yield(agent.Usage{Input: 100, Output: 10}, nil) && yield(agent.Finish{Reason: reason}, nil)
	}
}

func call(id, name string, in args) agent.ToolCall {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return agent.ToolCall{ID: id, Name: name, Args: raw}
}

// lastResult returns the text of the newest tool results.
func lastResult(req *agent.Request) string {
	var out strings.Builder
	for _, p := range req.Messages[len(req.Messages)-1].Parts {
		if r, ok := p.(agent.ToolResult); ok {
			out.WriteString(r.Text() + "\n")
		}
	}
	return out.String()
}

func toolNamesOf(req *agent.Request) string {
	var names []string
	for _, t := range req.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestSubAgents lets a main agent start four explorers in one turn: they run concurrently, can only
// read, and their usage counts towards the main agent's.
//
// Evidence: loop · Sub-agents run in parallel and share one budget
func TestSubAgents(t *testing.T) {
	t.Parallel()
	needUnix(t)
	var at, most atomic.Int32
	sub := modelFunc(func(ctx context.Context, req *agent.Request) []agent.Part {
		if req.Messages[len(req.Messages)-1].Role == agent.RoleUser {
			if names := toolNamesOf(req); !strings.Contains(names, "read ") || !strings.Contains(names, "shell ") || strings.Contains(names, "write") || strings.Contains(names, "agent") || strings.Contains(names, "shell_kill") {
				t.Errorf("an explorer has the tools %s", names)
			}
			n := at.Add(1)
			defer at.Add(-1)
			for most.Load() < n && !most.CompareAndSwap(most.Load(), n) {
			}
			for end := time.Now().Add(time.Minute); most.Load() < 4 && time.Now().Before(end); { // the others are on their way
				time.Sleep(5 * time.Millisecond)
			}
			return []agent.Part{call("1", "shell", args{"command": "cat a.txt"}), call("2", "shell", args{"command": "echo x > made"})}
		}
		return []agent.Part{agent.Text{Text: "report: " + lastResult(req)}}
	})
	w := openWith(t, Config{Proc: ProcConfig{Agent: &agent.Config{Model: sub}}}, files{"a.txt": "treasure\n"})
	main := modelFunc(func(ctx context.Context, req *agent.Request) []agent.Part {
		if req.Messages[len(req.Messages)-1].Role == agent.RoleUser {
			var ps []agent.Part
			for i := range 4 {
				ps = append(ps, call(fmt.Sprint(i), "agent", args{"task": fmt.Sprintf("task %d", i)}))
			}
			return ps
		}
		return []agent.Part{agent.Text{Text: lastResult(req)}}
	})
	ts, err := w.Tools()
	must(t, err)
	a, err := agent.New(agent.Config{Model: main, Tools: ts})
	must(t, err)
	res, err := a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"}).Collect()
	must(t, err)
	if n := strings.Count(res.Text(), "report: treasure"); n != 4 || strings.Count(res.Text(), "Read-only sub-agent") != 4 {
		t.Errorf("%d reports:\n%s", n, res.Text())
	}
	if most.Load() != 4 {
		t.Errorf("at most %d ran at the same time", most.Load())
	}
	if res.Usage.Input != 10*100 { // two steps here, two in each of four sub-agents
		t.Errorf("usage %+v", res.Usage)
	}
	if _, err := inside(w).root.Lstat("made"); err == nil {
		t.Error("an explorer wrote a file")
	}
}

func TestSubAgentWorks(t *testing.T) {
	t.Parallel()
	needUnix(t)
	sub := modelFunc(func(ctx context.Context, req *agent.Request) []agent.Part {
		if req.Messages[len(req.Messages)-1].Role == agent.RoleUser {
			return []agent.Part{call("1", "shell", args{"command": "echo x > made; echo made it"})}
		}
		return []agent.Part{agent.Text{Text: "report: " + lastResult(req)}}
	})
	w := openWith(t, Config{Proc: ProcConfig{Agent: &agent.Config{Model: sub}}}, nil)
	contains(t, run(t, w, "agent", args{"task": "make it", "mode": "work"}), "report: made it")
	if content(t, w, "made") != "x\n" {
		t.Error("nothing was made")
	}
	contains(t, run(t, w, "agent", args{"task": " "}), "error:", "task is empty")
	tool := procTool(t, w, "agent")
	if e := agent.EffectsOf(tool, call("1", "agent", args{"task": "x", "mode": "work"})); e.Known || e.Flags&agent.EffectSpend == 0 {
		t.Errorf("work: %+v", e)
	}
	if e := agent.EffectsOf(tool, call("1", "agent", args{"task": "x"})); !e.Known || len(e.Writes) > 0 || e.Flags != agent.EffectSpend {
		t.Errorf("explore: %+v", e)
	}
}

// TestPlan records a plan in plan mode, in which tools that change anything are not offered.
func TestPlan(t *testing.T) {
	t.Parallel()
	w := openWith(t, Config{}, nil)
	model := modelFunc(func(ctx context.Context, req *agent.Request) []agent.Part {
		if req.Messages[len(req.Messages)-1].Role == agent.RoleUser {
			for _, name := range []string{"shell", "test", "lint", "write", "shell_input", "shell_kill"} {
				if strings.Contains(" "+toolNamesOf(req)+" ", " "+name+" ") {
					t.Errorf("plan mode offers %s", name)
				}
			}
			return []agent.Part{call("1", "plan", args{"plan": "1. look\n2. leap\n"}), call("2", "git", args{"op": "status"})}
		}
		return []agent.Part{agent.Text{Text: lastResult(req)}}
	})
	ts, err := w.Tools()
	must(t, err)
	a, err := agent.New(agent.Config{Model: model, Tools: ts})
	must(t, err)
	s := agent.NewSession()
	res, err := a.Plan(context.Background(), s, agent.Text{Text: "plan it"}).Collect()
	must(t, err)
	if s.Plan() != "1. look\n2. leap" {
		t.Errorf("plan %q after %q", s.Plan(), res.Text())
	}
	contains(t, run(t, w, "plan", args{"plan": "x"}), "error:", "no session")
	contains(t, run(t, w, "plan", args{"plan": " "}), "error:")
}

// TestShellShowsProgress: output appears in the run's events while the command is running.
func TestShellShowsProgress(t *testing.T) {
	t.Parallel()
	needUnix(t)
	w := openWith(t, Config{}, nil)
	model := modelFunc(func(ctx context.Context, req *agent.Request) []agent.Part {
		if req.Messages[len(req.Messages)-1].Role == agent.RoleUser {
			return []agent.Part{call("1", "shell", args{"command": "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second"})}
		}
		return []agent.Part{agent.Text{Text: lastResult(req)}}
	})
	ts, err := w.Tools()
	must(t, err)
	a, err := agent.New(agent.Config{Model: model, Tools: ts})
	must(t, err)
	var seen strings.Builder
	for ev, err := range a.Run(context.Background(), agent.NewSession(), agent.Text{Text: "go"}) {
		must(t, err)
		if p, ok := ev.(agent.CallProgress); ok {
			seen.WriteString(p.Text)
			files{"go": ""}.write(t, w.Dir()) // the command ends only after its first output was seen
		}
	}
	if seen.String() != "first\nsecond\n" {
		t.Errorf("progress %q", seen.String())
	}
}
