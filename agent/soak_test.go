package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
)

// faulty answers ten steps, and shows one of a list of ten faults at every request.
type faulty struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (f *faulty) fault() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(10)
}

func (f *faulty) Stream(ctx context.Context, req *agent.Request) iter.Seq2[agent.Chunk, error] {
	steps := 0
	for _, m := range req.Messages {
		if m.Role == agent.RoleTool {
			steps++
		}
	}
	fault := f.fault()
	return func(yield func(agent.Chunk, error) bool) {
		send := func(cs ...agent.Chunk) bool {
			for _, c := range cs {
				if !yield(c, nil) {
					return false
				}
			}
			return true
		}
		if steps >= 10 {
			send(agent.TextDelta{Text: "done"}, agent.Finish{Reason: agent.FinishStop})
			return
		}
		name, args := "ok", fmt.Sprintf(`{"n":%d}`, steps)
		switch fault {
		case 0:
			yield(nil, &agent.ModelError{Kind: agent.ErrRateLimit, Status: 429, RetryAfter: time.Millisecond})
			return
		case 1: // cut off before anything began
			send(agent.TextDelta{Text: "I will"})
			return
		case 2:
			args = `{"n":`
		case 3:
			name = "nosuch"
		case 4:
			name = "panics"
		case 5:
			name = "fails"
		case 6: // cut off after a call began
			send(agent.ToolCallStart{ID: fmt.Sprint("a", steps), Name: "ok"}, agent.ToolCallDelta{Args: args})
			yield(nil, &agent.ModelError{Kind: agent.ErrNetwork, Err: errors.New("reset")})
			return
		}
		send(agent.TextDelta{Text: "step"}, agent.ToolCallStart{ID: fmt.Sprint("a", steps), Name: name}, agent.ToolCallDelta{Args: args},
			agent.ToolCallStart{Index: 1, ID: fmt.Sprint("b", steps), Name: "ok"}, agent.ToolCallDelta{Index: 1, Args: fmt.Sprintf(`{"m":%d}`, steps)},
			agent.Finish{Reason: agent.FinishTools})
	}
}

// TestManyFaultyAgents runs 1,000 agents of 10 steps concurrently over a model that shows a fault
// in 7 of 10 answers: all finish, every announced call ends in exactly one event, and no goroutine
// is left.
//
// Evidence: loop · 1,000 agents at once finish over a faulty model
func TestManyFaultyAgents(t *testing.T) {
	agenttest.CheckLeaks(t)
	n := 1000
	if testing.Short() {
		n = 100
	}
	ok := newTool("ok", agent.ReadOnly("."), func(_ context.Context, args string) (*agent.ToolResult, error) {
		if strings.HasSuffix(args, ":") {
			return nil, errors.New("bad arguments")
		}
		return agent.TextResult(args), nil
	})
	panics := newTool("panics", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) { panic("x") })
	broken := newTool("fails", agent.ReadOnly("."), func(context.Context, string) (*agent.ToolResult, error) { return nil, errors.New("no") })
	a := configured(t, agent.Config{Model: &faulty{rng: rand.New(rand.NewPCG(1, 2))}, Tools: []agent.Tool{ok, panics, broken},
		Retry: agent.Retry{Max: 100}, Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			s := agent.NewSession()
			res, evs, err := tryRun(a, s, "go")
			if err != nil || res.Stop != agent.StopDone || res.Steps != 11 {
				t.Errorf("%+v, %v", res, err)
				return
			}
			if err := agent.CheckPairing(s.Messages()); err != nil {
				t.Error(err)
			}
			ended := map[string]int{}
			for _, ev := range evs {
				if d, ok := ev.(agent.CallDone); ok {
					ended[d.Call.ID]++
				}
			}
			for _, m := range s.Messages() {
				for _, c := range m.Calls() {
					if ended[c.ID] != 1 {
						t.Errorf("call %s ended %d times", c.ID, ended[c.ID])
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestLongSession checks that a run of 2,000 steps works, and that a late step costs no more memory
// than an early one apart from its share of the history.
//
// Evidence: loop · A late step of a long session costs no more than an early one
func TestLongSession(t *testing.T) {
	m := newScript()
	const steps = 2000
	for i := range steps {
		m.turns = append(m.turns, calls(tc{fmt.Sprint(i), "look", fmt.Sprintf(`{"n":%d}`, i)}))
	}
	m.turns = append(m.turns, say("done"))
	a := configured(t, agent.Config{Model: countOnly{m}, Tools: []agent.Tool{okTool("look")}, Limits: agent.Limits{Steps: steps + 1}})
	s := agent.NewSession()
	perStep := func(from, to int) float64 {
		return testing.AllocsPerRun(1, func() {
			m.next = from
			b := configured(t, agent.Config{Model: countOnly{m}, Tools: []agent.Tool{okTool("look")}, Limits: agent.Limits{Steps: to - from}})
			if _, err := b.Run(context.Background(), s, agent.Text{Text: "go"}).Collect(); err != nil {
				t.Fatal(err)
			}
		}) / float64(to-from)
	}
	early := perStep(0, 500)
	m.next = 0
	res, _ := run(t, a, s, "go")
	if res.Stop != agent.StopDone || res.Steps != steps+1 {
		t.Fatalf("%+v", res)
	}
	if late := perStep(0, 500); late > 1.1*early+2 {
		t.Errorf("a step costs %.0f allocations early and %.0f after %d messages", early, late, len(s.Messages()))
	}
}

// countOnly does not keep the requests, so that the test measures only the loop.
type countOnly struct{ *script }

func (c countOnly) Stream(ctx context.Context, req *agent.Request) agentSeq {
	seq := c.script.Stream(ctx, req)
	c.reqs = nil
	return seq
}
