package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/luthier-dev/luthier/agent"
	"github.com/luthier-dev/luthier/agent/agenttest"
	"github.com/luthier-dev/luthier/internal/tier"
)

// randomTurn generates a random stream: text, thinking, interleaved calls, garbage, and any kind of
// end.
func randomTurn(rng *rand.Rand, step int) turn {
	var cs []agent.Chunk
	names := []string{"look", "write", "slow", "panics", "exits", "nosuch", "", "bad name"}
	n := rng.IntN(4)
	for i := range n {
		id := fmt.Sprint("c", step, "_", i)
		if rng.IntN(6) == 0 {
			id = []string{"", "dup", "\xff"}[rng.IntN(3)]
		}
		cs = append(cs, agent.ToolCallStart{Index: i, ID: id, Name: names[rng.IntN(len(names))]})
	}
	for range rng.IntN(8) {
		i := rng.IntN(n + 1)
		args := []string{`{}`, `{"n":`, `1}`, `{"n":` + fmt.Sprint(rng.IntN(3)) + `}`, ` `, `junk`, "\xfe"}
		cs = append(cs, agent.ToolCallDelta{Index: i, Args: args[rng.IntN(len(args))]})
		other := []agent.Chunk{agent.TextDelta{Text: "t"}, agent.TextDelta{Text: "\xff"}, agent.ThinkingDelta{Text: "h"}, agent.ThinkingDelta{Signature: "s"},
			nil, agent.Usage{Input: 5, Output: 1}, agent.Opaque{Provider: "p", Data: json.RawMessage(`{ "a":"<\xff" }`)}}
		cs = append(cs, other[rng.IntN(len(other))])
	}
	end := rng.IntN(8)
	kinds := []agent.ErrorKind{agent.ErrServer, agent.ErrAuth, agent.ErrContextLength, agent.ErrTimeout}
	kind := kinds[rng.IntN(len(kinds))]
	return func(ctx context.Context, _ *agent.Request, yield func(agent.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
		switch end {
		case 0: // no Finish
		case 1:
			yield(nil, &agent.ModelError{Kind: kind, Err: errors.New("scripted")})
		case 2:
			yield(agent.Finish{Reason: agent.FinishLength}, nil)
		case 3:
			yield(agent.Finish{Reason: agent.FinishPause}, nil)
		default:
			yield(agent.Finish{Reason: agent.FinishTools}, nil)
		}
	}
}

// TestAnyStreamAnyInterruption plays random streams and leaves, panics, steers, cancels or changes
// the session at random events. In every case the history is paired, every call that ran is in it
// with its own result, and reopening the log yields the same history.
//
// Evidence: loop · Any stream with any interruption leaves a sound history
func TestAnyStreamAnyInterruption(t *testing.T) {
	agenttest.CheckLeaks(t)
	dir := t.TempDir()
	const shards = 4 // they wait for slow tools, so the shards wait in parallel
	for shard := range shards {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < tier.Pick(60, 240, 1000) && !t.Failed(); seed += shards {
				playRandom(t, dir, uint64(seed))
			}
		})
	}
}

func playRandom(t *testing.T, dir string, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	m := newScript()
	for i := range 12 {
		m.turns = append(m.turns, randomTurn(rng, i))
	}
	m.turns = append(m.turns, say("end"))
	s, err := agent.CreateSession(dir, agent.SessionOptions{ID: fmt.Sprint("s", seed), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	ran := map[string]int{}
	count := func(f func(ctx context.Context) (*agent.ToolResult, error)) func(context.Context, string) (*agent.ToolResult, error) {
		return func(ctx context.Context, _ string) (*agent.ToolResult, error) {
			mu.Lock()
			ran[agent.CallIDFrom(ctx)]++
			mu.Unlock()
			agent.Progress(ctx, "on it")
			return f(ctx)
		}
	}
	ok := func(ctx context.Context) (*agent.ToolResult, error) {
		return agent.TextResult(agent.CallIDFrom(ctx)), nil
	}
	slow := func(ctx context.Context) (*agent.ToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Millisecond):
			return ok(ctx)
		}
	}
	a := configured(t, agent.Config{Model: m, Compactor: keepLast{}, Retry: agent.Retry{Max: 50, IdleTimeout: time.Second}, Limits: agent.Limits{Steps: 30},
		Repetition: agent.Repetition{Remind: -1, Warn: -1, Stop: -1}, Parallel: 1 + rng.IntN(3), ContextBudget: 1 << 20,
		Tools: []agent.Tool{newTool("look", agent.ReadOnly("."), count(ok)), newTool("write", agent.Writing("a"), count(ok)), newTool("slow", agent.ReadOnly("b"), count(slow)),
			newTool("panics", agent.Effects{}, count(func(context.Context) (*agent.ToolResult, error) { panic("x") })),
			newTool("exits", agent.Effects{}, count(func(context.Context) (*agent.ToolResult, error) { runtime.Goexit(); return nil, nil }))}})
	for round := range 3 {
		at := rng.IntN(60)
		what := rng.IntN(8)
		playUntil(a, s, at, what, fmt.Sprint("round ", round))
	}
	checkHistory(t, s, seed, ran)
	want := s.Messages()
	wantAll := s.Transcript()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, rec, err := agent.OpenSession(filepath.Join(dir, fmt.Sprint("s", seed, ".jsonl")), agent.SessionOptions{NoSync: true})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	defer again.Close()
	if diff := cmp.Diff(want, again.Messages()); diff != "" {
		t.Errorf("seed %d: (-memory +disk):\n%s", seed, diff)
	}
	if diff := cmp.Diff(wantAll, again.Transcript()); diff != "" || rec.Torn != nil || rec.Interrupted != nil || rec.Skipped != nil {
		t.Errorf("seed %d: recovery %+v, transcript (-memory +disk):\n%s", seed, rec, diff)
	}
}

// playUntil starts a run and does one thing at the at-th event.
func playUntil(a *agent.Agent, s *agent.Session, at, what int, text string) {
	defer func() { _ = recover() }()
	n := 0
	for range a.Run(context.Background(), s, agent.Text{Text: text}) {
		if n++; n != at {
			continue
		}
		switch what {
		case 0:
			return
		case 1:
			panic("consumer")
		case 2, 3, 4:
			s.Cancel(agent.CancelPoint(what - 2))
		case 5:
			s.Steer(agent.Text{Text: "steer"})
		case 6:
			_ = s.SetPlan("plan")
			_ = s.SetTodos([]agent.Todo{{Text: "todo"}})
		}
	}
}

// checkHistory compares the history with what ran.
func checkHistory(t *testing.T, s *agent.Session, seed uint64, ran map[string]int) {
	t.Helper()
	ms := s.Transcript()
	if err := agent.CheckPairing(s.Messages()); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if n := len(ms); n > 0 && len(ms[n-1].Calls()) > 0 {
		t.Errorf("seed %d: the last calls have no results", seed)
	}
	answered := map[string]int{}
	for _, m := range ms {
		for _, p := range m.Parts {
			r, ok := p.(agent.ToolResult)
			if !ok {
				continue
			}
			answered[r.CallID]++
			if text := r.Text(); !r.IsError && text != r.CallID {
				t.Errorf("seed %d: call %q was answered with the result of %q", seed, r.CallID, text)
			}
		}
	}
	for id, n := range ran {
		if answered[id] < n {
			t.Errorf("seed %d: call %q ran %d times and is answered %d times", seed, id, n, answered[id])
		}
	}
}
